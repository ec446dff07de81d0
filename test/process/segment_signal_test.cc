// Segments as a run-time of one-sided calls needs them: signals of any word behind data of any shape, also in
// another segment of that process; changes that nobody answers; and fences over several imports at once.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "base/byte_order.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr Sharing kKinds[] = {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write};

class SegmentSignals : public WithSegments {
 protected:
  // A segment of data and one of words, of each kind, of one process.
  void with_both(
      const std::function<void(Segment& data, Segment& words, Import& to_data, Import& to_words)>& work) {
    with_two([&](Interface& exporter, Interface& importer) {
      for (const Sharing of_data : kKinds) {
        for (const Sharing of_words : kKinds) {
          SCOPED_TRACE(static_cast<int>(of_data) * 10 + static_cast<int>(of_words));
          Segment data(exporter, {.name = "data", .bytes = 65536, .sharing = of_data});
          Segment words(exporter, {.name = "words", .bytes = 4096, .sharing = of_words});
          Import to_data(importer, "data"), to_words(importer, "words");
          work(data, words, to_data, to_words);
        }
      }
    });
  }
};

TEST_F(SegmentSignals, in_another_segment_come_behind_the_data) {
  with_both([](Segment& data, Segment& words, Import& to_data, Import& to_words) {
    for (std::uint64_t i = 1; i <= 60; ++i) {
      const auto sent = numbers(i % 3 == 0 ? 30000 : i % 3 == 1 ? 40 : 9000, static_cast<int>(i));
      ASSERT_EQ(to_data.write_signal(64, sent, {.offset = 8, .value = 1, .how = Signal::add, .in = &to_words},
                                     kPatience),
                Status::ok);
      ASSERT_EQ(words.wait_until(
                    8, [&](std::uint64_t word) { return word == i; }, kPatience),
                Status::ok);
      ASSERT_TRUE(same(data.bytes().subspan(64, sent.size()), sent));
    }
    // Behind writes that nobody waited for, too; and nothing but a signal.
    const auto many = numbers(65536, 3);
    SendHandle handle;
    Status status = Status::queue_full;
    while ((status = to_data.write(0, many, {}, &handle)) == Status::queue_full) to_data.run();
    ASSERT_EQ(to_data.write_signal(0, {}, {.offset = 16, .value = 5, .in = &to_words}, kPatience),
              Status::ok);
    ASSERT_EQ(words.wait_until(
                  16, [](std::uint64_t word) { return word == 5; }, kPatience),
              Status::ok);
    EXPECT_TRUE(same(data.bytes(), many));
    EXPECT_EQ(to_data.flush(kPatience), Status::ok);
    EXPECT_EQ(to_words.flush(kPatience), Status::ok);
  });
}

TEST_F(SegmentSignals, are_of_4_bytes_and_touch_no_others) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    std::memset(segment.bytes().data(), 0xFF, 64);
    const auto word = segment.at<std::uint32_t>(4);
    const auto signal = [&](std::uint64_t value, Signal how) {
      ASSERT_EQ(import.write_signal(64, numbers(40), {.offset = 4, .value = value, .how = how, .bytes = 4},
                                    kPatience),
                Status::ok);
      ASSERT_EQ(import.flush(kPatience), Status::ok);
    };
    signal(7, Signal::set);
    EXPECT_EQ(word.load(), 7u);
    signal(0x5'FFFF'FFFF, Signal::add);  // the low half counts, and wraps
    EXPECT_EQ(word.load(), 6u);
    signal(0x5'0000'0002, Signal::set);
    const auto half = [](std::uint64_t words) {
      return static_cast<std::uint32_t>(base::kLittleEndian ? words >> 32 : words) == 2;
    };
    EXPECT_EQ(segment.wait_until(0, half, kPatience), Status::ok) << "of the words that it stands in";
    EXPECT_EQ(word.load(), 2u);
    EXPECT_EQ(segment.at<std::uint32_t>(0).load(), 0xFFFF'FFFFu);
    EXPECT_EQ(segment.at<std::uint32_t>(8).load(), 0xFFFF'FFFFu);
  });
}

TEST_F(SegmentSignals, come_behind_data_that_is_scattered) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const Strides strides{.chunk = 24, .x_chunks = 200, .x_stride = 64};
    const auto data = numbers(std::size_t{200} * 24, 5);
    for (std::uint64_t i = 1; i <= 20; ++i) {
      ASSERT_EQ(import.write_signal(64, data, {.offset = 0, .value = i}, kPatience, {.strides = &strides}),
                Status::ok);
      ASSERT_EQ(segment.wait_until(
                    0, [&](std::uint64_t word) { return word == i; }, kPatience),
                Status::ok);
      for (std::size_t chunk = 0; chunk != 200; ++chunk) {
        const auto there = segment.bytes().subspan(64 + chunk * 64, 24);
        ASSERT_TRUE(same(there, std::span(data).subspan(chunk * 24, 24)));
        std::ranges::fill(there, std::byte{0});
      }
    }
    const Strides impossible{.chunk = 24, .x_chunks = 201, .x_stride = 64};
    EXPECT_EQ(import.write_signal(64, data, {}, kPatience, {.strides = &impossible}), Status::invalid);
    EXPECT_EQ(segment.at<std::uint64_t>(0).load(), 20u);
  });
}

TEST_F(SegmentSignals, that_cannot_be_are_refused) {
  with_each_kind([&](Segment& segment, Import& import, Interface& importer) {
    const auto data = numbers(40);
    const auto refused = [&](const SignalWord& signal) {
      return import.write_signal(64, data, signal, kPatience);
    };
    EXPECT_EQ(refused({.how = Signal::none}), Status::invalid);
    EXPECT_EQ(refused({.bytes = 2}), Status::invalid);
    EXPECT_EQ(refused({.bytes = 16}), Status::invalid);
    EXPECT_EQ(refused({.offset = 4}), Status::misaligned);
    EXPECT_EQ(refused({.offset = 2, .bytes = 4}), Status::misaligned);
    EXPECT_EQ(refused({.offset = import.size()}), Status::out_of_bounds);
    EXPECT_EQ(refused({.offset = import.size(), .bytes = 4}), Status::out_of_bounds);
    EXPECT_EQ(refused({.offset = std::size_t(0) - 8}), Status::out_of_bounds);
    Interface stranger(options());
    Segment elsewhere(stranger, {.name = "elsewhere", .bytes = 4096});
    Import to_elsewhere(importer, "elsewhere");
    EXPECT_EQ(refused({.in = &to_elsewhere}), Status::invalid) << "of another process";
    Import of_another(stranger, segment.ticket());
    EXPECT_EQ(refused({.in = &of_another}), Status::invalid) << "imported by another interface";
    Import only_read(importer, segment.ticket(), {.access = Access::read_only});
    EXPECT_EQ(refused({.in = &only_read}), Status::refused);
    EXPECT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_TRUE(same(segment.bytes().subspan(64, 40), std::vector<std::byte>(40))) << "nothing was written";
    EXPECT_EQ(elsewhere.at<std::uint64_t>(0).load(), 0u);
  });
}

// A signal that is seen is true.
TEST_F(SegmentSignals, in_another_segment_are_refused_where_the_data_waits_or_is_lost) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment data(exporter, {.name = "data", .bytes = 65536, .hold = 4096});
    Segment words(exporter, {.name = "words", .bytes = 4096});
    Import to_data(importer, "data"), to_words(importer, "words");
    const SignalWord signal{.value = 5, .in = &to_words};
    ASSERT_EQ(data.unpin(4096, 4096), Status::ok);
    static_cast<void>(to_data.write_signal(4096, numbers(40), signal, kPatience));  // `flush` says it
    EXPECT_EQ(to_data.flush(kPatience), Status::ok) << "it waits, which is as good as landed";
    EXPECT_EQ(to_words.flush(kPatience), Status::refused);
    EXPECT_EQ(to_words.refusal(), Refusal::inhibited);
    EXPECT_EQ(words.at<std::uint64_t>(0).load(), 0u);
    static_cast<void>(to_data.write_signal(4096, numbers(4096), signal, kPatience));
    EXPECT_EQ(to_words.flush(kPatience), Status::refused);
    EXPECT_EQ(to_words.refusal(), Refusal::hold_full);
    EXPECT_EQ(to_data.flush(kPatience), Status::refused);
    EXPECT_EQ(words.at<std::uint64_t>(0).load(), 0u);
    ASSERT_EQ(data.pin(4096, 4096), Status::ok);
    EXPECT_EQ(to_data.write_signal(4096, numbers(40), signal, kPatience), Status::ok);
    EXPECT_EQ(to_words.flush(kPatience), Status::ok);
    EXPECT_EQ(words.at<std::uint64_t>(0).load(), 5u);
    data.revoke();
    // The importer may hear of it later than it writes.
    const Status late = to_data.write_signal(4096, numbers(40), {.value = 6, .in = &to_words}, kPatience);
    EXPECT_TRUE(late != Status::ok || to_words.flush(kPatience) == Status::refused);
    EXPECT_EQ(words.at<std::uint64_t>(0).load(), 5u);
  });
}

// --- additions

template <class Word>
void add_from_all_sides(Segment& segment, Import& import) {
  constexpr int kEach = 3000;
  constexpr std::uint32_t kBytes = sizeof(Word);
  const Word before = segment.at<Word>(64).load();
  std::thread signals([&] {
    const SignalWord one{.offset = 64, .value = 1, .how = Signal::add, .bytes = kBytes};
    for (int i = 0; i != kEach; ++i) ASSERT_EQ(import.write_signal(128, {}, one, kPatience), Status::ok);
  });
  std::thread owner([&] {
    for (int i = 0; i != kEach; ++i) segment.at<Word>(64).fetch_add(1);
  });
  const Fetch one{.op = FetchOp::add, .bytes = kBytes, .operand = 1};
  for (int i = 0; i != kEach; ++i) {
    ASSERT_EQ(import.fetch(64, one, kPatience).status, Status::ok);
    ASSERT_EQ(import.update(64, one, kPatience), Status::ok);
  }
  signals.join();
  owner.join();
  ASSERT_EQ(import.flush(kPatience), Status::ok);
  EXPECT_EQ(static_cast<Word>(segment.at<Word>(64).load() - before), Word{4 * kEach});
}

TEST_F(SegmentSignals, that_add_are_atomic_against_fetches_and_the_exporter) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    add_from_all_sides<std::uint64_t>(segment, import);
    add_from_all_sides<std::uint32_t>(segment, import);
  });
}

TEST_F(SegmentSignals, of_updates_a_flush_says_whether_they_were_done) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const auto update = [&](std::size_t offset, const Fetch& fetch, const FetchOptions& options = {}) {
      return import.update(offset, fetch, kPatience, options);
    };
    for (int i = 0; i != 100; ++i) ASSERT_EQ(update(8, {.operand = 2}), Status::ok);
    ASSERT_EQ(update(16, {.op = FetchOp::max_signed, .operand = 9}), Status::ok);
    ASSERT_EQ(update(24, {.op = FetchOp::bit_or, .bytes = 4, .operand = 0xF0}, {.notify = true}), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_EQ(segment.at<std::uint64_t>(8).load(), 200u);
    EXPECT_EQ(segment.at<std::uint64_t>(16).load(), 9u);
    EXPECT_EQ(segment.at<std::uint32_t>(24).load(), 0xF0u) << "also where it has gone by a packet";
    SegmentRecord record;
    ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    EXPECT_EQ(record.kind, SegmentRecord::Kind::swapped);
    EXPECT_EQ(update(4, {.operand = 1}), Status::misaligned);
    EXPECT_EQ(update(import.size(), {.operand = 1}), Status::out_of_bounds);
    EXPECT_EQ(update(0, {.bytes = 2}), Status::invalid);
    EXPECT_EQ(update(0, {.op = FetchOp{99}}), Status::invalid);
    EXPECT_EQ(segment.at<std::uint64_t>(0).load(), 0u);
    segment.revoke();
    const Status after = update(0, {.operand = 1});
    EXPECT_TRUE(after == Status::stale || import.flush(kPatience) == Status::stale) << name(after);
  });
}

TEST_F(SegmentSignals, of_updates_that_were_refused_a_flush_says_why) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "board", .bytes = 16384});
    Import import(importer, "board");
    const Fetch one{.operand = 1};
    ASSERT_EQ(segment.inhibit(), Status::ok);
    EXPECT_EQ(import.update(0, one, kPatience), Status::ok);
    EXPECT_EQ(import.flush(kPatience), Status::refused);
    EXPECT_EQ(import.refusal(), Refusal::inhibited);
    ASSERT_EQ(segment.release(), Status::ok);
    ASSERT_EQ(segment.unpin(4096, 4096), Status::ok);
    EXPECT_EQ(import.update(0, one, kPatience), Status::ok);
    EXPECT_EQ(import.update(4096, one, kPatience), Status::ok);
    EXPECT_EQ(import.write_signal(0, {}, {.offset = 8, .value = 1}, kPatience), Status::ok);
    EXPECT_EQ(import.flush(kPatience), Status::refused);
    EXPECT_EQ(import.refusal(), Refusal::not_pinned);
    EXPECT_EQ(segment.at<std::uint64_t>(0).load(), 1u);
    EXPECT_EQ(segment.at<std::uint64_t>(8).load(), 0u) << "signals what was refused";
    EXPECT_EQ(import.flush(kPatience), Status::ok) << "once";
    Import only_written(importer, "board", {.access = Access::write_only});
    EXPECT_EQ(only_written.update(0, one, kPatience), Status::refused);
  });
}

// --- fences at once

TEST_F(SegmentSignals, a_flush_of_several_says_what_each_is) {
  in_child([&] {
    constexpr std::size_t kOthers = 6;
    Interface importer(other_options());
    std::vector<std::unique_ptr<Interface>> exporters;
    std::vector<std::unique_ptr<Segment>> segments;
    std::vector<std::unique_ptr<Import>> imports;
    std::vector<Import*> all;
    for (std::size_t i = 0; i != kOthers; ++i) {
      exporters.push_back(std::make_unique<Interface>(options()));
      const std::string name = "of." + std::to_string(i);
      segments.push_back(std::make_unique<Segment>(
          *exporters.back(),
          SegmentOptions{.name = name, .bytes = 8192, .sharing = kKinds[i % 3], .hold = 64}));
      imports.push_back(std::make_unique<Import>(importer, name));
      all.push_back(imports.back().get());
    }
    Segment own(importer, {.name = "own", .bytes = 8192});
    Import to_own(importer, "own");
    all.push_back(&to_own);
    all.push_back(all.front());  // twice
    std::vector<Status> each(all.size());
    for (int round = 0; round != 50; ++round) {
      const auto data = numbers(6000, round);
      for (Import* import : all) ASSERT_EQ(import->write(64, data, kPatience), Status::ok);
      ASSERT_EQ(Import::flush(all, kPatience, each), Status::ok);
      for (const auto& segment : segments) ASSERT_TRUE(same(segment->bytes().subspan(64, 6000), data));
      ASSERT_TRUE(same(own.bytes().subspan(64, 6000), data));
    }
    EXPECT_EQ(std::ranges::count(each, Status::ok), static_cast<std::ptrdiff_t>(each.size()));
    // Each is answered for itself.
    ASSERT_EQ(segments[3]->inhibit(), Status::ok);
    for (Import* import : all) static_cast<void>(import->write(64, numbers(600), kPatience));
    segments[5]->revoke();
    EXPECT_EQ(Import::flush(all, kPatience, each), Status::refused);
    EXPECT_EQ(each[3], Status::refused);
    EXPECT_EQ(all[3]->refusal(), Refusal::hold_full);
    EXPECT_EQ(each[5], Status::stale);
    EXPECT_EQ(std::ranges::count(each, Status::ok), static_cast<std::ptrdiff_t>(each.size() - 2));
    EXPECT_EQ(Import::flush(std::span(all).first(3), kPatience), Status::ok) << "also without a list";
    // A process has gone.
    segments[1].reset();
    segments[4].reset();
    segments[0].reset();
    exporters[0].reset();
    while (all[0]->write(64, numbers(8)) != Status::link_ended) importer.run();
    EXPECT_EQ(Import::flush(std::span(all).first(1), kPatience, std::span(each).first(1)),
              Status::link_ended);
  });
}

TEST_F(SegmentSignals, a_flush_of_several_that_cannot_be_is_refused) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "one", .bytes = 4096});
    Import import(importer, "one"), of_another(exporter, "one");
    Import* const with_null[] = {&import, nullptr};
    Import* const of_two[] = {&import, &of_another};
    Import* const one[] = {&import};
    std::vector<Status> each(2);
    EXPECT_EQ(Import::flush(with_null, kPatience), Status::invalid);
    EXPECT_EQ(Import::flush(of_two, kPatience), Status::invalid);
    EXPECT_EQ(Import::flush(one, kPatience, each), Status::invalid);
    EXPECT_EQ(Import::flush({}, kPatience), Status::ok);
    EXPECT_EQ(Import::flush(one, kPatience), Status::ok);
  });
}

// More than are asked at a time, most of them of one process.
TEST_F(SegmentSignals, a_flush_of_many_waits_for_all) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "many", .bytes = 65536});
    std::vector<std::unique_ptr<Import>> imports;
    std::vector<Import*> all;
    for (std::size_t i = 0; i != 150; ++i) {
      imports.push_back(std::make_unique<Import>(importer, segment.ticket()));
      all.push_back(imports.back().get());
      ASSERT_EQ(all.back()->write(i * 64, numbers(64, static_cast<int>(i)), kPatience), Status::ok);
    }
    ASSERT_EQ(Import::flush(all, kPatience), Status::ok);
    for (std::size_t i = 0; i != all.size(); ++i)
      EXPECT_TRUE(same(segment.bytes().subspan(i * 64, 64), numbers(64, static_cast<int>(i))));
  });
}

TEST_F(SegmentSignals, a_flush_may_be_begun_and_looked_at_later) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    EXPECT_EQ(import.begin_flush(nullptr), Status::invalid);
    const auto begin = [&](RemoteHandle& handle) {
      Status status = Status::queue_full;
      while ((status = import.begin_flush(&handle)) == Status::queue_full) import.run();
      return status;
    };
    for (int round = 0; round != 50; ++round) {
      const auto data = numbers(3000, round);
      ASSERT_EQ(import.write(64, data, kPatience), Status::ok);
      RemoteHandle handle;
      const Status status = begin(handle);
      ASSERT_EQ(status, import.writes_by_stores() ? Status::ok : Status::pending);
      if (status == Status::pending) {
        ASSERT_EQ(import.wait(handle, kPatience).status, Status::ok);
        ASSERT_EQ(import.outcome(handle).status, Status::ok);
      }
      ASSERT_TRUE(same(segment.bytes().subspan(64, data.size()), data));
    }
    if (import.writes_by_stores()) return;
    ASSERT_EQ(segment.inhibit(), Status::ok);
    for (int i = 0; i != 3; ++i) ASSERT_EQ(import.write(0, numbers(60000), kPatience), Status::ok);
    RemoteHandle handle;
    ASSERT_EQ(begin(handle), Status::pending);
    const Outcome outcome = import.wait(handle, kPatience);
    EXPECT_EQ(outcome.status, Status::refused);
    EXPECT_EQ(outcome.cause, Refusal::hold_full);
    ASSERT_EQ(segment.release(), Status::ok);
  });
}

}  // namespace
}  // namespace hamlyn::test
