// Split-C programs as their users start them: all of the language, what is refused, deaths, and the examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

class SplitC : public testing::Test {
 protected:
  Finished run(int ranks, const std::string& program, const std::vector<std::string>& words, bool guarded) {
    std::vector<std::string> all{"run", "-n", std::to_string(ranks), program};
    all.insert(all.end(), words.begin(), words.end());
    if (guarded) all.push_back("--guarded");
    return world.run(all);
  }
  Finished run(int ranks, const std::vector<std::string>& words, bool guarded = false) {
    return run(ranks, HAMLYN_SPLITC_RANK, words, guarded);
  }
  // Runs that example with 1, 2, 3, 4 and 7 ranks, guarded and mapped.
  void run_example(const std::string& name, const std::string& size, const std::string& line) {
    const std::string program = HAMLYN_EXAMPLES "/splitc_" + name;
    for (const int ranks : {1, 2, 3, 4, 7})
      for (const bool guarded : {false, true}) {
        SCOPED_TRACE(std::to_string(ranks) + (guarded ? " guarded" : " mapped"));
        const Finished finished = run(ranks, program, {size}, guarded);
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
    for (const bool guarded : {false, true}) {
      SCOPED_TRACE(ranks);
      const Finished finished = run(ranks, {"all"}, guarded);
      EXPECT_EQ(finished.status, 0) << finished.err;
      EXPECT_EQ(finished.out, std::to_string(ranks) + " ranks have done it\n");
    }
}

TEST_F(SplitC, refuses_what_cannot_be_and_goes_on) {
  for (const bool guarded : {false, true}) {
    const Finished finished = run(3, {"refusals"}, guarded);
    EXPECT_EQ(finished.status, 0) << finished.err;
  }
}

TEST_F(SplitC, tells_who_has_died) {
  for (const char* const what : {"barrier", "read", "store", "get", "call", "word", "bulk"})
    for (const bool guarded : {false, true}) {
      SCOPED_TRACE(what);
      const Finished finished = run(3, {"die", what}, guarded);
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
    for (const bool guarded : {false, true}) {
      const Finished finished = run(ranks, HAMLYN_SPLITC_RANK_C, {}, guarded);
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

TEST_F(SplitC, runs_em3d) { run_example("em3d", "200", "em3d bulk"); }
TEST_F(SplitC, runs_sample_sort) { run_example("sample_sort", "2000", "sample sort of"); }
TEST_F(SplitC, runs_radix_sort) { run_example("radix_sort", "500", "radix sort of"); }

}  // namespace
}  // namespace hamlyn::test
