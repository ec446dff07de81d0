#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "tool/perf/rounds.h"

namespace hamlyn::tool::perf {
namespace {

constexpr Cores kAny{0, 1};

void nothing(int, const std::string&) {}
double near(Cores) { return 60; }

TEST(PerfRounds, MetersAlternate) {
  std::string order;
  const auto meter = [&](const std::string& name) {
    return Meter{.name = name, .round = [&order, name](Cores, int) {
                   order += name[0];
                   return std::vector<double>{1};
                 }};
  };
  const Outcome outcome = run_rounds({meter("a.oneway"), meter("b.oneway")}, kAny, 3, near, nothing);
  EXPECT_EQ(order, "ababab");
  ASSERT_EQ(outcome.figures.size(), 2u);
  EXPECT_EQ(outcome.figures[0].runs, 3);
}

TEST(PerfRounds, TheBestStyleIsTheFigure) {
  const auto round = [](Cores, int style) { return std::vector<double>{style == 2 ? 5.0 : 9.0}; };
  const Outcome outcome = run_rounds({{.name = "a.oneway", .round = round, .styles = 4},
                                      {.name = "a.bandwidth", .round = round, .styles = 4}},
                                     kAny, 2, near, nothing);
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
  const Outcome outcome =
      run_rounds({{.name = "bad.oneway", .round = fails}, {.name = "good.oneway", .round = works}}, kAny, 3,
                 near, nothing);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(outcome.failures, std::vector<std::string>{"bad.oneway: no luck"});
  ASSERT_EQ(outcome.figures.size(), 1u);
  EXPECT_EQ(outcome.figures[0].name, "good.oneway");
}

// A machine whose processors are as far apart as the list says, one reading after the other.
struct Machine {
  std::vector<double> readings;
  std::size_t next = 0;

  double operator()(Cores) { return readings.at(next++); }
};

// 1, 2, 3 ... in the order in which it is measured.
struct Counting {
  double last = 0;

  std::vector<double> operator()(Cores, int) { return {++last}; }
};

Figure only(Machine machine, int rounds) {
  Counting counting;
  const Outcome outcome = run_rounds({{.name = "a.oneway", .round = std::ref(counting)}}, kAny, rounds,
                                     std::ref(machine), nothing);
  EXPECT_EQ(machine.next, machine.readings.size());
  return outcome.figures.at(0);
}

TEST(PerfRounds, TheMediansOfEachDistanceAreOfItsRoundsAlone) {
  const Figure figure = only({{60, 70, 60, 80}}, 3);
  EXPECT_EQ(figure.median_at(Distance::near), 2);
  EXPECT_FALSE(figure.median_at(Distance::far));
  // The second measurement met a change and was taken again: 1 near, 3 far, 4 far.
  const Figure both = only({{60, 60, 280, 290, 270}}, 3);
  EXPECT_EQ(both.median_at(Distance::near), 1);
  EXPECT_EQ(both.median_at(Distance::far), 3.5);
  EXPECT_EQ(both.summary.median, 3);
}

TEST(PerfRounds, WhatMeetsAChangeEachTimeIsOfNoDistance) {
  const Figure figure = only({{60, 280, 60, 280}}, 1);
  EXPECT_EQ(figure.summary.median, 3);  // the third try
  EXPECT_FALSE(figure.median_at(Distance::near));
  EXPECT_FALSE(figure.median_at(Distance::far));
}

TEST(PerfRounds, TheBestStyleIsFoundAtEachDistance) {
  Machine machine{{60, 60, 60, 280, 280, 280}};
  // Two rounds of two styles; the change is met by the first style of the second round, which is taken again.
  const std::vector<double> values{5, 9, 0, 90, 50};
  std::size_t at = 0;
  const auto round = [&](Cores, int) { return std::vector<double>{values.at(at++)}; };
  const Outcome outcome =
      run_rounds({{.name = "a.oneway", .round = round, .styles = 2}}, kAny, 2, std::ref(machine), nothing);
  EXPECT_EQ(outcome.figures.at(0).median_at(Distance::near), 5);
  EXPECT_EQ(outcome.figures.at(0).median_at(Distance::far), 50);
}

TEST(PerfDistance, IsOfNoStateWhenItChanged) {
  EXPECT_EQ(distance_between(60, 70), Distance::near);
  EXPECT_EQ(distance_between(190, 300), Distance::far);
  EXPECT_FALSE(distance_between(60, 300).has_value());
  EXPECT_FALSE(distance_between(300, 60).has_value());
}

}  // namespace
}  // namespace hamlyn::tool::perf
