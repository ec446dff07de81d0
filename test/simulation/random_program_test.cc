// Many random programs. `hamlyn sim --seed N --verbose` shows one of them.
#include <gtest/gtest.h>

#include "simulation/run.h"

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kSeeds = 300;

TEST(RandomPrograms, keep_every_promise_whatever_goes_wrong) {
  simulation::Counts sum;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const simulation::Result result = simulation::run(seed);
    EXPECT_EQ(result.problem, "") << "to see it again: hamlyn sim --seed " << seed << " --verbose";
    sum.completed += result.counts.completed;
    sum.failed += result.counts.failed;
    sum.cuts += result.counts.cuts;
    sum.deaths += result.counts.deaths;
    sum.stops += result.counts.stops;
    sum.refusals += result.counts.refusals;
  }
  // The programs are worth something: most of what they begin is done, and every fault strikes some of it.
  EXPECT_GT(sum.completed, 20 * kSeeds);
  EXPECT_GT(sum.failed, kSeeds);
  for (const std::uint64_t faults : {sum.cuts, sum.deaths, sum.stops, sum.refusals})
    EXPECT_GT(faults, kSeeds / 10);
}

TEST(RandomPrograms, of_the_same_seed_are_the_same) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::uint64_t digest = simulation::run(seed).digest;
    EXPECT_EQ(simulation::run(seed).digest, digest) << seed;
    EXPECT_EQ(simulation::run(seed, [](std::string_view) {}).digest, digest) << "listening changes nothing";
    EXPECT_NE(simulation::run(seed + 1).digest, digest) << seed;
  }
}

}  // namespace
}  // namespace hamlyn::test
