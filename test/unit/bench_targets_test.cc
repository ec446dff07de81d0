#include <gtest/gtest.h>

#include "bench/targets.h"

namespace hamlyn::tool::perf {
namespace {

using Relation = Target::Relation;

Figure figure(const std::string& name, double median) {
  return {name, std::string(unit_of(name)), {median, median, median, median, median}, false, 5, {median}};
}

Figure figure(const std::string& name, double near, double far) {
  Figure both = figure(name, near);
  both.median_at(Distance::far) = far;
  return both;
}

const std::vector<Target> kOne = {{"shm.a.oneway", Relation::at_most, 1.35, "limit.b.oneway", 1.15}};

TEST(BenchTargets, TheRatioIsOfMedians) {
  const auto results = compare(kOne, {figure("limit.b.oneway", 100), figure("shm.a.oneway", 120)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_DOUBLE_EQ(results[0].ratio_at(Distance::near).value(), 1.2);
  EXPECT_FALSE(results[0].ratio_at(Distance::far).has_value());
  EXPECT_TRUE(results[0].met());
}

TEST(BenchTargets, AboveTheFactorIsMissed) {
  const auto results = compare(kOne, {figure("limit.b.oneway", 100), figure("shm.a.oneway", 136)});
  EXPECT_FALSE(results.at(0).met());
}

TEST(BenchTargets, WithoutTheOtherFigureThereIsNoRatio) {
  const auto results = compare(kOne, {figure("shm.a.oneway", 136)});
  EXPECT_FALSE(results.at(0).worst().has_value());
  EXPECT_FALSE(results.at(0).met());
}

TEST(BenchTargets, EachDistanceHasItsRatioAndTheWorseOneCounts) {
  const auto results = compare(kOne, {figure("limit.b.oneway", 50, 200), figure("shm.a.oneway", 55, 300)});
  EXPECT_DOUBLE_EQ(results.at(0).ratio_at(Distance::near).value(), 1.1);
  EXPECT_DOUBLE_EQ(results.at(0).ratio_at(Distance::far).value(), 1.5);
  EXPECT_DOUBLE_EQ(results.at(0).worst().value(), 1.5);
  EXPECT_FALSE(results.at(0).met());
  const std::vector<Target> more = {{"shm.a.rate", Relation::at_least, 7, "peer.b.rate", {}}};
  const auto rates = compare(more, {figure("peer.b.rate", 20, 5), figure("shm.a.rate", 60, 40)});
  EXPECT_DOUBLE_EQ(rates.at(0).worst().value(), 3);
}

TEST(BenchTargets, FarMayHaveAFactorOfItsOwn) {
  const std::vector<Target> both = {{"shm.a.oneway", Relation::at_most, 0.7, "peer.b.oneway", {}, 0.5}};
  const auto met = [&](double near, double far) {
    return compare(both, {figure("peer.b.oneway", 100, 100), figure("shm.a.oneway", near, far)})[0].met();
  };
  EXPECT_TRUE(met(70, 50));
  EXPECT_FALSE(met(71, 50));
  EXPECT_FALSE(met(60, 60));
}

TEST(BenchTargets, FiguresOfDifferentDistancesAreNotCompared) {
  Figure far = figure("limit.b.oneway", 200);
  far.median_at(Distance::far) = far.median_at(Distance::near);
  far.median_at(Distance::near).reset();
  const auto results = compare(kOne, {far, figure("shm.a.oneway", 50)});
  EXPECT_FALSE(results.at(0).worst().has_value());
  EXPECT_FALSE(results.at(0).met());
}

TEST(BenchTargets, WithoutOurFigureThereIsNoRow) {
  EXPECT_TRUE(compare(kOne, {figure("limit.b.oneway", 1)}).empty());
}

TEST(BenchTargets, EachRelationAtItsEdge) {
  EXPECT_TRUE(holds(Relation::at_most, 1, 1));
  EXPECT_FALSE(holds(Relation::below, 1, 1));
  EXPECT_TRUE(holds(Relation::below, 0.99, 1));
  EXPECT_TRUE(holds(Relation::at_least, 1, 1));
  EXPECT_FALSE(holds(Relation::at_least, 0.99, 1));
  EXPECT_FALSE(holds(Relation::above, 1, 1));
  EXPECT_TRUE(holds(Relation::above, 1.01, 1));
}

TEST(BenchTargets, EachPointsTheWayThatIsBetter) {
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
