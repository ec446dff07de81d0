#include <gtest/gtest.h>

#include <stdexcept>

#include "tool/perf/rounds.h"

namespace hamlyn::tool::perf {
namespace {

constexpr Cores kAny{0, 1};

void nothing(int, const std::string&) {}

TEST(PerfRounds, MetersAlternate) {
  std::string order;
  const auto meter = [&](const std::string& name) {
    return Meter{.name = name, .round = [&order, name](Cores, int) {
                   order += name[0];
                   return std::vector<double>{1};
                 }};
  };
  const Outcome outcome = run_rounds({meter("a.oneway"), meter("b.oneway")}, kAny, 3, nothing);
  EXPECT_EQ(order, "ababab");
  ASSERT_EQ(outcome.figures.size(), 2u);
  EXPECT_EQ(outcome.figures[0].runs, 3);
}

TEST(PerfRounds, TheBestStyleIsTheFigure) {
  const auto round = [](Cores, int style) { return std::vector<double>{style == 2 ? 5.0 : 9.0}; };
  const Outcome outcome = run_rounds({{.name = "a.oneway", .round = round, .styles = 4},
                                      {.name = "a.bandwidth", .round = round, .styles = 4}},
                                     kAny, 2, nothing);
  EXPECT_EQ(outcome.figures.at(0).summary.median, 5);
  EXPECT_EQ(outcome.figures.at(1).summary.median, 9);
}

TEST(PerfRounds, AFigureThatFailsIsNamedAndNotTriedAgain) {
  int tries = 0;
  const auto fails = [&](Cores, int) -> std::vector<double> {
    ++tries;
    throw std::runtime_error("no luck");
  };
  const auto works = [](Cores, int) { return std::vector<double>{1}; };
  const Outcome outcome = run_rounds(
      {{.name = "bad.oneway", .round = fails}, {.name = "good.oneway", .round = works}}, kAny, 3, nothing);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(outcome.failures, std::vector<std::string>{"bad.oneway: no luck"});
  ASSERT_EQ(outcome.figures.size(), 1u);
  EXPECT_EQ(outcome.figures[0].name, "good.oneway");
}

}  // namespace
}  // namespace hamlyn::tool::perf
