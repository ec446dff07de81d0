#include "library/control/control_pace.h"

#include <gtest/gtest.h>

namespace hamlyn::internal_::library {
namespace {

using Time = ControlPace::Time;
constexpr std::uint32_t kOwn = 1000;

// Events of that user, of 1000 that are there, which are served at that time.
unsigned served(ControlPace& pace, std::uint32_t uid, Time now) {
  unsigned count = 0;
  for (int i = 0; i < 1000 && pace.may(uid, now); ++i, ++count) pace.spend(uid, 1);
  return count;
}

TEST(ControlPace, ServesSoManyEventsOfAUserInAMillisecondAndOfAllUsers) {
  ControlPace pace{kOwn};
  const Time start{std::chrono::hours{1}};
  EXPECT_EQ(served(pace, 1, start), ControlPace::kOfUser);
  EXPECT_EQ(served(pace, 2, start), ControlPace::kOfUser) << "another has its own half";
  EXPECT_EQ(served(pace, 3, start), 0u);
  EXPECT_FALSE(pace.may(start));
  EXPECT_EQ(pace.wait(start), ControlPace::kWindow);
  const Time later = start + ControlPace::kWindow;
  EXPECT_EQ(pace.wait(later).count(), 0);
  EXPECT_EQ(served(pace, 3, later), ControlPace::kOfUser);
}

TEST(ControlPace, CountsIntroductionsForMore) {
  ControlPace pace{kOwn};
  const Time now{std::chrono::hours{1}};
  unsigned introductions = 0;
  for (; pace.may(now); ++introductions) pace.spend(1 + introductions, ControlPace::kIntroduction);
  EXPECT_EQ(introductions, ControlPace::kOfAll / ControlPace::kIntroduction);
  EXPECT_FALSE(pace.may(77, now)) << "nor is anything else served";
}

TEST(ControlPace, NeverPutsOffItsOwnUserOrRoot) {
  ControlPace pace{kOwn};
  const Time now{std::chrono::hours{1}};
  served(pace, 1, now);
  served(pace, 2, now);
  for (const std::uint32_t uid : {kOwn, 0u}) EXPECT_EQ(served(pace, uid, now), 1000u);
}

TEST(ControlPace, WaitsForNothingThatWasNotPutOff) {
  ControlPace pace{kOwn};
  const Time now{std::chrono::hours{1}};
  for (unsigned i = 0; i < ControlPace::kOfUser; ++i) pace.spend(1, 1);
  EXPECT_EQ(pace.wait(now).count(), 0);
}

TEST(ControlPace, CountsOfManyUsersEachForItself) {
  ControlPace pace{kOwn};
  const Time now{std::chrono::hours{1}};
  unsigned all = 0;
  for (std::uint32_t uid = 1; uid < 100; ++uid) {
    if (pace.may(uid, now)) pace.spend(uid, 1), ++all;
  }
  EXPECT_EQ(all, ControlPace::kOfAll);
}

}  // namespace
}  // namespace hamlyn::internal_::library
