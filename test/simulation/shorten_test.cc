// A run that fails is made short, and the short one fails in the same way. The fault is planted: somebody who
// watches objects to what honest runs do.
#include "test/simulation/books/shorten.h"

#include <gtest/gtest.h>

namespace hamlyn::test {
namespace {

using simulation::Program;
using simulation::Result;

Program objecting() {
  return {1, {}, [](const simulation::Counts& counts) {
            if (counts.cuts != 0 && counts.stops != 0 && counts.operations >= 3)
              throw simulation::Violation("planted");
          }};
}

TEST(Shortening, leaves_what_the_failure_needs) {
  Program program = objecting();
  Result failed = simulation::run(program);
  for (; failed.good() && program.seed != 100; failed = simulation::run(program)) ++program.seed;
  ASSERT_EQ(failed.problem, "planted");
  const simulation::Shortened least =
      simulation::shorten(program, failed, [](const Program& each) { return simulation::run(each); });
  EXPECT_TRUE(least.least);
  EXPECT_LT(least.steps.size(), 20u) << "of " << failed.steps.size();
  EXPECT_GE(least.steps.size(), 4u);
  program.only = least.steps;
  EXPECT_EQ(simulation::run(program).problem, "planted");
  EXPECT_EQ(simulation::run(program).digest, simulation::run(program).digest);
  for (std::size_t i = 0; i != least.steps.size(); ++i) {
    program.only->erase(program.only->begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(simulation::run(program).problem, "") << "without step " << least.steps[i];
    program.only = least.steps;
  }
}

TEST(Shortening, steps_are_written_as_they_are_read) {
  for (const char* const text : {"0", "3,17-20,44", "1999", "2000-2003,100004,999999"}) {
    const auto steps = simulation::parse_steps(text);
    ASSERT_TRUE(steps) << text;
    EXPECT_EQ(simulation::to_text(*steps), text);
  }
  for (const char* const text :
       {"", ",", "x", "1000000", "3-", "1999-2000", "3,2000", "3-2", "3,3", "4,3", "1,", "-1"})
    EXPECT_FALSE(simulation::parse_steps(text)) << text;
}

}  // namespace
}  // namespace hamlyn::test
