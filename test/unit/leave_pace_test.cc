// How often a thread that polls leaves its watch to the interface thread.
#include <gtest/gtest.h>

#include "library/wait/leave_pace.h"

namespace hamlyn::test {
namespace {

using library::LeavePace;
using std::chrono::microseconds;

// A thread that asks each `step`, for so long: how often it may.
int leaves(LeavePace& pace, library::Clock::time_point& now, microseconds step, microseconds time) {
  int times = 0;
  for (const auto end = now + time; now < end; now += step) times += pace.leaves(now) ? 1 : 0;
  return times;
}

TEST(LeavePace, lets_a_thread_that_sleeps_in_between_leave_each_time) {
  LeavePace pace;
  library::Clock::time_point now{microseconds{1'000'000}};
  EXPECT_EQ(leaves(pace, now, microseconds{15}, microseconds{15'000}), 1000);
}

TEST(LeavePace, lets_a_thread_that_polls_all_the_time_leave_seldom) {
  LeavePace pace;
  library::Clock::time_point now{microseconds{1'000'000}};
  EXPECT_LE(leaves(pace, now, microseconds{1}, microseconds{100'000}), 516) << "once in 200 us";
}

TEST(LeavePace, lets_a_thread_leave_for_each_of_several_queues_that_it_finds_empty) {
  LeavePace pace;
  library::Clock::time_point now{microseconds{1'000'000}};
  for (int sleep = 0; sleep != 100; ++sleep) {
    EXPECT_EQ(leaves(pace, now, microseconds{1}, microseconds{10}), 10);
    now += microseconds{15};
  }
}

TEST(LeavePace, forgets_that_a_thread_has_polled_once_it_sleeps) {
  LeavePace pace;
  library::Clock::time_point now{microseconds{1'000'000}};
  static_cast<void>(leaves(pace, now, microseconds{1}, microseconds{100'000}));
  now += microseconds{1000};  // that the interface thread took to notice
  EXPECT_EQ(leaves(pace, now, microseconds{15}, microseconds{15'000}), 1000);
}

}  // namespace
}  // namespace hamlyn::test
