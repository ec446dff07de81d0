#include <gtest/gtest.h>

#include <stdexcept>

#include "tool/perf/selection.h"

namespace hamlyn::tool::perf {
namespace {

TEST(PerfSelection, EmptyTakesEverything) { EXPECT_TRUE(Selection{""}.takes("limit.cacheline.oneway")); }

TEST(PerfSelection, WholeNamesCount) {
  const Selection selection{"shm.fast"};
  EXPECT_FALSE(selection.takes("shm.fast.16.oneway"));
  EXPECT_TRUE(selection.takes("shm.fast"));
  EXPECT_TRUE(Selection{"shm\\..*"}.takes("shm.fast.16.oneway"));
}

TEST(PerfSelection, EachBranchMustMatchWhole) {
  const Selection selection{"a|b"};
  EXPECT_TRUE(selection.takes("a"));
  EXPECT_TRUE(selection.takes("b"));
  EXPECT_FALSE(selection.takes("ab"));
}

TEST(PerfSelection, BadExpressionsAreNamed) {
  for (const char* bad : {"a(b", "a)(b", "[", "a{2"}) {
    try {
      const Selection selection{bad};
      ADD_FAILURE() << bad << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(bad), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace hamlyn::tool::perf
