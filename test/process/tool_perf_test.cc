// `hamlyn perf`: that it measures, through a node of its own. What it measures is no matter of tests.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "test/process/tool_world.h"
#include "test/support/two_nodes.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;

TEST(ToolPerf, MeasuresWhatIsAskedFor) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: perf needs two processors";
  World world;
  const std::string only =
      R"(limit\.copy\..*|shm\.fast\.16\.rate|shm\.message\.(64\.oneway|touched\.65536\.bandwidth))";
  // Processes that poll get on slowly where many others want the same two processors.
  const Finished finished = world.start({"perf", "--json", "--only", only}).wait(std::chrono::seconds{100});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json report = json::parse(finished.out);
  std::set<std::string> names;
  for (const json& figure : report.at("figures")) {
    names.insert(figure.at("name"));
    EXPECT_GT(figure.at("median"), 0);
    EXPECT_LE(figure.at("min"), figure.at("median"));
    EXPECT_LE(figure.at("median"), figure.at("max"));
    EXPECT_EQ(figure.at("runs"), 1);
  }
  const std::set<std::string> wanted{"limit.copy.65536.bandwidth", "shm.fast.16.rate",
                                     "shm.message.64.oneway", "shm.message.touched.65536.bandwidth"};
  EXPECT_EQ(names, wanted);
  EXPECT_TRUE(eventually([&] { return world.attached() == 0; })) << "somebody is still attached";
}

TEST(ToolPerf, MeasuresBetweenNodesThatAreNamed) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: perf needs two processors";
  World world;
  const TwoNodes nodes;
  const std::string sockets = nodes.at(1).node + "," + nodes.at(2).node;
  const auto measure = [&](const std::string& which, const std::string& only) {
    return world.start({"perf", "--json", "--nodes", which, "--only", only}).wait(std::chrono::seconds{100});
  };
  const Finished finished =
      measure(sockets, R"(ofi\.((segment\.cas|splitc\.read)\.8\.roundtrip|am\.short\.16\.oneway))");
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json figures = json::parse(finished.out).at("figures");
  EXPECT_EQ(figures.size(), 3u);
  for (const json& figure : figures) EXPECT_GT(figure.at("median"), 0) << figure.at("name");
  const Finished names = measure(sockets, R"(ofi\.names\.export)");
  EXPECT_EQ(names.status, 1);
  EXPECT_NE(names.err.find("between nodes of perf's own"), std::string::npos) << names.err;
  const Finished none = measure("/none/1,/none/2", R"(ofi\.segment\.cas\.8\.roundtrip)");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("no node at /none/"), std::string::npos) << none.err;
}

TEST(ToolPerf, ListsWithoutMeasuring) {
  World world;
  const Finished finished = world.run({"perf", "--list", "--only", "limit\\..*\\.oneway"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(
      finished.out,
      "limit.cacheline.oneway\nlimit.wake.oneway\nlimit.wake.long.oneway\nlimit.wake.computing.oneway\n");
}

TEST(ToolPerf, RefusesWhatItCannotFollow) {
  World world;
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"perf", "--only", "shm("}, "regular expression"},
      {{"perf", "--only", "shm"}, "--list"},
      {{"perf", "--cores", "0,0"}, "two different processors"},
      {{"perf", "--cores", "0,100000"}, "100000"},
      {{"perf", "--rounds", "1"}, "rounds"},  // of hamlyn-bench
  };
  for (const auto& [words, reason] : wrong) expect_usage(world, words, reason);
}

}  // namespace
}  // namespace hamlyn::test
