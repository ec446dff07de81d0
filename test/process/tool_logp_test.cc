// `hamlyn logp`: that it measures, and says what it has measured. How long things take is no matter of tests.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "test/process/tool_world.h"

namespace hamlyn::test {
namespace {

using nlohmann::json;

// A machine that is disturbed all the time gives no parameters, and the command says so, or takes too long.
std::optional<json> measured(World& world, const std::vector<std::string>& words) {
  const Finished finished = world.start(words).wait(std::chrono::seconds{100});
  if (finished.status == 0) return json::parse(finished.out);
  if (finished.status == 128 + SIGKILL) return std::nullopt;
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.err.find("hamlyn logp: " + words[2] + ": "), std::string::npos) << finished.err;
  return std::nullopt;
}

void expect_parameters(const json& layer) {
  for (const char* const name : {"Os", "Or", "g", "half_round_trip"}) {
    EXPECT_TRUE(std::isfinite(layer.at(name).get<double>())) << name;
    EXPECT_GT(layer.at(name), 0) << name;
  }
  // L is what is left of half a round trip: nothing, or less, where sending goes on while the message is on
  // its way.
  EXPECT_NEAR(
      layer.at("L").get<double>(),
      layer.at("half_round_trip").get<double>() - layer.at("Os").get<double>() - layer.at("Or").get<double>(),
      1e-6);
  EXPECT_TRUE(layer.at("distance").is_null() || layer.at("distance") == "near" ||
              layer.at("distance") == "far");
}

TEST(ToolLogp, MeasuresALayer) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: logp needs two processors";
  World world;
  const std::optional<json> found = measured(world, {"logp", "--layer", "fast", "--json"});
  if (!found) GTEST_SKIP() << "SKIPPED: the machine is disturbed all the time";
  const json& report = *found;
  ASSERT_EQ(report.at("layers").size(), 1u);
  const json& layer = report.at("layers").at(0);
  EXPECT_EQ(layer.at("layer"), "fast");
  expect_parameters(layer);
  ASSERT_EQ(layer.at("signature").size(), 4u);  // without computation, and three longer and longer ones
  EXPECT_EQ(layer.at("signature").at(0).at("delay"), 0);
  EXPECT_EQ(layer.at("signature").at(0).at("bursts").at(6).at("length"), 64);
  EXPECT_EQ(report.at("paper").at("rows").at(2).at("half_round_trip"), 35.6);
  EXPECT_TRUE(eventually([&] { return world.attached() == 0; })) << "somebody is still attached";
}

class ToolLogpOfALayer : public testing::TestWithParam<std::string> {};

TEST_P(ToolLogpOfALayer, MeasuresWithFewCredits) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: logp needs two processors";
  World world;
  const std::string& layer = GetParam();
  std::vector<std::string> words{"logp", "--layer", layer, "--json"};
  const bool credits = layer.starts_with("am") || layer.ends_with("vi");
  if (credits) words.insert(words.end(), {"--k", "2"});
  const std::optional<json> report = measured(world, words);
  if (!report) GTEST_SKIP() << "SKIPPED: the machine is disturbed all the time";
  const json& found = report->at("layers").at(0);
  EXPECT_EQ(found.at("layer"), layer);
  EXPECT_EQ(found.at("under_way"), credits ? 2 : 64);
  expect_parameters(found);
}

INSTANTIATE_TEST_SUITE_P(layer, ToolLogpOfALayer,
                         testing::Values("am", "vi", "segments", "splitc", "splitc.vi", "am.vi", "am.vi3"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// One of each kind of measurement but figure 5, which takes minutes. What it is of must be there; how long it
// took is no matter of tests.
class ToolLogpTables : public testing::TestWithParam<std::pair<std::string, std::size_t>> {};

TEST_P(ToolLogpTables, StandBesideThePapers) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: logp needs two processors";
  World world;
  const auto& [which, tables] = GetParam();
  const Finished finished =
      world.start({"logp", "--tables=" + which, "--rounds", "1", "--json"}).wait(std::chrono::seconds{280});
  ASSERT_EQ(finished.status, 0) << finished.err;
  const json report = json::parse(finished.out);
  ASSERT_EQ(report.at("tables").size(), tables);
  EXPECT_GT(report.at("ns_per_cycle"), 0);
  for (const json& table : report.at("tables")) {
    EXPECT_EQ(table.at("table"), which);
    for (const json& row : table.at("rows"))
      EXPECT_EQ(row.at("cells").size(), table.at("columns").size()) << row.dump();
  }
  for (const json& figure : report.at("figures"))
    EXPECT_TRUE(std::isfinite(figure.at("median").get<double>())) << figure.at("name");
  EXPECT_TRUE(eventually([&] { return world.attached() == 0; })) << "somebody is still attached";
}

INSTANTIATE_TEST_SUITE_P(which, ToolLogpTables,
                         testing::Values(std::pair{"1", 1}, std::pair{"3", 2}, std::pair{"4", 1},
                                         std::pair{"5", 1}, std::pair{"figure2", 1}),
                         [](const auto& each) { return each.param.first; });

TEST(ToolLogp, PrintsATableForPeople) {
  if (!two_processors()) GTEST_SKIP() << "SKIPPED: logp needs two processors";
  World world;
  const Finished finished =
      world.start({"logp", "--tables=4,1", "--rounds", "1"}).wait(std::chrono::seconds{100});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_LT(finished.out.find("table 4: "), finished.out.find("table 1: "));
  EXPECT_NE(finished.out.find("Giganet cLan"), std::string::npos) << finished.out;
}

TEST(ToolLogp, RefusesWhatItCannotFollow) {
  World world;
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"logp", "--layer", "tcp"},
       "--layer: tcp is none of fast, am, segments, splitc, vi, splitc.vi, am.vi, am.vi3"},
      {{"logp", "--layer", "vi3"}, "vi3 is none of fast, am, segments, splitc, vi, splitc.vi, am.vi, am.vi3"},
      {{"logp", "--layer", ""}, "--layer"},
      {{"logp", "--k", "0"}, "--k: Value 0 not in range 1 to 512"},
      {{"logp", "--k", "100000"}, "--k: Value 100000 not in range 1 to 512"},
      {{"logp", "--k", "many"}, "--k"},
      {{"logp", "--layer", "fast", "--k", "4"}, "--k: the layer fast has no credits"},
      {{"logp", "--layer", "vi", "--k", "256"}, "--k: the layer vi has at most 255 requests under way"},
      {{"logp", "--layer", "am.vi3", "--k", "33"}, "--k: the layer am.vi3 has at most 32 requests under way"},
      {{"logp", "--tables=2"}, "--tables: 2 is none of all, 1, 3, 4, 5, figure2, figure5"},
      {{"logp", "--tables=1,,3"}, "--tables:  is none of all"},
      {{"logp", "--tables", "--layer", "am"}, "--tables: without --layer, --k, --peers and --between-nodes"},
      {{"logp", "--tables", "--between-nodes"}, "--tables: without --layer"},
      {{"logp", "--peers", "2"}, "--peers: with --layer am, am.vi or am.vi3"},
      {{"logp", "--layer", "fast", "--peers", "2"}, "--peers: with --layer am, am.vi or am.vi3"},
      {{"logp", "--layer", "am", "--peers", "1001"}, "--peers: Value 1001 not in range 1 to 1000"},
      {{"logp", "--rounds", "2"}, "--rounds: only with --tables"},
      {{"logp", "--tables", "--rounds", "0"}, "--rounds: Value 0 not in range 1 to 1000"},
      {{"logp", "--cores", "0,0"}, "two different processors"},
  };
  for (const auto& [words, reason] : wrong) expect_usage(world, words, reason);
}

}  // namespace
}  // namespace hamlyn::test
