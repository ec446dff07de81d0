// What was once wrong with segments: tickets that lie, writes that wait while everything else changes, places
// that were lost.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "hamlyn/segment/failure_detector.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

class SegmentsBeset : public WithSegments {};

TEST_F(SegmentsBeset, are_opened_anew_when_their_protection_changes_and_nothing_is_lost_unsaid) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "changing", .bytes = 4096});
    Import import(importer, "changing");
    for (int round = 1; round < 100; ++round) {
      static_cast<void>(segment.protect({.mode = round % 2 == 0 ? 0600u : 0640u}));
      const auto data = numbers(40, round);
      ASSERT_EQ(import.write(0, data, kPatience), Status::ok) << "whoever may still is let in again";
      if (import.flush(kPatience) != Status::ok) continue;
      ASSERT_TRUE(same(segment.bytes().first(40), data)) << "it was said to have landed";
    }
    if (::geteuid() == 0) return;  // who always may
    static_cast<void>(import.flush(kPatience));
    static_cast<void>(segment.protect({.mode = 0}));
    static_cast<void>(import.write(0, numbers(40, 1), kPatience));
    EXPECT_NE(import.flush(kPatience), Status::ok);
    EXPECT_NE(import.write(0, numbers(40, 1), kPatience), Status::ok);
  });
}

TEST_F(SegmentsBeset, forget_what_waited_when_they_are_revoked) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "waiting", .bytes = 4096});
    Import import(importer, "waiting");
    ASSERT_EQ(segment.inhibit(), Status::ok);
    ASSERT_EQ(import.write(0, numbers(40, 1), kPatience), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    segment.revoke();
    ASSERT_EQ(segment.release(), Status::ok);
    EXPECT_EQ(std::ranges::count(segment.bytes(), std::byte{0}), 4096);
  });
}

TEST_F(SegmentsBeset, let_what_waits_land_though_there_is_a_control_descriptor) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "control", .bytes = 4096});
    const int control = segment.control_descriptor();
    Import import(importer, "control");
    ASSERT_EQ(segment.inhibit(), Status::ok);
    ASSERT_EQ(import.write(0, numbers(40, 1), kPatience), Status::ok);
    pollfd told{control, POLLIN, 0};
    ASSERT_EQ(::poll(&told, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())), 1);
    ASSERT_EQ(segment.release(), Status::ok);
    EXPECT_TRUE(same(segment.bytes().first(40), numbers(40, 1)));
  });
}

TEST_F(SegmentsBeset, tell_of_a_long_write_that_waited_and_signal_behind_it) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "long", .bytes = 65536, .hold = 65536});
    Import import(importer, "long");
    ASSERT_EQ(segment.inhibit(), Status::ok);
    const auto data = numbers(30000, 1);
    ASSERT_EQ(import.write(8, data, kPatience, {.notify = true}), Status::ok);
    ASSERT_EQ(import.write_signal(40000, data.size() > 100 ? std::span(data).first(100) : data, 0, 5,
                                  Import::Signal::add, kPatience),
              Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    SegmentRecord record;
    ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    EXPECT_EQ(record.kind, SegmentRecord::Kind::held);
    EXPECT_EQ(segment.at<std::uint64_t>(0), 0u) << "the signal has overtaken what it signals";
    ASSERT_EQ(segment.release(), Status::ok);
    EXPECT_EQ(segment.at<std::uint64_t>(0), 5u);
    EXPECT_TRUE(same(segment.bytes().subspan(8, data.size()), data));
    do {
      ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    } while (record.kind != SegmentRecord::Kind::written);
  });
}

TEST_F(SegmentsBeset, tell_once_of_a_scattered_write_that_waited) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "scattered", .bytes = 4096});
    Import import(importer, "scattered");
    const Strides strides{.chunk = 8, .x_chunks = 10, .y_chunks = 5, .x_stride = 24, .y_stride = 512};
    static_cast<void>(segment.inhibit());
    ASSERT_EQ(import.write(64, numbers(400), kPatience, {.notify = true, .strides = &strides}), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    static_cast<void>(segment.release());
    SegmentRecord record;
    do ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    while (record.kind == SegmentRecord::Kind::held);
    EXPECT_EQ(record.kind, SegmentRecord::Kind::written);
    EXPECT_EQ(record.count, 1u);
    EXPECT_EQ(record.offset, 64u);
    EXPECT_EQ(record.length, 4 * 512 + 9 * 24 + 8u);
    EXPECT_FALSE(segment.poll());
  });
}

TEST_F(SegmentsBeset, are_not_signalled_when_what_was_to_be_signalled_is_lost) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "full", .bytes = 65536, .hold = 4096});
    Import import(importer, "full");
    ASSERT_EQ(segment.unpin(4096, 4096), Status::ok);
    static_cast<void>(import.write_signal(4096, numbers(4096, 1), 0, 5, Import::Signal::set, kPatience));
    EXPECT_EQ(import.flush(kPatience), Status::refused);
    EXPECT_EQ(import.refusal(), Refusal::hold_full);
    EXPECT_EQ(segment.at<std::uint64_t>(0), 0u);
  });
}

TEST_F(SegmentsBeset, are_not_signalled_before_the_last_of_what_waits_has_landed) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "behind", .bytes = 65536});
    Import import(importer, "behind");
    ASSERT_EQ(segment.unpin(4096, 8192), Status::ok);
    ASSERT_EQ(import.write(4096, numbers(40, 1), kPatience), Status::ok);
    ASSERT_EQ(import.write_signal(8192, numbers(40, 2), 0, 5, Import::Signal::set, kPatience), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    ASSERT_EQ(segment.pin(4096, 4096), Status::ok);
    EXPECT_TRUE(same(segment.bytes().subspan(4096, 40), numbers(40, 1)));
    EXPECT_EQ(segment.at<std::uint64_t>(0), 0u) << "what it signals still waits";
    ASSERT_EQ(segment.pin(8192, 4096), Status::ok);
    EXPECT_EQ(segment.at<std::uint64_t>(0), 5u);
  });
}

TEST_F(SegmentsBeset, are_what_their_tickets_say_and_no_more) {
  with_two([](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      Segment segment(exporter, {.bytes = 8192, .sharing = sharing});
      std::ranges::copy(numbers(8192, 3), segment.bytes().begin());
      Ticket ticket = segment.ticket();
      ticket.bound = std::uint64_t{1} << 30;
      Import longer(importer, ticket);
      std::vector<std::byte> room(4096);
      EXPECT_EQ(longer.read(std::size_t{1} << 29, room, kPatience), Status::refused);
      EXPECT_NE(longer.fetch(std::size_t{1} << 29, {}, kPatience).status, Status::ok);
      ticket = segment.ticket();
      ticket.base = 4096;
      ticket.bound = 64;
      Import narrow(importer, ticket);
      EXPECT_EQ(narrow.size(), 64u);
      ASSERT_EQ(narrow.read(8, std::span(room).first(16), kPatience), Status::ok);
      EXPECT_TRUE(same(std::span(room).first(16), segment.bytes().subspan(4104, 16)));
      ticket.base = std::uint64_t{1} << 37;
      Import far(importer, ticket);
      EXPECT_NE(far.write(0, std::span(room).first(8), kPatience), Status::ok);
      EXPECT_TRUE(same(segment.bytes(), numbers(8192, 3)));
    }
  });
}

TEST_F(SegmentsBeset, give_back_the_places_of_writes_that_were_refused) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "places", .bytes = 4096, .hold = 64});
    Import import(importer, "places");
    ASSERT_EQ(segment.inhibit(), Status::ok);
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(import.write(0, numbers(48, i), kPatience, {.notify = true}), Status::ok) << i;
    // All have been refused but the first; what comes after the release would land, and keep its place.
    EXPECT_EQ(import.flush(kPatience), Status::refused);
    EXPECT_EQ(import.refusal(), Refusal::hold_full);
    ASSERT_EQ(segment.release(), Status::ok);
    ASSERT_EQ(import.write(0, numbers(48, 1), kPatience, {.notify = true}), Status::ok);
  });
}

TEST_F(SegmentsBeset, may_be_read_only_by_choice) {
  with_two([](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
      Segment segment(exporter, {.name = "choice", .bytes = 4096, .sharing = sharing});
      Import import(importer, "choice", {.access = Access::read_only});
      EXPECT_EQ(import.write(0, numbers(8, 1), kPatience), Status::refused);
      EXPECT_EQ(import.fetch(0, {}, kPatience).status, Status::refused);
      EXPECT_EQ(std::ranges::count(segment.bytes(), std::byte{0}), 4096);
    }
  });
}

// Whatever those threads had of ours, which no one gives back to the child.
TEST_F(SegmentsBeset, say_so_to_a_child_that_was_forked_while_other_threads_were_inside) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "busy", .bytes = 4096});
    Import import(importer, "busy");
    FailureDetector detector(import, {.period = std::chrono::milliseconds{1}}, [](const Suspicion&) {});
    std::byte room[64], childs[64];
    std::atomic<bool> over{false};
    std::thread reader([&] {
      while (!over) static_cast<void>(import.read(0, room, kPatience));
    });
    std::thread owner([&] {
      while (!over) static_cast<void>(segment.protect({}));
    });
    for (int i = 0; i < 20; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(10);
        const bool said = import.read(0, childs, kPatience) == Status::forked &&
                          error_of([&] { static_cast<void>(segment.protect({})); }) == ErrorCode::forked &&
                          error_of([&] { segment.control_descriptor(); }) == ErrorCode::forked &&
                          !detector.suspicion().suspected();
        ::_exit(said ? 0 : 1);
      }
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << "14: it hangs";
    }
    over = true;
    reader.join();
    owner.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
