// What an exporter is told of, and how: by records, descriptors and signals; and what is kept from landing.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/file_descriptor.h"
#include "test/process/refused_news.h"
#include "test/process/segments.h"

// In the place of libc's: so many fail as when the kernel has no memory.
static std::atomic<int> sends_without_memory{0};

extern "C" ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  if (sends_without_memory.load() > 0 && sends_without_memory.fetch_sub(1) > 0) {
    errno = ENOBUFS;
    return -1;
  }
  return ::sendto(socket, data, bytes, flags, nullptr, 0);
}

namespace hamlyn::test {
namespace {

using Segments = WithSegments;

TEST_F(Segments, tell_when_they_are_asked_to) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const auto data = numbers(20000);
    ASSERT_EQ(import.write(100, data, kPatience, {.notify = true}), Status::ok);
    SegmentRecord record;
    ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    EXPECT_EQ(record.kind, SegmentRecord::Kind::written);
    EXPECT_EQ(record.offset, 100u);
    EXPECT_EQ(record.length, data.size());
    EXPECT_EQ(record.count, 1u);
    EXPECT_TRUE(same(segment.bytes().subspan(100, data.size()), data)) << "told of before it was there";
    EXPECT_EQ(segment.wait(record, std::chrono::milliseconds{1}), Status::timed_out);
  });
}

TEST_F(Segments, tell_who_has_read_and_swapped_where) {
  with_each_kind([](Segment& segment, Import& import, Interface& importer) {
    SegmentRecord record;
    const auto told = [&](SegmentRecord::Kind kind, std::uint64_t offset, std::uint64_t length) {
      ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
      EXPECT_EQ(record.kind, kind);
      EXPECT_EQ(record.offset, offset);
      EXPECT_EQ(record.length, length);
      EXPECT_EQ(record.peer, importer.id());
      EXPECT_EQ(record.count, 1u);
    };
    for (const std::size_t length : {1u, 40u, 3000u, 150000u}) {
      std::vector<std::byte> room(length);
      for (const std::size_t offset : {16u, 17u}) {
        ASSERT_EQ(import.read(offset, room, kPatience, {.tell_exporter = true}), Status::ok);
        told(SegmentRecord::Kind::got, offset, length);
      }
      ASSERT_EQ(import.read(17, room, kPatience), Status::ok);
    }
    const Strides plane{.chunk = 8, .x_chunks = 10, .y_chunks = 20, .x_stride = 24, .y_stride = 1000};
    std::vector<std::byte> room(1600);
    ASSERT_EQ(import.read(24, room, kPatience, {.strides = &plane, .tell_exporter = true}), Status::ok);
    told(SegmentRecord::Kind::got, 24, 19224);
    Segment own(importer, {.bytes = 4096});
    RemoteHandle handle;
    const Status status = import.read(32, own, 0, 100, {.tell_exporter = true}, &handle);
    EXPECT_EQ(status, import.reads_by_loads() ? Status::ok : Status::pending);
    told(SegmentRecord::Kind::got, 32, 100);
    EXPECT_EQ(import.compare_and_swap(64, 0, 5, kPatience, {.notify = true}).status, Status::ok);
    told(SegmentRecord::Kind::swapped, 64, 8);
    EXPECT_EQ(import.fetch(72, {.bytes = 4, .operand = 1}, kPatience, {.notify = true}).value, 0u);
    told(SegmentRecord::Kind::swapped, 72, 4);
    EXPECT_EQ(import.fetch(72, {.bytes = 4, .operand = 1}, kPatience).value, 1u);
    EXPECT_FALSE(segment.poll()) << "what nobody asked to be told of";
    EXPECT_EQ(segment.set_control(Control::never), Status::ok);
    EXPECT_EQ(import.read(0, room, kPatience, {.tell_exporter = true}), Status::ok);
    EXPECT_EQ(import.fetch(72, {.bytes = 4, .operand = 1}, kPatience, {.notify = true}).value, 2u);
    EXPECT_EQ(import.flush(kPatience), Status::ok);  // all before it has come
    EXPECT_FALSE(segment.poll());
  });
}

// Whatever kind the segment is of: a swap without room for its record is not done.
TEST_F(Segments, swap_and_tell_or_do_neither) {
  with_each_kind(
      [](Segment& segment, Import& import, Interface&) {
        constexpr std::chrono::milliseconds kSoon{1};
        SegmentRecord record;
        EXPECT_EQ(import.fetch(8, {.operand = 1}, kPatience, {.notify = true}).status, Status::ok);
        EXPECT_EQ(import.fetch(8, {.operand = 1}, kSoon, {.notify = true}).status, Status::no_place);
        EXPECT_EQ(import.compare_and_swap(8, 1, 5, kSoon, {.notify = true}).status, Status::no_place);
        EXPECT_EQ(segment.at<std::uint64_t>(8).load(), 1u) << "nothing was done";
        EXPECT_EQ(segment.wait(record, kPatience), Status::ok);
        EXPECT_EQ(import.fetch(8, {.operand = 1}, kPatience, {.notify = true}).value, 1u);
        EXPECT_EQ(segment.at<std::uint64_t>(8).load(), 2u);
      },
      {.places = 1});
}

// Whoever waits with epoll for edges looks until there is nothing.
TEST_F(Segments, give_records_that_stand_behind_news_of_refused_packets) {
  with_two([this](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "news", .bytes = 4096});
    Import import(importer, "news");
    RefusedNews news(other_options(), segment.ticket());
    const auto record_behind_news = [&](std::size_t links) {
      news.bring(links);
      EXPECT_EQ(import.write(0, numbers(40), kPatience, {.notify = true}), Status::ok);
      EXPECT_EQ(import.flush(kPatience), Status::ok);
    };
    SegmentRecord record;
    record_behind_news(1);
    EXPECT_EQ(segment.wait(record, std::chrono::nanoseconds{0}), Status::ok);
    record_behind_news(17);
    EXPECT_TRUE(segment.poll());
  });
}

TEST_F(Segments, are_signalled_behind_the_data) {
  with_each_kind([](Segment& segment, Import& import, Interface&) {
    const auto data = numbers(30000, 9);
    for (std::uint64_t i = 1; i <= 20; ++i) {
      ASSERT_EQ(import.write_signal(64, data, 0, 1, Import::Signal::add, kPatience), Status::ok);
      ASSERT_EQ(segment.wait_until(
                    0, [&](std::uint64_t word) { return word == i; }, kPatience),
                Status::ok);
      ASSERT_TRUE(same(segment.bytes().subspan(64, data.size()), data));
      std::ranges::fill(segment.bytes().subspan(64, data.size()), std::byte{0});
    }
    ASSERT_EQ(import.write_signal(64, data, 8, 77, Import::Signal::set, kPatience), Status::ok);
    ASSERT_EQ(segment.wait_until(
                  8, [](std::uint64_t word) { return word == 77; }, kPatience),
              Status::ok);
    EXPECT_TRUE(same(segment.bytes().subspan(64, data.size()), data));
    EXPECT_EQ(segment.wait_until(
                  8, [](std::uint64_t word) { return word == 78; }, std::chrono::milliseconds{2}),
              Status::timed_out);
    EXPECT_EQ(import.write_signal(0, data, 4, 1, Import::Signal::add, kPatience), Status::misaligned);
    EXPECT_EQ(import.write_signal(0, data, 3 * 65536, 1, Import::Signal::add, kPatience),
              Status::out_of_bounds);
  });
}

// --- what may not land now

TEST_F(Segments, that_are_inhibited_keep_what_comes_until_they_are_released) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "quiet", .bytes = 65536, .hold = 8192});
    Import import(importer, "quiet");
    ASSERT_EQ(segment.inhibit(), Status::ok);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(import.write(0, numbers(40, i), kPatience), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_EQ(std::ranges::count(segment.bytes(), std::byte{0}), 65536);
    EXPECT_EQ(import.fetch(0, {}, kPatience).cause, Refusal::inhibited);
    SegmentRecord record;
    ASSERT_EQ(segment.wait(record, kPatience), Status::ok);
    EXPECT_EQ(record.kind, SegmentRecord::Kind::held);
    ASSERT_EQ(segment.release(), Status::ok);
    EXPECT_TRUE(same(segment.bytes().first(40), numbers(40, 9)));
    ASSERT_EQ(segment.inhibit(), Status::ok);
    ASSERT_EQ(import.write(0, numbers(20000), kPatience), Status::ok);
    EXPECT_EQ(import.flush(kPatience), Status::refused);
    EXPECT_EQ(import.refusal(), Refusal::hold_full);
  });
}

TEST_F(Segments, keep_what_comes_to_unpinned_parts) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "parts", .bytes = 65536});
    Import import(importer, "parts");
    ASSERT_EQ(segment.unpin(4096, 8192), Status::ok);
    ASSERT_EQ(import.write(5000, numbers(100), kPatience), Status::ok);
    ASSERT_EQ(import.write(0, numbers(100), kPatience), Status::ok);
    ASSERT_EQ(import.flush(kPatience), Status::ok);
    EXPECT_TRUE(same(segment.bytes().first(100), numbers(100)));
    std::byte room[100];
    EXPECT_EQ(import.read(5000, room, kPatience), Status::refused);
    HeldPut held;
    ASSERT_EQ(segment.take_held(held, room), Status::ok);
    EXPECT_EQ(held.offset, 5000u);
    EXPECT_TRUE(same(room, numbers(100)));
    ASSERT_EQ(segment.pin(4096, 8192), Status::ok);
    EXPECT_EQ(import.read(5000, room, kPatience), Status::ok);
    EXPECT_EQ(segment.take_held(held, room), Status::not_ready);
    EXPECT_EQ(segment.pin(65536, 1), Status::out_of_bounds);
    Segment mapped(exporter, {.bytes = 4096, .sharing = Sharing::mapped_read_only});
    EXPECT_EQ(mapped.unpin(0, 4096), Status::invalid) << "whoever maps it reads it all the same";
  });
}

// --- descriptors

// To poll, which waits, and then to select and epoll.
bool readable(int descriptor) {
  pollfd fd{descriptor, POLLIN, 0};
  if (::poll(&fd, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) != 1 ||
      (fd.revents & POLLIN) == 0)
    return false;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(descriptor, &set);
  timeval now{};
  if (::select(descriptor + 1, &set, nullptr, nullptr, &now) != 1) return false;
  const base::FileDescriptor all{::epoll_create1(EPOLL_CLOEXEC)};
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(all.get(), EPOLL_CTL_ADD, descriptor, &event) == 0 &&
         ::epoll_wait(all.get(), &event, 1, 0) == 1 && (event.events & EPOLLIN) != 0;
}

TEST_F(Segments, give_records_by_descriptors) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "files", .bytes = 65536});
    const int control = segment.control_descriptor(), data = segment.data_descriptor();
    Import import(importer, "files");
    SegmentRecord record;
    EXPECT_EQ(::read(control, &record, sizeof record), -1);
    EXPECT_EQ(errno, EAGAIN);
    for (std::uint64_t i = 0; i < 3; ++i)
      ASSERT_EQ(import.write(i * 100, numbers(50), kPatience, {.notify = true}), Status::ok);
    const int copy = ::dup(control);
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(readable(control));
      ASSERT_EQ(::read(copy, &record, sizeof record), static_cast<ssize_t>(sizeof record));
      EXPECT_EQ(record.kind, SegmentRecord::Kind::written);
    }
    ::close(copy);
    EXPECT_EQ(segment.unpin(0, 4096), Status::ok);
    ASSERT_EQ(import.write(8, numbers(50), kPatience), Status::ok);
    ASSERT_TRUE(readable(data));
    std::byte room[4096];
    const ssize_t got = ::read(data, room, sizeof room);
    HeldPut held;
    ASSERT_EQ(got, static_cast<ssize_t>(sizeof held) + 50);
    std::memcpy(&held, room, sizeof held);
    EXPECT_EQ(held.offset, 8u);
    EXPECT_TRUE(same(std::span(room).subspan(sizeof held, 50), numbers(50)));
    ASSERT_TRUE(readable(control));
    EXPECT_EQ(::write(control, "x", 1), -1) << "it is to be read";
  });
}

TEST_F(Segments, lose_nothing_by_descriptors_while_the_kernel_has_no_memory) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "short", .bytes = 4096});
    const int control = segment.control_descriptor(), data = segment.data_descriptor();
    Import import(importer, "short");
    sends_without_memory = 2;
    ASSERT_EQ(import.write(0, numbers(50), kPatience, {.notify = true}), Status::ok);
    EXPECT_TRUE(readable(control));
    EXPECT_EQ(segment.unpin(0, 4096), Status::ok);
    sends_without_memory = 2;
    ASSERT_EQ(import.write(8, numbers(50), kPatience), Status::ok);
    EXPECT_TRUE(readable(data));
    EXPECT_LE(sends_without_memory.load(), 0);
  });
}

volatile sig_atomic_t signals = 0;

TEST_F(Segments, give_signals_by_descriptors) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "signals", .bytes = 4096});
    const int control = segment.control_descriptor();
    Import import(importer, "signals");
    ::signal(SIGIO, [](int) { signals = signals + 1; });
    ::fcntl(control, F_SETOWN, ::getpid());
    ::fcntl(control, F_SETFL, ::fcntl(control, F_GETFL) | O_ASYNC);
    ASSERT_EQ(import.write(0, numbers(50), kPatience, {.notify = true}), Status::ok);
    ASSERT_TRUE(readable(control));
    for (int i = 0; i < 100000 && signals == 0; ++i) ::sched_yield();
    EXPECT_NE(signals, 0);
    ::signal(SIGIO, SIG_IGN);  // its end is a signal, too
  });
}

#if !defined(__SANITIZE_ADDRESS__)  // whose own locks a child finds as another thread had them
// Threads of the child's own get the stacks of its parent's, and so what those are known by.
TEST_F(Segments, go_in_a_forked_child_that_has_had_threads_of_its_own) {
  in_child([this] {
    Interface exporter(options());
    auto segment = std::make_unique<Segment>(exporter, SegmentOptions{.name = "copied", .bytes = 64});
    segment->control_descriptor();
    const pid_t child = ::fork();
    if (child == 0) {
      { Interface one(options()), two(options()); }
      segment.reset();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}
#endif

// As in the paper: requests are ignored then, and an heir goes on with what came before.
TEST_F(Segments, leave_what_came_to_heirs_of_their_descriptors) {
  Actor exporter([&](Line& line) {
    Interface interface(options());
    Segment segment(interface, {.name = "heirs", .bytes = 4096});
    const int control = segment.control_descriptor(), data = segment.data_descriptor();
    EXPECT_EQ(segment.unpin(0, 4096), Status::ok);
    line.put('e');
    if (!readable(control) || !readable(data)) return 1;
    const pid_t heir = ::fork();
    if (heir != 0) {
      ::kill(::getpid(), SIGKILL);
      return 2;
    }
    line.take<char>();  // the exporter has died
    SegmentRecord record;
    std::byte room[4096];
    const bool all = ::read(control, &record, sizeof record) == sizeof record &&
                     record.kind == SegmentRecord::Kind::held &&
                     ::read(data, room, sizeof room) == static_cast<ssize_t>(sizeof(HeldPut)) + 50 &&
                     same(std::span(room).subspan(sizeof(HeldPut), 50), numbers(50)) &&
                     ::read(control, &record, sizeof record) == 0 && ::read(data, room, sizeof room) == 0;
    line.put(all ? 'y' : 'n');
    ::_exit(0);
  });
  ASSERT_TRUE(exporter.line().take<char>());
  Actor importer([&](Line& line) {
    Interface interface(other_options());
    Import import(interface, "heirs");
    if (import.write(0, numbers(50), kPatience) != Status::ok) return 1;
    line.put('w');
    if (!line.take<char>()) return 2;
    for (;;) {  // until it is known here, too
      const Status status = import.write(0, numbers(50), kPatience);
      if (status == Status::link_ended || status == Status::stale || status == Status::refused) return 0;
      if (status != Status::ok && status != Status::connecting) return 10 + static_cast<int>(status);
      import.run();
    }
  });
  ASSERT_TRUE(importer.line().take<char>());
  EXPECT_EQ(exporter.wait(), 128 + SIGKILL);
  importer.line().put('d');
  EXPECT_EQ(importer.wait(), 0);
  exporter.line().put('d');
  EXPECT_EQ(exporter.line().take<char>(), 'y');
}

}  // namespace
}  // namespace hamlyn::test
