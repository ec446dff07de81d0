#include "base/assert.h"

#include <gtest/gtest.h>

#include <string>

namespace hamlyn {
namespace {

TEST(Assert, WhatHoldsCostsNothingAndChangesNothing) {
  int looks = 0;
  HAMLYN_ASSERT(++looks != 0, "true of any first look");
#ifdef HAMLYN_ASSERTIONS
  EXPECT_EQ(looks, 1);
#else
  EXPECT_EQ(looks, 0) << "a release build evaluates no condition";
#endif
}

TEST(AssertDeathTest, SaysWhatDoesNotHoldAndWhere) {
  EXPECT_DEATH(base::assertion_failed("standing_ != 0", "queue.h", 12, "somebody has looked"),
               "queue.h:12: assertion failed: standing_ != 0 \\(somebody has looked\\)");
  const std::string long_reason(2000, 'x');
  EXPECT_DEATH(base::assertion_failed("a", "b", 1, long_reason.c_str()), "b:1: assertion failed: a \\(xxx");
}

}  // namespace
}  // namespace hamlyn
