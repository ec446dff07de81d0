#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace hamlyn::tool::perf {
namespace {

Judged judged() {
  Judged all{{"a machine", "2026-11-20T17:03:00Z", "0.1.0", {}}, {}, {"ucx"}};
  all.report.figures.push_back({"shm.x.oneway", "ns", {50, 60, 70, 80, 90}, true, 5, {55, 200}});
  all.targets.push_back(
      {{"shm.x.oneway", Target::Relation::at_most, 1.35, "limit.y.oneway", 1.15}, {1.1, 1.4}});
  all.targets.push_back({{"shm.x.oneway", Target::Relation::below, 1, "peer.z.oneway", {}, 0.5}, {}});
  return all;
}

TEST(BenchReport, JsonIsTheReportWithTargetsAndWhatIsAbsent) {
  const auto json = nlohmann::ordered_json::parse(to_json(judged()));
  std::string names;
  for (const auto& [name, value] : json.items()) names += name + " ";
  EXPECT_EQ(names, "machine date version figures targets absent ");
  EXPECT_EQ(json.at("figures").at(0).at("name"), "shm.x.oneway");
  EXPECT_EQ(json.at("absent"), nlohmann::ordered_json::array({"ucx"}));
}

TEST(BenchReport, TargetsSayWhetherTheyAreMet) {
  const auto targets = nlohmann::json::parse(to_json(judged())).at("targets");
  const auto wanted = nlohmann::json{{"figure", "shm.x.oneway"},
                                     {"against", "limit.y.oneway"},
                                     {"relation", "<="},
                                     {"factor", 1.35},
                                     {"far_factor", nullptr},
                                     {"aim", 1.15},
                                     {"ratio", 1.4},
                                     {"met", false},
                                     {"near", 1.1},
                                     {"far", 1.4}};
  EXPECT_EQ(targets.at(0), wanted);
  EXPECT_EQ(targets.at(1).at("far_factor"), 0.5);
  EXPECT_TRUE(targets.at(1).at("ratio").is_null());
  EXPECT_TRUE(targets.at(1).at("met").is_null());
}

TEST(BenchReport, TheTableShowsFiguresRatiosAndWhatIsAbsent) {
  const std::string text = to_text(judged());
  for (const char* part : {"shm.x.oneway", "60.0 ns", "1.10    1.40 <= 1.35 MISSED (aim 1.15)",
                           "not measured (far 0.5)", "absent: ucx"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace hamlyn::tool::perf
