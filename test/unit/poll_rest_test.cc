// How long a polling thread rests: what was fastest is kept, what brings nothing is given up.
#include "fabric/shm/poll_rest.h"

#include <gtest/gtest.h>

#include <functional>

namespace hamlyn::shm {
namespace {

constexpr std::uint64_t kBetween = 1000;  // cycles from message to message

// Messages come, each after `time(rest)` cycles, until the trials are over.
void try_all(PollRest& rest, const std::function<std::uint64_t(const PollRest&)>& time) {
  std::uint64_t now = 1;
  for (int turn = 0; turn < 27; ++turn) {
    rest.next(now);
    now += 32 * time(rest);
    rest.taken(32);
  }
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

TEST(PollRest, keeps_what_was_fastest) {
  PollRest rest;
  EXPECT_EQ(rest.first(), 0u);
  for (const std::uint64_t pauses : {0u, 1u, 2u, 4u, 8u}) {
    // An answer comes soonest to who looks for it first after four tenths of the time.
    try_all(rest, [&](const PollRest& at) {
      const std::uint64_t too_early_or_late = at.first() == 0 ? 50 : distance(at.first(), 400) / 2;
      return kBetween + 10 * distance(at.pauses(), pauses) + too_early_or_late;
    });
    EXPECT_EQ(rest.pauses(), pauses);
    EXPECT_LE(distance(rest.first(), 400), kBetween / 16);
  }
}

TEST(PollRest, finds_the_rest_before_an_answer_to_a_sixteenth) {
  PollRest rest;
  for (const std::uint64_t best : {3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u}) {
    try_all(rest, [&](const PollRest& at) {
      return at.first() == 0 ? kBetween : kBetween / 2 + distance(at.first(), best * kBetween / 16);
    });
    EXPECT_EQ(rest.first(), best * kBetween / 16);
  }
}

TEST(PollRest, does_not_rest_where_that_makes_messages_later) {
  PollRest rest;
  try_all(rest, [](const PollRest& at) { return kBetween + at.first(); });
  EXPECT_EQ(rest.first(), 0u);
}

TEST(PollRest, never_rests_for_long_whatever_the_time_from_message_to_message) {
  PollRest rest;
  try_all(rest, [](const PollRest& at) { return at.first() == 0 ? 100'000'000 : 1'000'000; });
  EXPECT_GT(rest.first(), 0u);
  EXPECT_LE(rest.first(), 4096u);
}

constexpr auto nothing_there = [] { return false; };

TEST(PollRest, gives_up_a_rest_that_brings_nothing) {
  PollRest rest;
  try_all(rest, [](const PollRest& at) { return at.first() == 0 ? kBetween : kBetween / 2; });
  const std::uint64_t first = rest.first();
  ASSERT_GT(first, 0u);
  for (int i = 0; i < 100; ++i) {  // now and then one brings something
    rest.rest_before_answer(nothing_there);
    if (i % 4 == 0) rest.answered();
  }
  EXPECT_EQ(rest.first(), first);
  for (int i = 0; i < 20; ++i) rest.rest_before_answer(nothing_there);
  EXPECT_EQ(rest.first(), 0u);
}

TEST(PollRest, gives_up_a_rest_before_what_is_there_already) {
  PollRest rest;
  try_all(rest, [](const PollRest& at) { return at.first() == 0 ? kBetween : kBetween / 2; });
  ASSERT_GT(rest.first(), 0u);
  std::uint32_t looks = 0;
  const auto answer = [&](auto there) {
    rest.rest_before_answer([&] {
      ++looks;
      return there(looks);
    });
    rest.answered();
  };
  for (int i = 0; i < 160; ++i) answer([](std::uint32_t look) { return look % 4 != 0; });  // held up
  EXPECT_EQ(looks, 10u) << "one of sixteen looks at once";
  EXPECT_GT(rest.first(), 0u);
  for (int i = 0; i < 64; ++i) answer([](std::uint32_t) { return true; });
  EXPECT_EQ(rest.first(), 0u);
}

TEST(PollRest, waits_for_a_row_as_many_looks_as_it_has_packets) {
  PollRest rest;
  std::uint32_t looks = 0;
  EXPECT_TRUE(rest.await_row(16, [&] { return ++looks == 16; }));
  looks = 0;
  EXPECT_FALSE(rest.await_row(16, [&] {
    ++looks;
    return false;
  }));
  EXPECT_EQ(looks, 17u);
}

TEST(PollRest, waits_for_rows_more_rarely_the_longer_none_comes) {
  PollRest rest;
  std::uint32_t waited = 0;
  for (int i = 0; i < 4096; ++i) {
    bool looked = false;
    EXPECT_FALSE(rest.await_row(8, [&] {
      looked = true;
      return false;
    }));
    waited += looked ? 1u : 0u;
  }
  EXPECT_GE(waited, 10u);
  EXPECT_LE(waited, 15u);
  // Once they come they are soon waited for each time again.
  std::uint32_t came = 0;
  for (int i = 0; i < 4096; ++i) came += rest.await_row(8, [] { return true; }) ? 1u : 0u;
  EXPECT_GT(came, 3000u);
}

}  // namespace
}  // namespace hamlyn::shm
