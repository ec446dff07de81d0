#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "tool/perf/pair.h"
#include "tool/perf/program.h"

namespace hamlyn::tool::perf {
namespace {

// One processor is enough where nothing is timed.
Cores any_cores() {
  const int first = allowed_processors().at(0);
  return {first, first};
}

TEST(PerfPair, ResultsComeBackFromTheOtherProcess) {
  const auto report = [](Room& room) { room.report(std::vector<double>{1, 2, 3}); };
  EXPECT_EQ(run_pair(any_cores(), {.results = 2}, report, [](Room&) {}), (std::vector<double>{1, 2}));
}

TEST(PerfPair, ASideThatFailsSaysWhyAndEndsTheOther) {
  const auto for_ever = [](Room&) {
    for (;;) pause();
  };
  const auto fails = [](Room&) { throw std::runtime_error("out of paper"); };
  try {
    run_pair(any_cores(), {}, for_ever, fails);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "out of paper");
  }
}

TEST(PerfPair, ASideThatDiesIsAnError) {
  EXPECT_THROW(run_pair(
                   any_cores(), {}, [](Room&) { _exit(0); }, [](Room&) { _exit(3); }),
               std::runtime_error);
}

TEST(PerfProgram, OutputEndsWithTheProgram) {
  Program program{{"sh", "-c", "echo $WORD; echo more >&2"}, {{"WORD", "one"}}};
  EXPECT_EQ(program.output(std::chrono::seconds{30}), "one\nmore\n");
  EXPECT_TRUE(program.process().wait());
}

TEST(PerfProgram, OutputEndsWithTheLineWaitedFor) {
  Program program{{"sh", "-c", "echo first; echo result 7; exec sleep 1000"}, {}};
  EXPECT_EQ(program.output(std::chrono::seconds{30}, "result "), "first\nresult 7\n");
  EXPECT_TRUE(program.process().running());
}

TEST(PerfProgram, AProgramThatIsNotThereFails) {
  Program program{{"/no/such/program"}, {}};
  EXPECT_EQ(program.output(std::chrono::seconds{30}), "");
  EXPECT_FALSE(program.process().wait());
}

// `hamlyn-bench` starts `hamlyn` and `hamlynd` so.
TEST(PerfProgram, AProgramOfOursLiesBesideThisOne) {
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").filename();
  EXPECT_EQ(access(beside(own).c_str(), X_OK), 0) << beside(own);
  EXPECT_NE(access(beside("no_such_program").c_str(), X_OK), 0);
}

}  // namespace
}  // namespace hamlyn::tool::perf
