// How long a waiting thread spins before it sleeps.
#include <gtest/gtest.h>

#include "library/wait/spin_time.h"

namespace hamlyn::test {
namespace {

using library::SpinTime;
using std::chrono::microseconds;

TEST(SpinTime, is_that_of_a_wake_up_unless_more_is_asked_for) {
  for (const int most : {0, 1, 8}) {
    SpinTime time(library::kSpin, microseconds{most}, library::kSpin, SpinTime::Drop::to_least);
    for (const int came : {1, 10, 1000}) {
      time.came_after(microseconds{came});
      EXPECT_EQ(time.now(), library::kSpin);
    }
  }
}

TEST(SpinTime, grows_while_what_is_waited_for_comes_in_that_time) {
  SpinTime time(library::kSpin, microseconds{200}, library::kSpin, SpinTime::Drop::to_least);
  EXPECT_EQ(time.now(), library::kSpin) << "nothing has come yet";
  time.came_after(microseconds{100});
  EXPECT_EQ(time.now(), microseconds{200});
  time.came_after(microseconds{201});
  EXPECT_EQ(time.now(), library::kSpin) << "it would have been spun in vain";
  time.came_after(microseconds{100});
  time.in_vain();
  EXPECT_EQ(time.now(), library::kSpin);
}

TEST(SpinTime, shrinks_by_half_where_it_is_to) {
  SpinTime time(microseconds{2}, microseconds{100}, microseconds{25}, SpinTime::Drop::to_half);
  time.in_vain();
  EXPECT_EQ(time.now(), std::chrono::nanoseconds{12'500});
  for (int i = 0; i < 10; ++i) time.in_vain();
  EXPECT_EQ(time.now(), microseconds{2});
  time.came_after(microseconds{100});
  EXPECT_EQ(time.now(), microseconds{100});
  time.came_after(microseconds{101});
  EXPECT_EQ(time.now(), microseconds{50});
}

}  // namespace
}  // namespace hamlyn::test
