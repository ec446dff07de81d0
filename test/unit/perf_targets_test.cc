#include <gtest/gtest.h>

#include "tool/perf/targets.h"

namespace hamlyn::tool::perf {
namespace {

using Relation = Target::Relation;

Figure figure(const std::string& name, double median) {
  return {name, std::string(unit_of(name)), {median, median, median, median, median}, false, 5};
}

const std::vector<Target> kOne = {{"shm.a.oneway", Relation::at_most, 1.35, "limit.b.oneway", 1.15}};

TEST(PerfTargets, TheRatioIsOfMedians) {
  const auto results = compare(kOne, {figure("limit.b.oneway", 100), figure("shm.a.oneway", 120)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_DOUBLE_EQ(results[0].ratio.value(), 1.2);
  EXPECT_TRUE(results[0].met);
}

TEST(PerfTargets, AboveTheFactorIsMissed) {
  const auto results = compare(kOne, {figure("limit.b.oneway", 100), figure("shm.a.oneway", 136)});
  EXPECT_FALSE(results.at(0).met);
}

TEST(PerfTargets, WithoutTheOtherFigureThereIsNoRatio) {
  const auto results = compare(kOne, {figure("shm.a.oneway", 136)});
  EXPECT_FALSE(results.at(0).ratio.has_value());
  EXPECT_FALSE(results.at(0).met);
}

TEST(PerfTargets, WithoutOurFigureThereIsNoRow) {
  EXPECT_TRUE(compare(kOne, {figure("limit.b.oneway", 1)}).empty());
}

TEST(PerfTargets, EachRelationAtItsEdge) {
  EXPECT_TRUE(holds(Relation::at_most, 1, 1));
  EXPECT_FALSE(holds(Relation::below, 1, 1));
  EXPECT_TRUE(holds(Relation::below, 0.99, 1));
  EXPECT_TRUE(holds(Relation::at_least, 1, 1));
  EXPECT_FALSE(holds(Relation::at_least, 0.99, 1));
  EXPECT_FALSE(holds(Relation::above, 1, 1));
  EXPECT_TRUE(holds(Relation::above, 1.01, 1));
}

TEST(PerfTargets, EachPointsTheWayThatIsBetter) {
  for (const Target& target : all_targets()) {
    const bool less = target.relation == Relation::at_most || target.relation == Relation::below;
    EXPECT_EQ(less, smaller_is_better(target.figure)) << target.figure;
    EXPECT_EQ(unit_of(target.figure), unit_of(target.against)) << target.figure;
    if (target.aim) {
      EXPECT_EQ(less, *target.aim < target.factor) << target.figure;
    }
  }
}

}  // namespace
}  // namespace hamlyn::tool::perf
