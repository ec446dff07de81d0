#include <gtest/gtest.h>

#include <numeric>

#include "tool/perf/statistics.h"

namespace hamlyn::tool::perf {
namespace {

std::vector<double> one_to(int last) {
  std::vector<double> values(static_cast<std::size_t>(last));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(PerfStatistics, MedianOfOddAndEvenNumbers) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 2, 9}), 3);
}

TEST(PerfStatistics, PercentilesAreNearestRanks) {
  const Summary summary = summarize(one_to(1000));
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.median, 500.5);
  EXPECT_EQ(summary.p99, 990);
  EXPECT_EQ(summary.p999, 999);
  EXPECT_EQ(summary.max, 1000);
}

TEST(PerfStatistics, OneMoreSampleMovesTheRankUp) {
  const Summary summary = summarize(one_to(1001));
  EXPECT_EQ(summary.p99, 991);
  EXPECT_EQ(summary.p999, 1000);
}

TEST(PerfStatistics, OneSampleIsEverything) {
  const Summary summary = summarize({7});
  EXPECT_EQ(summary.min, 7);
  EXPECT_EQ(summary.median, 7);
  EXPECT_EQ(summary.p99, 7);
  EXPECT_EQ(summary.p999, 7);
  EXPECT_EQ(summary.max, 7);
}

// A clock that moves in steps of 10: the median lies inside the step, nearer to the side that has more.
TEST(PerfStatistics, MedianInsideAStepOfTheClock) {
  std::vector<double> samples(300, 80);
  samples.insert(samples.end(), 600, 90);
  samples.insert(samples.end(), 100, 100);
  EXPECT_NEAR(median(samples), 85 + 10.0 * (500 - 300) / 600, 1e-9);
}

TEST(PerfStatistics, StepsAtTheEdgeStayAsTheyAre) {
  std::vector<double> samples(900, 80);
  samples.insert(samples.end(), 200, 90);
  EXPECT_EQ(median(samples), 80);
}

}  // namespace
}  // namespace hamlyn::tool::perf
