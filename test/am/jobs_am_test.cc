// Programs of Active Messages II, as `hamlyn run` starts them.
#include <gtest/gtest.h>
#include <signal.h>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

#ifdef HAMLYN_AM_PROGRAM
class AmJobs : public testing::TestWithParam<std::string> {
 protected:
  Finished run(const std::string& ranks, const std::string& repeats, Command::Options options = {}) {
    return run_with({"-n", ranks, HAMLYN_AM_PROGRAM, repeats}, std::move(options));
  }
  Finished run_with(std::vector<std::string> words, Command::Options options = {}) {
    options.environment["HAMLYN_AM_WAY"] = GetParam();
    words.insert(words.begin(), "run");
    return world.start(words, options).wait();
  }
  World world;
};
INSTANTIATE_TEST_SUITE_P(Ways, AmJobs, testing::Values("slots", "vi", "vi3"),
                         [](const auto& of) { return of.param; });

TEST_P(AmJobs, run_with_any_number_of_ranks) {
  for (const char* const ranks : {"1", "2", "3", "7"}) {
    const Finished finished = run(ranks, "40");
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, std::string(ranks) + " ranks have passed\n");
  }
}

TEST_P(AmJobs, run_with_one_credit) {
  const Finished finished = run("3", "40", {.environment = {{"HAMLYN_AM_CREDITS", "1"}}});
  EXPECT_EQ(finished.status, 0) << finished.err;
}

TEST_P(AmJobs, say_that_a_setting_is_none) {
  const Finished finished = run("1", "1", {.environment = {{"HAMLYN_AM_CREDITS", "513"}}});
  EXPECT_EQ(finished.status, 1);
  const std::string range = GetParam() == "slots" ? "1 to 512" : "1 to 32 over VIs";
  EXPECT_NE(finished.err.find("HAMLYN_AM_CREDITS is to be " + range + ", and is 513"), std::string::npos)
      << finished.err;
}

TEST_P(AmJobs, give_each_other_their_whole_memory) {
  for (const char* const ranks : {"1", "2", "3", "7"}) {
    const Finished finished = run_with({"-n", ranks, HAMLYN_AM_SPACE});
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, std::string(ranks) + " ranks have passed\n");
  }
}

TEST_P(AmJobs, have_with_more_rights_nothing_to_give) {
  const Finished finished = run_with({"-n", "1", HAMLYN_AM_SPACE, "undumpable"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "refused\n");
}

TEST_P(AmJobs, alone_have_nobody_to_give_their_memory_to) {
  Command::Options options{.environment = world.environment()};
  options.environment["HAMLYN_AM_WAY"] = GetParam();
  const Finished finished = Command({HAMLYN_AM_SPACE, "alone"}, options).wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "refused\n");
}

class AmWays : public testing::Test {
 protected:
  World world;
};

TEST_F(AmWays, that_are_none_are_refused_by_name) {
  const Finished finished =
      world.start({"run", "-n", "1", HAMLYN_AM_PROGRAM, "1"}, {.environment = {{"HAMLYN_AM_WAY", "rdma"}}})
          .wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("HAMLYN_AM_WAY is to be slots, vi or vi3, and is rdma"), std::string::npos)
      << finished.err;
}
#endif

}  // namespace
}  // namespace hamlyn::test
