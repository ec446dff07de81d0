// Waits for words of a segment, at either side: what wakes a thread, and what ends its wait.
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using SegmentWaits = WithSegments;

constexpr std::chrono::milliseconds kShort{2};

std::function<bool(std::uint64_t)> is(std::uint64_t value) {
  return [value](std::uint64_t word) { return word == value; };
}

TEST_F(SegmentWaits, go_to_and_fro) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    if (!import.writes_by_stores() && import.reads_by_loads()) return;  // nobody writes it
    constexpr std::uint64_t kRounds = 200;
    std::thread exporter([&] {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        ASSERT_EQ(segment.wait_until(8, is(round), kPatience), Status::ok);
        segment.at<std::uint64_t>(16) = round;
        segment.changed();
      }
    });
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      ASSERT_EQ(import.write_signal(64, {}, 8, round, Signal::set, kPatience), Status::ok);
      ASSERT_EQ(import.wait_until(16, is(round), kPatience), Status::ok);
    }
    exporter.join();
  });
}

TEST_F(SegmentWaits, hear_of_what_others_do_there) {
  with_two([this](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
      const Segment segment(exporter, {.name = "theirs", .bytes = 4096, .sharing = sharing});
      Interface third(options());
      Import waits(importer, "theirs"), writes(third, "theirs");
      for (std::uint64_t round = 1; round <= 50; ++round) {
        std::thread other([&] {
          if (round % 3 == 0) {
            ASSERT_EQ(writes.fetch(8, {.operand = 1}, kPatience).status, Status::ok);
          } else if (round % 3 == 1) {
            ASSERT_EQ(writes.write_signal(64, numbers(100), 8, 1, Signal::add, kPatience), Status::ok);
          } else {
            ASSERT_EQ(writes.store(8, round), Status::ok);
            ASSERT_EQ(writes.changed(), Status::ok);
          }
        });
        EXPECT_EQ(waits.wait_until(8, is(round), kPatience), Status::ok);
        other.join();
      }
    }
  });
}

TEST_F(SegmentWaits, hear_of_signals_while_writes_are_inhibited) {
  with_two([this](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "quiet", .bytes = 4096, .sharing = Sharing::mapped_read_write});
    Interface third(options());
    Import waits(importer, "quiet"), writes(third, "quiet");
    ASSERT_EQ(segment.inhibit(), Status::ok);
    std::thread here([&] { EXPECT_EQ(segment.wait_until(0, is(100), kPatience), Status::ok); });
    std::thread there([&] { EXPECT_EQ(waits.wait_until(0, is(100), kPatience), Status::ok); });
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(writes.write_signal(64, {}, 0, 1, Signal::add, kPatience), Status::ok);
    here.join();
    there.join();
  });
}

TEST_F(SegmentWaits, hear_of_what_the_exporter_reads_into_it) {
  with_two([this](Interface& exporter, Interface& importer) {
    Interface third(options());
    Segment segment(exporter, {.name = "reads", .bytes = 4096});
    Segment source(third, {.name = "source", .bytes = 4096});
    source.at<std::uint64_t>(8) = 7;
    Import from(exporter, "source"), waits(importer, "reads");
    std::thread there([&] { EXPECT_EQ(waits.wait_until(8, is(7), kPatience), Status::ok); });
    RemoteHandle handle;
    ASSERT_EQ(from.read(0, segment, 0, 1024, &handle), Status::pending);
    EXPECT_EQ(from.wait(handle, kPatience).status, Status::ok);
    there.join();
  });
}

TEST_F(SegmentWaits, know_which_word_it_was) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    if (!import.writes_by_stores() && import.reads_by_loads()) return;
    const std::array<std::size_t, 3> words{8, 128, 64};
    std::size_t which = 9;
    EXPECT_EQ(segment.wait_until_any(words, which, is(1), kShort), Status::timed_out);
    ASSERT_EQ(import.write_signal(256, {}, 64, 1, Signal::add, kPatience), Status::ok);
    EXPECT_EQ(segment.wait_until_any(words, which, is(1), kPatience), Status::ok);
    EXPECT_EQ(which, 2u);
    ASSERT_EQ(import.fetch(128, {.operand = 1}, kPatience).status, Status::ok);
    EXPECT_EQ(segment.wait_until_any(words, which, is(1), kPatience), Status::ok);
    EXPECT_EQ(which, 1u);
  });
}

TEST_F(SegmentWaits, refuse_what_cannot_be) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    const std::size_t end = segment.bytes().size();
    std::size_t which = 0;
    EXPECT_EQ(segment.wait_until(4, is(1), kShort), Status::misaligned);
    EXPECT_EQ(segment.wait_until(end, is(1), kShort), Status::out_of_bounds);
    EXPECT_EQ(segment.wait_until_any({}, which, is(1), kShort), Status::invalid);
    const std::array<std::size_t, 2> words{0, end - 4};
    EXPECT_EQ(segment.wait_until_any(words, which, is(1), kShort), Status::out_of_bounds);
    EXPECT_EQ(import.wait_until(4, is(1), kShort), Status::misaligned);
    EXPECT_EQ(import.wait_until(end, is(1), kShort), Status::out_of_bounds);
    EXPECT_EQ(import.wait_until(end - 8, is(1), kShort), Status::timed_out);
    EXPECT_EQ(import.wait_until(end - 8, is(0), kPatience), Status::ok);
    if (import.reads_by_loads() && !import.writes_by_stores()) return;
    Import blind(importer, "kinds", {.access = Access::write_only});
    EXPECT_EQ(blind.wait_until(0, is(0), kShort), Status::refused);
  });
}

TEST_F(SegmentWaits, that_are_given_up_leave_room_for_others) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    for (int i = 0; i < 40; ++i)
      ASSERT_EQ(import.wait_until(0, is(1), std::chrono::nanoseconds{0}), Status::timed_out);
    segment.at<std::uint64_t>(0) = 1;
    EXPECT_EQ(import.wait_until(0, is(1), kPatience), Status::ok);
    std::uint64_t word = 0;
    EXPECT_EQ(import.load(0, word, kPatience), Status::ok);
  });
}

// More threads than a link has places for watches.
TEST_F(SegmentWaits, of_many_threads_all_end) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    std::atomic<int> ended{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] {
        EXPECT_EQ(import.wait_until(0, is(1), kPatience), Status::ok);
        ++ended;
      });
    }
    segment.at<std::uint64_t>(0) = 1;
    segment.changed();
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(ended, 20);
  });
}

TEST_F(SegmentWaits, end_when_it_is_taken_back) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    std::thread waits([&] { EXPECT_EQ(import.wait_until(0, is(1), kPatience), Status::stale); });
    segment.revoke();
    waits.join();
  });
}

TEST_F(SegmentWaits, end_with_whom_they_wait_for) {
  with_two([this](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
      Segment segment(exporter, {.name = "theirs", .bytes = 4096, .sharing = sharing});
      auto peer = std::make_unique<Interface>(options());
      const std::uint64_t id = peer->id();
      {
        const Import there(*peer, "theirs"), other(importer, "theirs");
        EXPECT_EQ(segment.wait_until(0, is(1), kShort, id), Status::timed_out);
      }
      std::thread dies([&] { peer.reset(); });
      EXPECT_EQ(segment.wait_until(0, is(1), kPatience, id), Status::link_ended);
      dies.join();
      EXPECT_EQ(segment.wait_until(0, is(1), kPatience, id), Status::link_ended);
      segment.at<std::uint64_t>(0) = 1;
      EXPECT_EQ(segment.wait_until(0, is(1), kPatience, id), Status::ok) << "it is done all the same";
    }
  });
}

TEST_F(SegmentWaits, end_with_the_exporter) {
  with_two([this](Interface&, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      auto exporter = std::make_unique<Interface>(options());
      auto segment = std::make_unique<Segment>(
          *exporter, SegmentOptions{.name = "dying", .bytes = 4096, .sharing = sharing});
      Import import(importer, "dying");
      std::thread dies([&] {
        segment.reset();
        exporter.reset();
      });
      const Status status = import.wait_until(0, is(1), kPatience);
      EXPECT_TRUE(status == Status::stale || status == Status::link_ended) << name(status);
      dies.join();
      EXPECT_EQ(import.wait_until(0, is(1), kPatience), Status::link_ended);
    }
  });
}

TEST_F(SegmentWaits, are_cancelled) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    std::atomic<bool> over{false};
    std::thread cancels([&] {
      while (!over) {
        importer.cancel();
        segment.interface().cancel();
        std::this_thread::yield();
      }
    });
    EXPECT_EQ(import.wait_until(0, is(1), kPatience), Status::cancelled);
    EXPECT_EQ(segment.wait_until(0, is(1), kPatience), Status::cancelled);
    over = true;
    cancels.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
