// Programs of Active Messages II, as `hamlyn run` starts them.
#include <gtest/gtest.h>
#include <signal.h>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

#ifdef HAMLYN_AM_PROGRAM
class AmJobs : public testing::Test {
 protected:
  Finished run(const std::string& ranks, const std::string& repeats, Command::Options options = {}) {
    return world.start({"run", "-n", ranks, HAMLYN_AM_PROGRAM, repeats}, options).wait();
  }
  World world;
};

TEST_F(AmJobs, run_with_any_number_of_ranks) {
  for (const char* const ranks : {"1", "2", "3", "7"}) {
    const Finished finished = run(ranks, "40");
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, std::string(ranks) + " ranks have passed\n");
  }
}

TEST_F(AmJobs, run_with_one_credit) {
  const Finished finished = run("3", "40", {.environment = {{"HAMLYN_AM_CREDITS", "1"}}});
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_F(AmJobs, say_that_a_setting_is_none) {
  const Finished finished = run("1", "1", {.environment = {{"HAMLYN_AM_CREDITS", "513"}}});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("HAMLYN_AM_CREDITS is to be 1 to 512, and is 513"), std::string::npos)
      << finished.err;
}
#endif

}  // namespace
}  // namespace hamlyn::test
