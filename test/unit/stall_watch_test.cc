// When links are looked at for stalls, and when not at all, on made-up times.
#include "library/control/stall_watch.h"

#include <gtest/gtest.h>

namespace hamlyn::internal_::library {
namespace {

using namespace std::chrono_literals;
using Found = StallClock::Found;

// One link, and whoever sleeps or not; time goes by as the control thread lets it.
struct World {
  // Looks made in that time. While nothing happens, a rest is slept through.
  unsigned looks(std::chrono::milliseconds time) {
    unsigned count = 0;
    for (const auto end = now + time; now < end;) {
      if (watch.due(now)) {
        ++count;
        look();
      }
      const auto pause = watch.pause();
      now = pause ? now + *pause : end;
    }
    return count;
  }
  void look() {
    watch.sees_sleep(sleep);
    found = link.look(pending, progress, stall, now);
    watch.sees(found);
    rested = watch.rest();
  }
  // Somebody has sent or woken.
  bool happens() {
    const bool ended = watch.end_rest(now);
    if (ended) link.start_anew(now);
    return ended;
  }

  StallClock::Time now{1h};
  std::chrono::milliseconds stall = 10s;
  std::uint32_t sleep = 2;
  bool pending = false;
  std::uint64_t progress = 0;
  StallClock link{now};
  StallWatch watch;
  Found found = Found::moves;
  bool rested = false;
};

TEST(StallWatch, looks_at_nothing_while_nothing_happens) {
  World world;
  EXPECT_EQ(world.looks(10s), 2u) << "two, to know that nothing has happened in between";
  EXPECT_EQ(world.looks(24h), 0u);
}

TEST(StallWatch, looks_again_when_something_has_happened) {
  World world;
  EXPECT_FALSE(world.happens()) << "there was no rest";
  world.looks(10s);
  EXPECT_TRUE(world.happens());
  world.sleep += 2;  // awake in between
  EXPECT_EQ(world.looks(499ms), 0u);
  EXPECT_EQ(world.looks(24h), 2u);
}

TEST(StallWatch, does_not_rest_while_anybody_is_awake) {
  World world;
  world.sleep = 0;
  EXPECT_EQ(world.looks(10s), 20u);
  world.sleep = 2;
  EXPECT_EQ(world.looks(10s), 2u);
}

TEST(StallWatch, does_not_rest_while_sleeps_are_short) {
  World world;
  for (int i = 0; i < 20; ++i) {
    world.sleep += 2;
    EXPECT_EQ(world.looks(500ms), 1u) << i;
  }
}

TEST(StallWatch, does_not_rest_while_something_is_pending_or_moves) {
  World world;
  world.pending = true;
  EXPECT_EQ(world.looks(5s), 10u);
  world.pending = false;
  for (int i = 0; i < 20; ++i) {
    ++world.progress;
    EXPECT_EQ(world.looks(500ms), 1u) << i;
  }
  EXPECT_EQ(world.looks(10s), 1u);
}

TEST(StallWatch, does_not_rest_beside_other_work) {
  StallWatch watch;
  for (int i = 0; i < 3; ++i) {
    watch.sees_sleep(2);
    watch.sees(Found::quiet);
    if (i == 1) watch.sees_other_work();
    EXPECT_EQ(watch.rest(), i == 2);
  }
}

TEST(StallWatch, of_several_links_one_that_is_not_quiet_is_enough) {
  StallWatch watch;
  watch.sees_sleep(2);
  watch.sees_sleep(2);
  watch.sees(Found::moves);
  watch.sees(Found::quiet);
  EXPECT_FALSE(watch.rest());
}

TEST(StallWatch, counts_no_rest_as_time_in_which_nothing_was_taken) {
  World world;
  world.looks(24h);
  ASSERT_TRUE(world.happens());
  world.pending = true;
  world.looks(9900ms);
  EXPECT_EQ(world.found, Found::moves);
  world.looks(600ms);
  EXPECT_EQ(world.found, Found::stalled) << "as soon after what was sent as without a rest";
}

// As a container that is frozen, or a group of processes that is stopped: the peer goes on when this one
// does.
TEST(StallWatch, counts_no_time_in_which_its_own_process_was_stopped) {
  World world;
  world.pending = true;
  world.looks(3s);
  world.now += 1h;
  world.looks(500ms);
  EXPECT_EQ(world.found, Found::moves);
  world.looks(5s);
  EXPECT_EQ(world.found, Found::moves);
  world.looks(2s);
  EXPECT_EQ(world.found, Found::stalled) << "what was before and behind counts";
}

TEST(StallClock, finds_what_stands_still) {
  StallClock::Time now{1h};
  StallClock link{now};
  EXPECT_EQ(link.look(true, 0, 1s, now + 999ms), Found::moves);
  EXPECT_EQ(link.look(true, 0, 1s, now + 1s), Found::stalled);
  EXPECT_EQ(link.look(true, 1, 1s, now + 2s), Found::moves) << "something was taken";
  EXPECT_EQ(link.look(true, 1, 1s, now + 2999ms), Found::moves);
  EXPECT_EQ(link.look(true, 1, 1s, now + 3s), Found::stalled);
  EXPECT_EQ(link.look(false, 1, 1s, now + 4s), Found::quiet);
  EXPECT_EQ(link.look(true, 1, 1s, now + 4999ms), Found::moves) << "it is pending since the look before";
}

TEST(StallClock, finds_nothing_without_a_limit_nor_with_an_endless_one) {
  StallClock link{StallClock::Time{}};
  EXPECT_EQ(link.look(true, 0, 0ms, StallClock::Time{24h}), Found::moves);
  EXPECT_EQ(link.look(true, 0, std::chrono::milliseconds::max(), StallClock::Time{48h}), Found::moves);
}

}  // namespace
}  // namespace hamlyn::internal_::library
