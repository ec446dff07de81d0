// How links, waits and interfaces end: by death, in time, when they are cancelled, in a forked child.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <thread>

#include "base/run_lock.h"
#include "library/wait/futex.h"
#include "library/wait/own_thread.h"
#include "test/process/library.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Library, WhatArrivedWholeIsDeliveredBeforeDeathIsTold) {
  Actor from = sender([&](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < 40; ++i) {
      if (!send_word(terminus, ticket, i)) return 1;
    }
    line.put('.');
    ::raise(SIGKILL);
    return 2;
  });
  in_child([&] {
    ReceivingEnd to(options());
    from.line().put(to.slot.ticket());
    ASSERT_TRUE(from.line().take<char>());
    for (std::uint64_t i = 0; i < 40; ++i) {
      Notification arrival;
      ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
      EXPECT_EQ(arrival.kind, Notification::Kind::message);
      EXPECT_EQ(arrival.word, i);
    }
    Notification end;
    ASSERT_EQ(to.queue.receive(end, kPatience), Status::ok);
    EXPECT_EQ(end.kind, Notification::Kind::link_ended);
  });
  EXPECT_EQ(from.wait(), 128 + SIGKILL);
}

TEST_F(Library, WaitsEndInTimeOrWhenCancelled) {
  in_child([&] {
    ReceivingEnd to(options());
    Terminus terminus(to.interface);
    Notification arrival;
    EXPECT_EQ(to.queue.receive(arrival, 20ms), Status::timed_out);
    EXPECT_FALSE(to.queue.poll());
    Ticket nobody = to.slot.ticket();
    nobody.interface += 1000;
    EXPECT_EQ(terminus.connect(nobody, kPatience), Status::link_ended);
    EXPECT_THROW(static_cast<void>(to.interface.lookup("nobody")), Error);
    try {
      static_cast<void>(to.interface.lookup("nobody", 20ms));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timed_out);
    }
    for (int i = 0; i < 20; ++i) {
      std::atomic<bool> over{false};
      std::thread canceller([&] {
        while (!over.load()) {
          to.interface.cancel();
          std::this_thread::yield();
        }
      });
      EXPECT_EQ(to.queue.receive(arrival, kPatience), Status::cancelled);
      try {
        static_cast<void>(to.interface.lookup("nobody", kPatience));
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::cancelled);
      }
      over = true;
      canceller.join();
    }
  });
}

// What is longer than the clock can hold is for ever, and not over at once.
TEST_F(Library, TimesBeyondTheClockAreForEver) {
  in_child([&] {
    Interface::Options patient = options();
    patient.timeout = patient.stall = patient.dead = std::chrono::milliseconds::max();
    Interface interface(patient);
    std::atomic<bool> over{false};
    std::thread canceller([&] {
      while (!over.load()) {
        interface.cancel();
        std::this_thread::yield();
      }
    });
    try {
      static_cast<void>(interface.lookup("nobody", std::chrono::milliseconds::max()));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    }
    over = true;
    canceller.join();
    try {
      static_cast<void>(interface.lookup("nobody", std::chrono::milliseconds::min()));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::name_unknown) << "as without a time: " << error.what();
    }
    Interface::Options wrong = options();
    wrong.stall = -1ms;
    refused([&] { Interface{wrong}; });
    wrong = options();
    wrong.dead = -1ms;
    refused([&] { Interface{wrong}; });
    for (const std::chrono::microseconds spin : {-1us, 1'000'001us}) {
      wrong = options();
      wrong.spin = spin;
      refused([&] { Interface{wrong}; });
    }
  });
}

TEST_F(Library, AForkedChildHasNoInterface) {
  in_child([&] {
    ReceivingEnd to(options());
    Terminus terminus(to.interface);
    const pid_t child = ::fork();
    if (child == 0) {
      Notification arrival;
      bool right = to.queue.receive(arrival, 1s) == Status::forked && !to.queue.poll() &&
                   !to.interface.run() && terminus.send(Ticket{}, {}) == Status::forked &&
                   to.slot.arm(0) == Status::forked && terminus.wait({}, 1s) == Status::forked;
      try {
        static_cast<void>(to.slot.ticket());
        right = false;
      } catch (const Error& error) {
        right &= error.code() == ErrorCode::forked;
      }
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NO_THROW(static_cast<void>(to.slot.ticket())) << "the parent's is as it was";
  });
}

constexpr int kNoNamespaces = 77;

// Also of a child that has the number of its parent: each is the first in a namespace of its own.
TEST(Task, IsItsStartersAndNoChilds) {
  Child starter(-1, [] {
    if (::unshare(CLONE_NEWPID) != 0) return kNoNamespaces;
    Child first(-1, [] {
      const base::RunLock lock;
      std::atomic<std::uint32_t> stop{0};
      auto task = library::start_task(lock, "a-task", [&] {
        while (stop.load() == 0) library::futex_sleep(library::Watched{}, stop, 0, std::nullopt);
      });
      const auto child = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0));
      if (child == 0) {
        task.reset();
        ::_exit(::getpid() == 1 ? 0 : 1);
      }
      int status = -1;
      const bool ended = eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; });
      if (!ended) ::kill(child, SIGKILL);
      stop = 1;
      library::futex_wake(stop);
      return ended && status == 0 ? 0 : 2;
    });
    return first.wait();
  });
  const int status = starter.wait();
  if (status == kNoNamespaces) GTEST_SKIP() << "no namespaces can be made";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hamlyn::test
