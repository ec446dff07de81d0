// Many random programs. `hamlyn-sim --seed N --verbose` shows one of them.
#include <gtest/gtest.h>

#include "test/simulation/books/run.h"

namespace hamlyn::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 100;
#else
constexpr std::uint64_t kSeeds = 1000;
#endif

TEST(RandomPrograms, keep_every_promise_whatever_goes_wrong) {
  simulation::Counts sum;
  simulation::Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const simulation::Result result = simulation::run(seed);
    EXPECT_EQ(result.problem, "") << "to see it again: hamlyn-sim --seed " << seed << " --verbose";
    sum.add(result.counts);
    coverage.add(result.coverage);
  }
  // The programs are worth something: most of what they begin is done, and every fault strikes some of it.
  EXPECT_GT(sum.completed, 20 * kSeeds);
  EXPECT_GT(sum.failed, kSeeds);
  for (const std::uint64_t faults :
       {sum.cuts, sum.deaths, sum.restarts, sum.stops, sum.stalls, sum.refusals, sum.partitions})
    EXPECT_GT(faults, kSeeds / 10);
  // Every operation has met every fault, on every topology where it can.
  if (kSeeds == 1000) {
    EXPECT_EQ(missed(coverage, false), "");
  }
}

// What is said to be impossible is: else the table would hide something that happens.
TEST(RandomPrograms, meet_nothing_that_cannot_be) {
  simulation::Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kSeeds / 5; ++seed) coverage.add(simulation::run(seed).coverage);
  simulation::for_all_cells([&](auto kind, auto fault, auto topology) {
    if (impossible(kind, fault, topology) == nullptr) return;
    EXPECT_EQ(coverage.met_by(kind, fault, topology), 0u)
        << name(kind) << " met " << name(fault) << " on " << name(topology);
  });
}

TEST(RandomPrograms, of_the_same_seed_are_the_same) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::uint64_t digest = simulation::run(seed).digest;
    EXPECT_EQ(simulation::run(seed).digest, digest) << seed;
    EXPECT_EQ(simulation::run(seed, [](std::string_view) {}).digest, digest) << "listening changes nothing";
    EXPECT_NE(simulation::run(seed + 1).digest, digest) << seed;
  }
}

}  // namespace
}  // namespace hamlyn::test
