// The run lock: one thread at a time, whoever is its owner; none at all in a forked child.
#include "base/run_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace hamlyn::test {
namespace {

using base::RunLock;
using base::RunLockGuard;

TEST(RunLock, is_taken_and_left_again) {
  RunLock lock;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(lock.enter());
    lock.leave();
  }
  EXPECT_FALSE(lock.forked());
}

TEST(RunLock, keeps_others_out_while_somebody_is_inside) {
  RunLock lock;
  ASSERT_TRUE(lock.enter());
  lock.leave();
  // The owner holds it by its mark; another thread can see that only by taking part in the protocol.
  bool entered = false;
  ASSERT_TRUE(lock.enter());
  std::thread other([&] {
    if (!lock.enter_as_other()) return;
    entered = true;
    lock.leave();
  });
  EXPECT_FALSE(entered);
  lock.leave();
  other.join();
  EXPECT_TRUE(entered);
  // And the owner comes in again by its mark.
  ASSERT_TRUE(lock.enter());
  lock.leave();
}

TEST(RunLock, is_not_given_to_one_who_only_tries_while_a_stranger_has_it) {
  RunLock lock;
  ASSERT_TRUE(lock.enter_as_other());
  bool got = true;
  std::thread([&] { got = lock.try_enter_as_other(); }).join();
  EXPECT_FALSE(got);
  lock.leave();
  std::thread([&] {
    got = lock.try_enter_as_other();
    if (got) lock.leave();
  }).join();
  EXPECT_TRUE(got);
}

// The owner, application threads that end its bias, and a thread of the interface's own.
TEST(RunLock, lets_in_one_thread_at_a_time) {
  constexpr int kRounds = 2000;
  for (const int strangers : {0, 1, 3}) {
    RunLock lock;
    std::uint64_t count = 0;  // written by whoever is inside
    const auto work = [&](bool other) {
      for (int i = 0; i < kRounds; ++i) {
        if (!(other ? lock.enter_as_other() : lock.enter())) return;
        ++count;
        lock.leave();
      }
    };
    ASSERT_TRUE(lock.enter());  // this thread is the owner
    lock.leave();
    std::vector<std::thread> threads;
    threads.emplace_back(work, true);
    for (int i = 0; i < strangers; ++i) threads.emplace_back(work, false);
    work(false);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(count, static_cast<std::uint64_t>(kRounds) * static_cast<std::uint64_t>(strangers + 2));
  }
}

TEST(RunLock, answers_no_in_a_forked_child) {
  RunLock lock;
  ASSERT_TRUE(lock.enter());
  lock.leave();
  for (const bool inside : {false, true}) {
    if (inside) {
      ASSERT_TRUE(lock.enter());
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool any = lock.enter() || lock.enter_as_other() || lock.try_enter_as_other() || !lock.forked() ||
                       static_cast<bool>(RunLockGuard(lock));
      _exit(any ? 1 : 0);
    }
    if (inside) lock.leave();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_TRUE(lock.enter()) << "the parent goes on";
  lock.leave();
}

}  // namespace
}  // namespace hamlyn::test
