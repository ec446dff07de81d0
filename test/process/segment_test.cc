// Segments between processes, on one node and on two: what an importer can do, who is one, and how it ends.
#include "hamlyn/segment/segment.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "hamlyn/segment/versioned.h"
#include "hamlyn/values/seed.h"
#include "test/process/loans.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using Segments = WithSegments;

TEST_F(Segments, are_written_and_read_without_their_exporter) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    EXPECT_EQ(import.size(), 3u * 65536);
    for (const std::size_t length : {1u, 8u, 40u, 48u, 49u, 5000u, 150000u}) {
      const auto data = numbers(length);
      ASSERT_EQ(import.write(17, data, kPatience), Status::ok) << length;
      ASSERT_EQ(import.flush(kPatience), Status::ok);
      EXPECT_TRUE(same(segment.bytes().subspan(17, length), data));
      std::vector<std::byte> back(length);
      ASSERT_EQ(import.read(17, back, kPatience), Status::ok);
      EXPECT_TRUE(same(back, data));
    }
    EXPECT_FALSE(segment.poll()) << "data came with control";
  });
}

TEST_F(Segments, have_what_was_written_and_flushed_in_one_call) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    for (const std::size_t length : {0u, 1u, 40u, 48u, 49u, 4096u, 150000u}) {
      const auto data = numbers(length, 7);
      ASSERT_EQ(import.write_flushed(16, data, kPatience), Status::ok) << length;
      EXPECT_TRUE(same(segment.bytes().subspan(16, length), data));
    }
    // All that was written before has landed, too.
    ASSERT_EQ(import.write(70'000, numbers(40), kPatience), Status::ok);
    ASSERT_EQ(import.write_flushed(0, numbers(8), kPatience), Status::ok);
    EXPECT_TRUE(same(segment.bytes().subspan(70'000, 40), numbers(40)));
    const Strides strides{.chunk = 8, .x_chunks = 4, .x_stride = 64};
    const auto row = numbers(32, 9);
    ASSERT_EQ(import.write_flushed(4096, row, kPatience, {.strides = &strides}), Status::ok);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TRUE(same(segment.bytes().subspan(4096 + i * 64, 8), std::span(row).subspan(i * 8, 8)));
    EXPECT_FALSE(segment.poll()) << "data came with control";
    ASSERT_EQ(import.write_flushed(8, row, kPatience, {.notify = true}), Status::ok);
    SegmentRecord record;
    ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    EXPECT_EQ(record.offset, 8u);
    EXPECT_EQ(record.length, 32u);

    EXPECT_EQ(import.write_flushed(import.size() - 8, numbers(9), kPatience), Status::out_of_bounds);
    EXPECT_EQ(import.write_flushed(8, row, kPatience, {.element = 3}), Status::invalid);
    Import reads(importer, segment.ticket(), {.access = Access::read_only});
    EXPECT_EQ(reads.write_flushed(0, row, kPatience), Status::refused);
    segment.revoke();
    EXPECT_EQ(import.write_flushed(8, numbers(40, 3), kPatience), Status::stale);
    EXPECT_TRUE(same(segment.bytes().subspan(8, 32), row));
  });
}

TEST_F(Segments, are_written_in_rows) {
  with_each_kind([](Segment& segment, Import& import, Interface& interface) {
    constexpr std::size_t kRow = 300;  // more than a link takes at a time
    const auto data = numbers(kRow * 48);
    std::vector<PutMessage> row(kRow);
    for (std::size_t i = 0; i < kRow; ++i) row[i] = {std::span(data).subspan(i * 48, i % 49), i * 48};
    std::size_t done = 0, sent = 0;
    const bool all = comes_true([&] {
      const Status status = import.write_row(std::span(row).subspan(done), sent);
      done += sent;
      EXPECT_EQ(status == Status::ok, done == kRow);
      if (status == Status::queue_full) interface.run();
      return done == kRow || (status != Status::ok && status != Status::queue_full);
    });
    ASSERT_TRUE(all && done == kRow);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    for (std::size_t i = 0; i < kRow; ++i)
      ASSERT_TRUE(same(segment.bytes().subspan(i * 48, i % 49), row[i].data)) << i;
    EXPECT_EQ(import.write_row({}, sent), Status::ok);
    // Behind a long one that waits none leaves, and none is kept.
    const std::vector<std::byte> much(2 * 65536);
    SendHandle handle;
    if (import.write(0, much, {}, &handle) == Status::pending) {
      const PutMessage behind[] = {{std::span(data).first(8), 0}};
      const Status status = import.write_row(behind, sent);
      EXPECT_EQ(status == Status::queue_full, sent == 0) << name(status);
      EXPECT_TRUE(status == Status::ok || status == Status::queue_full) << name(status);
      ASSERT_TRUE(comes_true([&] {
        interface.run();
        return import.status(handle) != Status::pending;
      }));
    }
    // Puts before one that cannot be have left, and none behind it.
    const PutMessage wrong[] = {
        {std::span(data).first(8), 0}, {std::span(data).first(49), 8}, {std::span(data).first(8), 16}};
    EXPECT_EQ(import.write_row(wrong, sent), Status::too_long);
    EXPECT_EQ(sent, 1u);
    const PutMessage outside[] = {{std::span(data).first(8), 3 * 65536 - 7}};
    EXPECT_EQ(import.write_row(outside, sent), Status::out_of_bounds);
    EXPECT_EQ(sent, 0u);
  });
}

TEST_F(Segments, are_read_by_many_threads_at_once) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const auto data = numbers(150000);
    ASSERT_EQ(import.write(0, data, kPatience), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (const std::size_t length : {7u, 300u, 5000u, 70000u, 140000u}) {
          std::vector<std::byte> back(length);
          const std::size_t at = t * 1001 + length % 13;
          if (import.read(at, back, kPatience) != Status::ok ||
              !same(back, std::span(data).subspan(at, length))) {
            ++wrong;
          }
        }
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(same(segment.bytes().first(150000), data));
  });
}

TEST_F(Segments, have_words_that_everybody_may_work_on) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    segment.at<std::uint64_t>(64) = 40;
    EXPECT_EQ(import.fetch(64, {.op = FetchOp::add, .operand = 2}, kPatience).value, 40u);
    EXPECT_EQ(segment.at<std::uint64_t>(64), 42u);
    EXPECT_EQ(import.compare_and_swap(64, 42, 7, kPatience).value, 42u);
    EXPECT_EQ(import.compare_and_swap(64, 42, 8, kPatience).value, 7u) << "it was not 42 any more";
    std::uint64_t word = 0;
    EXPECT_EQ(import.load(64, word, kPatience), Status::ok);
    EXPECT_EQ(word, 7u);
    EXPECT_EQ(import.store(72, std::uint32_t{5}), Status::ok);
    EXPECT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_EQ(segment.at<std::uint32_t>(72), 5u);
    EXPECT_EQ(import.fetch(65, {}, kPatience).status, Status::misaligned);
    EXPECT_EQ(import.fetch(3 * 65536, {}, kPatience).status, Status::out_of_bounds);
    EXPECT_EQ(import.fetch(0, {.bytes = 3}, kPatience).status, Status::invalid);
    EXPECT_EQ(import.fetch(0, {.op = FetchOp{11}}, kPatience).status, Status::invalid);
    EXPECT_EQ(error_of([&] { segment.at<std::uint64_t>(3 * 65536 - 4); }), ErrorCode::invalid_argument);
  });
}

TEST_F(Segments, have_records_that_are_waited_for_while_they_are_written) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "record", .bytes = 4096, .control = Control::always});
    OwnVersioned<std::uint64_t> own(segment, 0);
    own.write(7);
    segment.at<std::uint64_t>(8) = 8;  // the value is there, and its check is not
    std::uint64_t value = 0;
    Status status = Status::pending;
    std::thread reader([&] {
      Import import(importer, "record");
      FarVersioned<std::uint64_t> far(import, 0);
      EXPECT_EQ(far.read(value, std::chrono::nanoseconds{0}), Status::timed_out) << "one look";
      status = far.read(value, std::chrono::nanoseconds::max());
    });
    SegmentRecord record;
    for (std::uint32_t reads = 0; reads < 3; reads += record.count) {
      const bool told = segment.wait(record, kPatience) == Status::ok;
      EXPECT_TRUE(told) << "it has given up";
      if (!told) break;
    }
    own.write(8);
    reader.join();
    EXPECT_EQ(status, Status::ok);
    EXPECT_EQ(value, 8u);
  });
}

TEST_F(Segments, have_records_whose_versions_go_on_where_another_pushes) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "record", .bytes = 4096});
    Import import(importer, "record"), blind(importer, "record", {.access = Access::write_only});
    OwnVersioned<std::uint64_t> own(segment, 64);
    own.write(6);
    for (std::uint64_t pushed = 7; pushed < 10; ++pushed) {
      std::uint64_t value = 0, version = 0;
      ASSERT_EQ(FarVersioned<std::uint64_t>(import, 64).write(pushed, kPatience), Status::ok);
      ASSERT_EQ(import.flush(kPatience), Status::ok);
      EXPECT_EQ(own.read(value, &version), Status::ok);
      EXPECT_EQ(value, pushed);
      EXPECT_EQ(version, pushed - 5);
    }
    EXPECT_EQ(FarVersioned<std::uint64_t>(blind, 128).write(1, kPatience), Status::ok);
  });
}

TEST_F(Segments, are_scattered_over) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const Strides plane{.chunk = 8, .x_chunks = 10, .y_chunks = 20, .x_stride = 24, .y_stride = 1000};
    const auto data = numbers(1600);
    ASSERT_EQ(import.write(8, data, kPatience, {.strides = &plane}), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    for (std::size_t y = 0; y < 20; ++y) {
      for (std::size_t x = 0; x < 10; ++x)
        EXPECT_TRUE(same(segment.bytes().subspan(8 + y * 1000 + x * 24, 8),
                         std::span(data).subspan((y * 10 + x) * 8, 8)));
    }
    const Strides beyond{.chunk = 800, .x_chunks = 2, .y_chunks = 1, .x_stride = ~std::uint64_t{0}};
    EXPECT_EQ(import.write(0, data, kPatience, {.strides = &beyond}), Status::out_of_bounds);
    const Strides none{.chunk = 0};
    EXPECT_EQ(import.write(0, data, kPatience, {.strides = &none}), Status::invalid);
  });
}

TEST_F(Segments, are_gathered_from) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    std::ranges::copy(numbers(segment.bytes().size(), 3), segment.bytes().begin());
    Segment own(importer, {.bytes = 4096});
    const Strides plane{.chunk = 12, .x_chunks = 10, .y_chunks = 20, .x_stride = 24, .y_stride = 1000};
    // Longer than one get brings: of many rows, of long rows, of long chunks.
    const Strides rows{.chunk = 8, .x_chunks = 500, .y_chunks = 20, .x_stride = 16, .y_stride = 8192};
    const Strides row{.chunk = 10, .x_chunks = 9000, .y_chunks = 1, .x_stride = 21, .y_stride = 0};
    const Strides chunks{.chunk = 70001, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = 100003};
    for (const Strides& strides : {plane, rows, row, chunks}) {
      const std::size_t length = std::size_t{strides.chunk} * strides.x_chunks * strides.y_chunks;
      std::vector<std::byte> data(length);
      ASSERT_EQ(import.read(9, data, kPatience, {.strides = &strides}), Status::ok);
      for (std::size_t at = 0; at != length; at += strides.chunk) {
        const std::size_t chunk = at / strides.chunk;
        const std::size_t place =
            chunk / strides.x_chunks * strides.y_stride + chunk % strides.x_chunks * strides.x_stride;
        ASSERT_TRUE(same(std::span(data).subspan(at, strides.chunk),
                         segment.bytes().subspan(9 + place, strides.chunk)));
      }
      RemoteHandle handle;
      const Status status = import.read(9, own, 16, length, {.notify = true, .strides = &strides}, &handle);
      if (length > own.bytes().size()) {
        EXPECT_EQ(status, import.reads_by_loads() ? Status::out_of_bounds
                          : length > 65536        ? Status::too_long
                                                  : Status::invalid);
        continue;
      }
      if (status == Status::pending) {
        EXPECT_EQ(import.wait(handle, kPatience).status, Status::ok);
      }
      EXPECT_TRUE(same(own.bytes().subspan(16, length), data));
    }
    std::vector<std::byte> room(1600);
    const Strides beyond{.chunk = 800, .x_chunks = 2, .y_chunks = 1, .x_stride = ~std::uint64_t{0}};
    EXPECT_EQ(import.read(0, room, kPatience, {.strides = &beyond}), Status::out_of_bounds);
    const Strides last{
        .chunk = 800, .x_chunks = 1, .y_chunks = 2, .x_stride = 0, .y_stride = 3 * 65536 - 800};
    EXPECT_EQ(import.read(0, room, kPatience, {.strides = &last}), Status::ok);
    EXPECT_EQ(import.read(1, room, kPatience, {.strides = &last}), Status::out_of_bounds);
    const Strides other{.chunk = 801, .x_chunks = 2, .y_chunks = 1, .x_stride = 900};
    EXPECT_EQ(import.read(0, room, kPatience, {.strides = &other}), Status::invalid);
    const Strides none{.chunk = 0};
    EXPECT_EQ(import.read(0, room, kPatience, {.strides = &none}), Status::invalid);
    RemoteHandle handle;
    EXPECT_EQ(import.read(0, own, 0, 1600, {.strides = &beyond}, &handle), Status::out_of_bounds);
    EXPECT_EQ(import.read(0, own, 0, 1600, {.strides = &other}, &handle), Status::invalid);
    segment.revoke();
    EXPECT_EQ(import.read(0, room, kPatience, {.strides = &last}), Status::stale);
  });
}

TEST_F(Segments, have_edges) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const std::size_t size = import.size();
    std::byte room[64] = {};
    EXPECT_EQ(import.write(size, std::span(room).first(0), kPatience), Status::ok);
    EXPECT_EQ(import.write(size - 8, std::span(room).first(8), kPatience), Status::ok);
    EXPECT_EQ(import.write(size - 8, std::span(room).first(9), kPatience), Status::out_of_bounds);
    EXPECT_EQ(import.write(size + 1, std::span(room).first(0), kPatience), Status::out_of_bounds);
    EXPECT_EQ(import.write(~std::size_t{0}, std::span(room).first(8), kPatience), Status::out_of_bounds);
    EXPECT_EQ(import.read(size - 8, std::span(room).first(8), kPatience), Status::ok);
    EXPECT_EQ(import.read(size - 8, std::span(room).first(9), kPatience), Status::out_of_bounds);
    EXPECT_EQ(import.read(~std::size_t{0} - 3, std::span(room).first(8), kPatience), Status::out_of_bounds);
    EXPECT_EQ(segment.pin(size, 1), segment.unpin(size, 1));
  });
}

TEST_F(Segments, that_were_taken_back_are_stale) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    const auto data = numbers(40);
    ASSERT_EQ(import.write(0, data, kPatience), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    segment.revoke();
    static_cast<void>(import.write(0, numbers(40, 3), kPatience));  // may have been on its way
    EXPECT_EQ(import.flush(kPatience), Status::stale);
    EXPECT_EQ(import.write(0, data, kPatience), Status::stale);
    std::byte room[40];
    EXPECT_EQ(import.read(0, room, kPatience), Status::stale);
    EXPECT_EQ(import.fetch(0, {}, kPatience).status, Status::stale);
    EXPECT_TRUE(same(segment.bytes().first(40), data)) << "a stale import has changed it";
    Import again(importer, segment.ticket());
    EXPECT_EQ(again.write(0, numbers(40, 3), kPatience), Status::ok);
    EXPECT_EQ(again.flush(kPatience), Status::ok);
    EXPECT_TRUE(same(segment.bytes().first(40), numbers(40, 3)));
  });
}

TEST_F(Segments, of_the_same_name_are_not_their_predecessors) {
  with_two([](Interface& exporter, Interface& importer) {
    for (int round = 0; round < 20; ++round) {
      auto first = std::make_unique<Segment>(exporter, SegmentOptions{.name = "again", .bytes = 4096});
      Import old(importer, "again");
      ASSERT_EQ(old.write(0, numbers(40), kPatience), Status::ok);
      first.reset();
      Segment second(exporter, {.name = "again", .bytes = 4096});
      Import fresh(importer, "again");
      static_cast<void>(old.write(0, numbers(40, 5), kPatience));
      EXPECT_EQ(old.flush(kPatience), Status::stale);
      EXPECT_EQ(fresh.flush(kPatience), Status::ok);
      EXPECT_EQ(std::ranges::count(second.bytes(), std::byte{0}), 4096);
    }
  });
}

TEST_F(Segments, may_be_anonymous_and_land_what_is_read) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "source", .bytes = 8192});
    Segment landing(importer, {.bytes = 8192});
    Import import(importer, "source");
    const auto data = numbers(8192);
    std::ranges::copy(data, segment.bytes().begin());
    RemoteHandle handle;
    Status status = Status::queue_full;
    while (status == Status::queue_full) status = import.read(100, landing, 4, 5000, &handle);
    ASSERT_EQ(status, Status::pending);
    EXPECT_EQ(import.wait(handle, kPatience).status, Status::ok);
    EXPECT_TRUE(same(landing.bytes().subspan(4, 5000), std::span(data).subspan(100, 5000)));
    EXPECT_EQ(import.read(0, landing, 8190, 5, &handle), Status::invalid);
  });
}

TEST_F(Segments, are_not_found_by_other_names_and_nothing_else_is_one) {
  with_two([](Interface& exporter, Interface& importer) {
    const Import::Options soon{.timeout = std::chrono::milliseconds{0}};
    EXPECT_EQ(error_of([&] { Import(importer, "nobody", soon); }), ErrorCode::name_unknown);
    const Import::Options brief{.timeout = std::chrono::milliseconds{1}};
    EXPECT_EQ(error_of([&] { Import(importer, "nobody", brief); }), ErrorCode::timed_out);
    EXPECT_EQ(error_of([&] { Segment(exporter, {.name = "no/name", .bytes = 8}); }), ErrorCode::name_invalid);
    EXPECT_EQ(error_of([&] { Segment(exporter, {.name = "empty"}); }), ErrorCode::invalid_argument);
    Segment segment(exporter, {.name = "taken", .bytes = 64});
    EXPECT_EQ(error_of([&] { Segment(exporter, {.name = "taken", .bytes = 64}); }), ErrorCode::name_taken);
    EXPECT_EQ(error_of([&] { Import(exporter, "taken"); }), ErrorCode{}) << "it may be one's own";
    const Import::Options patient{.timeout = std::chrono::milliseconds::max()};
    EXPECT_EQ(error_of([&] { Import(importer, "taken", patient); }), ErrorCode{});
    MessageArea area(exporter, 4096);
    NotificationQueue queue(exporter);
    Slot slot(area, queue, {});
    exporter.publish("slot", slot.ticket());
    EXPECT_EQ(error_of([&] { Import(importer, "slot"); }), ErrorCode::seed_wrong_kind);
    Ticket forged = segment.ticket();
    forged.key ^= 1;
    EXPECT_EQ(error_of([&] { Import(importer, forged); }), ErrorCode::seed_stale);
    EXPECT_EQ(said_by([&] { Import(importer, forged); }), "the ticket has a wrong key: bad_key");
    forged = segment.ticket();
    forged.generation += 1;
    EXPECT_EQ(error_of([&] { Import(importer, forged); }), ErrorCode::seed_stale);
    EXPECT_EQ(said_by([&] { Import(importer, forged); }),
              "the segment has gone, or was revoked: stale_generation");
    EXPECT_EQ(said_by([&] { segment.at<std::uint64_t>(4); }),
              "a word of 8 bytes at offset 4: the offset must be a multiple of its size");
    EXPECT_EQ(said_by([&] { segment.at<std::uint64_t>(64); }),
              "a word of 8 bytes at offset 64 does not lie inside the segment's 64 bytes");
    forged = segment.ticket();
    forged.bound = 1u << 20;  // it may say so
    Import longer(importer, forged);
    EXPECT_EQ(longer.write(60, numbers(8), kPatience), Status::ok);
    EXPECT_EQ(longer.flush(kPatience), Status::refused);
    EXPECT_EQ(longer.refusal(), Refusal::out_of_bounds);
    EXPECT_EQ(longer.write_flushed(0, numbers(8), kPatience), Status::ok);
    EXPECT_EQ(longer.write_flushed(60, numbers(8), kPatience), Status::refused);
    EXPECT_EQ(longer.write_flushed(60, numbers(500), kPatience), Status::refused);
    EXPECT_EQ(longer.refusal(), Refusal::out_of_bounds);
  });
}

// --- who may

class OfUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "other users' processes need the superuser";
  }
  // What user `uid` meets with a segment of user 41001 protected so: 1 that it may read, 2 write.
  int rights(int uid, const Protection& protection, Sharing sharing = Sharing::guarded) {
    Actor exporter(
        [&](Line& line) {
          Interface interface({.node = folder_.file("node"), .start_node = false});
          Segment segment(interface,
                          {.name = "rights", .bytes = 4096, .sharing = sharing, .protection = protection});
          line.put(segment.ticket());
          line.take<char>();
          return 0;
        },
        41001);
    const auto ticket = exporter.line().take<Ticket>();
    if (!ticket) return -1;
    Actor importer(
        [&](Line&) {
          Interface interface({.node = folder_.file("node"), .start_node = false});
          const auto may = [&](Access access) {
            const ErrorCode code = error_of([&] { Import(interface, *ticket, {.access = access}); });
            if (code != ErrorCode{} && code != ErrorCode::not_permitted) return 64;
            return code == ErrorCode{} ? 1 : 0;
          };
          return may(Access::read_only) + 2 * may(Access::write_only) + 4 * may(Access::read_write);
        },
        uid);
    const int got = importer.wait();
    exporter.line().put('.');
    EXPECT_EQ(exporter.wait(), 0);
    return got;
  }

  Folder folder_{0755};
  Daemon daemon_{folder_.file("node"), {"--service"}};
};

TEST_F(OfUsers, segments_are_open_to_those_whom_their_protection_names) {
  constexpr int kAll = 7, kReads = 1, kWrites = 2, kNothing = 0;
  EXPECT_EQ(rights(41001, {.mode = 0600}), kAll);
  EXPECT_EQ(rights(41002, {.mode = 0600}), kNothing) << "a ticket is not enough";
  EXPECT_EQ(rights(41002, {.mode = 0604}), kReads);
  EXPECT_EQ(rights(41002, {.mode = 0602}), kWrites);
  EXPECT_EQ(rights(41002, {.mode = 0600, .users = {{41002, true, true}}}), kAll);
  EXPECT_EQ(rights(41002, {.mode = 0666, .users = {{41002, true, false}}}), kReads);
  EXPECT_EQ(rights(41002, {.mode = 0604}, Sharing::mapped_read_only), kReads);
  EXPECT_EQ(rights(41002, {.mode = 0602}, Sharing::mapped_read_only), kWrites) << "what is mapped is read";
  EXPECT_EQ(rights(41002, {.mode = 0600}, Sharing::mapped_read_only), kNothing);
}

// --- death

TEST_F(Segments, of_a_process_that_is_killed_end_what_goes_on_there) {
  for (int round = 0; round < 5; ++round) {
    Actor exporter([&](Line& line) {
      Interface interface(options());
      Segment segment(interface, {.name = "mortal", .bytes = 65536});
      line.put('e');
      line.take<char>();
      return 0;
    });
    ASSERT_TRUE(exporter.line().take<char>());
    Actor importer([&](Line& line) {
      Interface interface(other_options());
      Import import(interface, "mortal");
      line.put('i');
      const auto data = numbers(60000);
      std::vector<std::byte> room(60000);
      for (;;) {
        Status status = import.write(0, data, kPatience);
        if (status == Status::ok) status = import.read(0, room, kPatience);
        if (status == Status::ok) status = import.fetch(0, {}, kPatience).status;
        if (status == Status::ok) status = import.flush(kPatience);
        if (status == Status::link_ended || status == Status::refused || status == Status::stale) return 0;
        if (status != Status::ok) return 10 + static_cast<int>(status);
      }
    });
    ASSERT_TRUE(importer.line().take<char>());
    exporter.signal(SIGKILL);
    EXPECT_EQ(exporter.wait(), 128 + SIGKILL);
    EXPECT_EQ(importer.wait(), 0) << "round " << round;
  }
}

// The answer is the same from then on, however often and by which call it is asked for, for every kind of
// segment. Another process that exports under that name is imported anew.
TEST_F(Segments, of_a_process_that_has_died_answer_link_ended_until_they_are_imported_anew) {
  for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
    SCOPED_TRACE(static_cast<int>(sharing));
    const auto exports = [&](Line& line) {
      Interface interface(options());
      Segment segment(interface, {.name = "mortal", .bytes = 65536, .sharing = sharing});
      line.put('e');
      line.take<char>();
      return 0;
    };
    Actor exporter(exports);
    ASSERT_TRUE(exporter.line().take<char>());
    Actor importer([&](Line& line) {
      Interface interface(other_options());
      NotificationQueue queue(interface);
      Import import(interface, "mortal");
      std::uint64_t word = 7;
      if (import.store(64, word) != Status::ok || import.load(64, word, kPatience) != Status::ok) return 1;
      const bool mapped = import.reads_by_loads();
      line.put('i');
      Notification news;
      do {  // until it is known here, too
        if (queue.receive(news, kPatience) != Status::ok) return 2;
      } while (news.kind != Notification::Kind::link_ended);
      for (int i = 0; i < 100; ++i) {
        if (const Status how = import.store(64, word); how != Status::link_ended)
          return 10 + static_cast<int>(how);
        if (const Status how = import.load(64, word, kPatience); how != Status::link_ended)
          return 40 + static_cast<int>(how);
        if (const Status how = import.fetch(64, {.operand = 1}, kPatience).status; how != Status::link_ended)
          return 70 + static_cast<int>(how);
        if (const Status how = import.flush(kPatience); how != Status::link_ended)
          return 100 + static_cast<int>(how);
        if (const Status how = import.write(0, numbers(100), kPatience); how != Status::link_ended)
          return 130 + static_cast<int>(how);
        if (const Status how = import.write_signal(0, numbers(1), 64, 1, Signal::set, kPatience);
            how != Status::link_ended)
          return 160 + static_cast<int>(how);
        import.run();
      }
      if (import.why().reason != LinkReason::died) return 3;
      if (mapped && import.mapping()->status() != Status::link_ended) return 4;
      line.put('d');
      line.take<char>();
      Import anew(interface, "mortal");
      return anew.store(64, word) == Status::ok && anew.load(64, word, kPatience) == Status::ok ? 0 : 5;
    });
    ASSERT_TRUE(importer.line().take<char>());
    exporter.signal(SIGKILL);
    EXPECT_EQ(exporter.wait(), 128 + SIGKILL);
    ASSERT_TRUE(importer.line().take<char>());
    Actor heir(exports);
    ASSERT_TRUE(heir.line().take<char>());
    importer.line().put('.');
    EXPECT_EQ(importer.wait(), 0);
    heir.line().put('.');
    EXPECT_EQ(heir.wait(), 0);
  }
}

}  // namespace
}  // namespace hamlyn::test
