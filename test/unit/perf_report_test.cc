#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tool/perf/report.h"

namespace hamlyn::tool::perf {
namespace {

Report report() {
  Report all{"a machine", "2026-11-20T17:03:00Z", "0.1.0", {}};
  all.figures.push_back({"limit.cacheline.oneway", "ns", {50, 60, 70, 80, 90}, true, 5, {55, 200}});
  all.figures.push_back({"shm.fast.16.rate", "messages/s", {1e6, 2e6, 0, 0, 3e6}, false, 5, {}});
  return all;
}

TEST(PerfReport, JsonIsOneObjectWithTheAgreedNames) {
  const auto json = nlohmann::json::parse(to_json(report()));
  EXPECT_EQ(json.at("machine"), "a machine");
  EXPECT_EQ(json.at("date"), "2026-11-20T17:03:00Z");
  EXPECT_EQ(json.at("version"), "0.1.0");
  const auto wanted = nlohmann::json{{"name", "limit.cacheline.oneway"},
                                     {"unit", "ns"},
                                     {"min", 50},
                                     {"median", 60},
                                     {"p99", 70},
                                     {"p999", 80},
                                     {"max", 90},
                                     {"runs", 5},
                                     {"near", 55},
                                     {"far", 200}};
  EXPECT_EQ(json.at("figures").at(0), wanted);
}

TEST(PerfReport, RoundsHaveNoPercentiles) {
  const auto figure = nlohmann::json::parse(to_json(report())).at("figures").at(1);
  EXPECT_TRUE(figure.at("p99").is_null());
  EXPECT_TRUE(figure.at("p999").is_null());
  EXPECT_EQ(figure.at("median"), 2e6);
  EXPECT_TRUE(figure.at("near").is_null());
}

TEST(PerfReport, TheTableShowsFigures) {
  const std::string text = to_text(report());
  for (const char* part : {"limit.cacheline.oneway", "60.0 ns", "2.00 million/s"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace hamlyn::tool::perf
