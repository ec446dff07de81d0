// How long a waiting thread spins before it sleeps.
#include <gtest/gtest.h>

#include "library/wait/spin_time.h"

namespace hamlyn::test {
namespace {

using library::SpinTime;
using std::chrono::microseconds;

TEST(SpinTime, is_that_of_a_wake_up_unless_more_is_asked_for) {
  for (const int most : {0, 1, 8}) {
    SpinTime time{microseconds{most}};
    for (const int came : {1, 10, 1000}) {
      time.came_after(microseconds{came});
      EXPECT_EQ(time.now(), library::kSpin);
    }
  }
}

TEST(SpinTime, grows_while_what_is_waited_for_comes_in_that_time) {
  SpinTime time{microseconds{200}};
  EXPECT_EQ(time.now(), library::kSpin) << "nothing has come yet";
  time.came_after(microseconds{100});
  EXPECT_EQ(time.now(), microseconds{200});
  time.came_after(microseconds{201});
  EXPECT_EQ(time.now(), library::kSpin) << "it would have been spun in vain";
  time.came_after(microseconds{100});
  time.in_vain();
  EXPECT_EQ(time.now(), library::kSpin);
}

}  // namespace
}  // namespace hamlyn::test
