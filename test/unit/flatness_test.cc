#include "test/chaos/flatness.h"

#include <gtest/gtest.h>

namespace hamlyn::test {
namespace {

using chaos::kMostSlower;
using chaos::slower;

TEST(Flatness, is_not_judged_by_few_looks) { EXPECT_EQ(slower({1, 1, 1, 9, 9, 9, 90, 90}), 0); }

TEST(Flatness, compares_the_last_third_with_the_first) {
  EXPECT_EQ(slower({1, 2, 3, 50, 50, 50, 7, 8, 9}), 4);
  EXPECT_EQ(slower({8, 8, 8, 1, 1, 1, 4, 4, 4}), 0.5);
}

TEST(Flatness, forgives_single_slow_looks) { EXPECT_LT(slower({1, 1, 1, 1, 1, 1, 1, 500, 1}), kMostSlower); }

TEST(Flatness, finds_what_grows) {
  std::vector<double> looks;
  for (int i = 0; i < 30; ++i) looks.push_back(100 + 40 * i);
  EXPECT_GT(slower(looks), kMostSlower);
}

TEST(Flatness, says_nothing_where_nothing_was_measured) { EXPECT_EQ(slower(std::vector<double>(9, 0)), 0); }

}  // namespace
}  // namespace hamlyn::test
