// Many random programs of the protocols. `hamlyn sim --seed N --verbose` shows one of them.
#include <gtest/gtest.h>

#include "simulation/protocols/run_protocols.h"

namespace hamlyn::test {
namespace {

// What the sanitizers can find, they find early; a fiber's switch costs them much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 60;
#else
constexpr std::uint64_t kSeeds = 300;
#endif

TEST(RandomProtocols, keep_every_promise_whatever_goes_wrong) {
  simulation::Counts sum;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const simulation::Result result = simulation::run_protocols(seed);
    EXPECT_EQ(result.problem, "") << "to see it again: hamlyn sim --seed " << seed << " --verbose";
    sum.operations += result.counts.operations;
    sum.completed += result.counts.completed;
    sum.failed += result.counts.failed;
    sum.cuts += result.counts.cuts;
    sum.deaths += result.counts.deaths;
    sum.stops += result.counts.stops;
    sum.refusals += result.counts.refusals;
  }
  // The programs are worth something: most of what they begin is done, and every fault strikes some of it.
  EXPECT_GT(sum.operations, 500 * kSeeds);
  EXPECT_GT(sum.completed, sum.operations / 2);
  EXPECT_GT(sum.failed, 50 * kSeeds);
  for (const std::uint64_t faults : {sum.cuts, sum.deaths, sum.stops, sum.refusals})
    EXPECT_GT(faults, kSeeds / 10);
}

// A stream's sender went while its last batch waited for room, and its receiver was never told.
TEST(RandomProtocols, that_once_failed_are_good) {
  for (const std::uint64_t seed : {5731u, 12400u})
    EXPECT_EQ(simulation::run_protocols(seed).problem, "") << seed;
}

TEST(RandomProtocols, of_the_same_seed_are_the_same) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::uint64_t digest = simulation::run_protocols(seed).digest;
    EXPECT_EQ(simulation::run_protocols(seed).digest, digest) << seed;
    EXPECT_EQ(simulation::run_protocols(seed, [](std::string_view) {}).digest, digest)
        << "listening changes nothing";
    EXPECT_NE(simulation::run_protocols(seed + 1).digest, digest) << seed;
  }
}

}  // namespace
}  // namespace hamlyn::test
