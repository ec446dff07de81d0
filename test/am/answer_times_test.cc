// How long handlers wait for other processes' NICs, by a clock that the test sets.
#include "am/answer_times.h"

#include <gtest/gtest.h>

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using internal_::am::AnswerTimes;
using internal_::am::kAnswerShare;
using internal_::am::kAnswerTime;

class AmAnswerTimes : public testing::Test {
 protected:
  AnswerTimes times;
  AnswerTimes::Time now{1000s};
};

TEST_F(AmAnswerTimes, are_spent_by_who_makes_others_wait_and_by_nobody_else) {
  EXPECT_EQ(times.left(1, now), kAnswerTime);
  times.spend(1, now, 300ms);
  EXPECT_EQ(times.left(1, now), kAnswerTime - 300ms);
  times.spend(1, now, 600ms);
  EXPECT_EQ(times.left(1, now), kAnswerTime - 900ms);
  EXPECT_EQ(times.left(2, now), kAnswerTime);
  times.spend(1, now, 5s);
  EXPECT_EQ(times.left(1, now), 0ns);
}

TEST_F(AmAnswerTimes, come_back_by_and_by) {
  times.spend(1, now, kAnswerTime);
  EXPECT_EQ(times.left(1, now), 0ns);
  now += kAnswerShare * 10ms;
  EXPECT_EQ(times.left(1, now), 10ms);
  now += kAnswerShare * kAnswerTime;
  EXPECT_EQ(times.left(1, now), kAnswerTime);
}

// However it spreads them, whatever pairs it makes.
TEST_F(AmAnswerTimes, give_one_process_a_second_and_a_share_of_the_time_at_most) {
  const AnswerTimes::Time began = now;
  std::chrono::nanoseconds waited{0};
  for (int i = 0; i != 10'000; ++i) {
    const std::chrono::nanoseconds wait =
        std::min<std::chrono::nanoseconds>(times.left(7, now), 1ms * (i % 50));
    now += wait;
    times.spend(7, now, wait);
    waited += wait;
    now += 1ms;
  }
  EXPECT_GE(waited, kAnswerTime);
  EXPECT_LE(waited, kAnswerTime + (now - began) / kAnswerShare);
}

TEST_F(AmAnswerTimes, are_forgotten_when_all_of_them_are_there_again) {
  for (std::uint64_t peer = 0; peer != 1000; ++peer) {
    times.spend(peer, now, 10ms);
    now += 10ms;
  }
  EXPECT_LE(times.size(), kAnswerShare + 1);
}

}  // namespace
}  // namespace hamlyn::test
