// Split-C programs as their users start them: all of the language, what is refused, deaths, and the examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

class SplitC : public testing::Test {
 protected:
  // Words of the command line that say which way a program goes.
  using Words = std::vector<std::string>;
  static std::vector<Words> ways() { return {{}, {"--guarded"}, {"--over", "vi"}}; }

  Finished run(int ranks, const std::string& program, const Words& words, const Words& way) {
    std::vector<std::string> all{"run", "-n", std::to_string(ranks), program};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), way.begin(), way.end());
    return world.run(all);
  }
  Finished run(int ranks, const Words& words, const Words& way = {}) {
    return run(ranks, HAMLYN_SPLITC_RANK, words, way);
  }
  // Runs that example with 1, 2, 3, 4 and 7 ranks, each way.
  void run_example(const std::string& name, const std::string& size, const std::string& line) {
    const std::string program = HAMLYN_EXAMPLES "/splitc_" + name;
    for (const int ranks : {1, 2, 3, 4, 7})
      for (const Words& way : ways()) {
        SCOPED_TRACE(std::to_string(ranks) + (way.empty() ? " mapped" : " " + way.back()));
        const Finished finished = run(ranks, program, {size}, way);
        EXPECT_EQ(finished.status, 0) << finished.err;
        EXPECT_NE(finished.out.find(line), std::string::npos) << finished.out;
        EXPECT_NE(finished.out.find(std::to_string(ranks) + " ranks "), std::string::npos) << finished.out;
        EXPECT_NE(finished.out.find("speed-up"), std::string::npos) << finished.out;
      }
  }

  World world;
};

TEST_F(SplitC, does_all_of_the_language) {
  for (const int ranks : {1, 2, 3, 7})
    for (const Words& way : ways()) {
      SCOPED_TRACE(ranks);
      const Finished finished = run(ranks, {"all"}, way);
      EXPECT_EQ(finished.status, 0) << finished.err;
      EXPECT_EQ(finished.out, std::to_string(ranks) + " ranks have done it\n");
    }
}

TEST_F(SplitC, refuses_what_cannot_be_and_goes_on) {
  for (const Words& way : ways()) {
    const Finished finished = run(3, {"refusals"}, way);
    EXPECT_EQ(finished.status, 0) << finished.err;
  }
}

TEST_F(SplitC, tells_who_has_died) {
  for (const char* const what : {"barrier", "read", "store", "get", "call", "word", "bulk"})
    for (const Words& way : ways()) {
      SCOPED_TRACE(what);
      const Finished finished = run(3, {"die", what}, way);
      EXPECT_EQ(finished.status, 128 + SIGKILL) << finished.err;
      std::istringstream lines(finished.err);
      int told = 0;
      for (std::string line; std::getline(lines, line);)
        told += line.find("rank 2 has ended with status 137") != std::string::npos;
      EXPECT_EQ(told, 2) << finished.err;
    }
}

TEST_F(SplitC, tells_of_a_rank_that_leaves_early) {
  const Finished finished = run(2, {"leave"});
  EXPECT_NE(finished.err.find("rank 0 is in a barrier, rank 1 in the end of its program"), std::string::npos)
      << finished.err;
}

TEST_F(SplitC, tells_who_disagrees) {
  const Finished finished = run(3, {"disagree"});
  EXPECT_EQ(finished.status, 5);
  EXPECT_NE(finished.err.find("rank 0 is in a barrier, rank 2 in a broadcast of 8 bytes from rank 0"),
            std::string::npos)
      << finished.err;
}

#ifdef HAMLYN_SPLITC_RANK_C
TEST_F(SplitC, has_ranks_in_c) {
  for (const int ranks : {1, 3})
    for (const Words& way : ways()) {
      const Finished finished = run(ranks, HAMLYN_SPLITC_RANK_C, {}, way);
      EXPECT_EQ(finished.status, 0) << finished.err;
      EXPECT_EQ(finished.out, std::to_string(ranks) + " ranks have done it\n");
    }
}
#endif

TEST_F(SplitC, takes_its_options_off_the_command_line) {
  EXPECT_NE(run(1, {"refusals", "--heap", "many"}).err.find("--heap 'many'"), std::string::npos);
  EXPECT_NE(run(1, {"all", "--heap", "64k"}).err.find("of 65536"), std::string::npos);
  EXPECT_EQ(run(1, {"all", "--heap", "2M"}).status, 0);
}

TEST_F(SplitC, goes_over_vi_with_any_credits) {
  for (const char* const credits : {"1", "2", "32"}) {
    const Finished finished = run(3, {"all"}, {"--over", "vi", "--credits", credits});
    EXPECT_EQ(finished.status, 0) << finished.err;
  }
}

TEST_F(SplitC, says_which_ways_there_are) {
  const auto says = [&](const Words& way, const std::string& text) {
    const Finished finished = run(1, {"all"}, way);
    EXPECT_EQ(finished.status, 5);
    EXPECT_NE(finished.err.find(text), std::string::npos) << finished.err;
  };
  says({"--over", "rdma"}, "--over is to be segments or vi, and is 'rdma'");
  says({"--over"}, "--over is to be segments or vi, and is ''");
  says({"--over", "vi", "--credits", "33"}, "--credits is to be 1 to 32, and is '33'");
  says({"--over", "vi", "--credits", "0"}, "--credits is to be 1 to 32, and is '0'");
  says({"--over", "vi", "--credits", "8k"}, "--credits is to be 1 to 32, and is '8k'");
  const Finished named = world
                             .start({"run", "-n", "1", HAMLYN_SPLITC_RANK, "all"},
                                    {.environment = {{"HAMLYN_SPLITC_OVER", "rdma"}}})
                             .wait();
  EXPECT_NE(named.err.find("HAMLYN_SPLITC_OVER is to be segments or vi, and is 'rdma'"), std::string::npos)
      << named.err;
  const Finished counted = world
                               .start({"run", "-n", "1", HAMLYN_SPLITC_RANK, "all"},
                                      {.environment = {{"HAMLYN_SPLITC_CREDITS", "many"}}})
                               .wait();
  EXPECT_NE(counted.err.find("HAMLYN_SPLITC_CREDITS is to be 1 to 32, and is 'many'"), std::string::npos)
      << counted.err;
}

// Rank 1 has another way than the others, or another number of credits: all of them are told.
TEST_F(SplitC, tells_ranks_that_go_other_ways) {
  const auto says = [&](const std::string& variable, const std::string& value, const std::string& text) {
    const std::string change =
        "[ $HAMLYN_RANK = 1 ] && export " + variable + "=" + value + "; exec " + HAMLYN_SPLITC_RANK " all";
    const Finished finished = world.run({"run", "-n", "2", "sh", "-c", change});
    EXPECT_EQ(finished.status, 5);
    EXPECT_NE(finished.err.find(text), std::string::npos) << finished.err;
  };
  says("HAMLYN_SPLITC_OVER", "vi", "rank 1 goes over vi, and this one, 0, over segments");
  says("HAMLYN_SPLITC_OVER", "vi", "rank 0 goes over segments, and this one, 1, over vi");
}

TEST_F(SplitC, runs_em3d) { run_example("em3d", "200", "em3d bulk"); }
TEST_F(SplitC, runs_sample_sort) { run_example("sample_sort", "2000", "sample sort of"); }
TEST_F(SplitC, runs_radix_sort) { run_example("radix_sort", "500", "radix sort of"); }

}  // namespace
}  // namespace hamlyn::test
