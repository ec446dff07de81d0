// The program `hamlyn-bench`: that it measures in rounds and judges. What it measures is no matter of tests.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class BenchProgram : public testing::Test {
 protected:
  Finished run(const Words& words, const Command::Options& options = {}) {
    return world_.start_program("hamlyn-bench", words, options).wait(std::chrono::seconds{100});
  }

  World world_;
};

TEST_F(BenchProgram, MeasuresInRoundsAndJudges) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: it needs two processors";
  const std::string only = R"((limit\.fetchadd|shm\.fetchadd\.mapped)\.8\.roundtrip)";
  const Finished finished = run({"--json", "--rounds", "2", "--only", only});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json report = json::parse(finished.out);
  EXPECT_EQ(report.at("figures").size(), 2u);
  for (const json& figure : report.at("figures")) EXPECT_EQ(figure.at("runs"), 2);
  ASSERT_EQ(report.at("targets").size(), 1u);
  EXPECT_EQ(report.at("targets").at(0).at("figure"), "shm.fetchadd.mapped.8.roundtrip");
  EXPECT_EQ(report.at("absent").size(), 0u) << "nobody asked for peers";
}

TEST_F(BenchProgram, ListsWithoutMeasuring) {
  const Finished finished = run({"--list", "--only", "limit\\..*\\.oneway"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(
      finished.out,
      "limit.cacheline.oneway\nlimit.wake.oneway\nlimit.wake.long.oneway\nlimit.wake.computing.oneway\n");
  EXPECT_EQ(run({"--list"}).out, world_.run({"perf", "--list"}).out);
}

TEST_F(BenchProgram, RefusesWhatItCannotFollow) {
  const std::vector<std::pair<Words, std::string>> wrong{
      {{"--only", "shm("}, "regular expression"},
      {{"--only", "shm"}, "--list"},
      {{"--only", ""}, "It is empty"},
      {{"--cores", "0,0"}, "two different processors"},
      {{"--rounds", "0"}, "rounds"},
      {{"--rounds", "1001"}, "rounds"},
      {{"--nodes", "/none"}, "--nodes"},
      {{"perf"}, "perf"},
  };
  for (const auto& [words, reason] : wrong) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.status, 2) << testing::PrintToString(words) << finished.err;
    EXPECT_TRUE(finished.err.starts_with("hamlyn-bench: ")) << finished.err;
    EXPECT_NE(finished.err.find(reason), std::string::npos) << finished.err;
    EXPECT_NE(finished.err.find(" (usage): see 'hamlyn-bench --help'\n"), std::string::npos) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  const json object = json::parse(run({"--json", "--only", "no such figure"}).out);
  EXPECT_EQ(object.at("error").at("command"), "hamlyn-bench");
  EXPECT_EQ(object.at("error").at("status"), 2);
}

TEST_F(BenchProgram, AFigureThatCannotBeMeasuredIsNamed) {
  const Finished finished =
      run({"--rounds", "1", "--nodes", "/none/1,/none/2", "--only", R"(ofi\.segment\.cas\..*)"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_TRUE(finished.err.starts_with("hamlyn-bench: ofi.segment.cas.8.roundtrip: ")) << finished.err;
}

TEST_F(BenchProgram, SaysWhatItTakesAndWhetherThatWasWritten) {
  const Finished help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* const option : {"--only", "--cores", "--rounds", "--nodes", "--peers", "--list", "--json",
                                   "--version", "Exit status"})
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  const base::FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const char* const words : {"--help", "--list", "--version"})
    EXPECT_EQ(run({words}, {.output_fd = full.get()}).status, 1) << words;
}

}  // namespace
}  // namespace hamlyn::test
