// Many random programs of the protocols. `hamlyn-sim --seed N --verbose` shows one of them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "test/simulation/books/protocols/run_protocols.h"
#include "test/simulation/books/shorten.h"

namespace hamlyn::test {
namespace {

// What the sanitizers can find, they find early; a fiber's switch costs them much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeeds = 60, kMostSeeds = kSeeds;
#else
constexpr std::uint64_t kSeeds = 300;
constexpr std::uint64_t kMostSeeds = 4000;  // for what the others have not met
#endif
constexpr bool kCovers = kMostSeeds > kSeeds;

TEST(RandomProtocols, keep_every_promise_whatever_goes_wrong) {
  simulation::Counts sum;
  simulation::Coverage coverage;
  const char* const asked = std::getenv("HAMLYN_TEST_PROTOCOLS");  // at least so many
  const std::uint64_t least =
      asked == nullptr ? kSeeds : std::min<std::uint64_t>(std::strtoull(asked, nullptr, 10), kMostSeeds);
  const auto enough = [&](std::uint64_t seeds) {
    if (seeds < least) return false;
    return seeds == kMostSeeds || (seeds % 50 == 0 && missed(coverage, true).empty());
  };
  std::uint64_t seeds = 0;
  while (!enough(seeds)) {
    const std::uint64_t seed = ++seeds;
    const simulation::Result result = simulation::run_protocols(seed);
    EXPECT_EQ(result.problem, "") << "to see it again: hamlyn-sim --seed " << seed << " --verbose";
    sum.operations += result.counts.operations;
    sum.completed += result.counts.completed;
    sum.failed += result.counts.failed;
    sum.cuts += result.counts.cuts;
    sum.deaths += result.counts.deaths;
    sum.stops += result.counts.stops;
    sum.refusals += result.counts.refusals;
    sum.stalls += result.counts.stalls;
    sum.partitions += result.counts.partitions;
    coverage.add(result.coverage);
  }
  // The programs are worth something: most of what they begin is done, and every fault strikes some of it.
  EXPECT_GT(sum.operations, 500 * seeds);
  EXPECT_GT(sum.completed, sum.operations / 2);
  EXPECT_GT(sum.failed, 50 * seeds);
  // Every operation has met every fault, on every topology where it can, and nothing that cannot be.
  if (kCovers) {
    for (const std::uint64_t faults :
         {sum.cuts, sum.deaths, sum.stops, sum.stalls, sum.refusals, sum.partitions})
      EXPECT_GT(faults, seeds / 20);
    EXPECT_EQ(missed(coverage, true), "");
  }
  simulation::for_all_cells([&](auto kind, auto fault, auto topology) {
    if (impossible(kind, fault, topology) == nullptr) return;
    EXPECT_EQ(coverage.met_by(kind, fault, topology), 0u)
        << name(kind) << " met " << name(fault) << " on " << name(topology);
  });
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

// A run that fails is made short, and without any of the steps that are left it does not fail so. The fault
// is planted: somebody who watches objects to what honest runs do.
TEST(RandomProtocols, that_fail_are_made_short) {
  using simulation::Program;
  const auto run = [](const Program& program) { return simulation::run_protocols(program); };
  Program program{8, {}, [](const simulation::Counts& counts) {
                    if (counts.cuts != 0 && counts.stops != 0 && counts.completed >= 3)
                      throw simulation::Violation("planted");
                  }};
  simulation::Result failed = run(program);
  for (; failed.good() && program.seed != 300; failed = run(program)) ++program.seed;
  ASSERT_EQ(failed.problem, "planted");
  const simulation::Shortened least = simulation::shorten(program, failed, run);
  EXPECT_TRUE(least.least);
  EXPECT_LT(least.steps.size(), failed.steps.size() / 3);
  EXPECT_GE(least.steps.size(), 4u);
  program.only = least.steps;
  EXPECT_EQ(run(program).problem, "planted");
  EXPECT_EQ(run(program).digest, run(program).digest);
  EXPECT_EQ(simulation::parse_steps(simulation::to_text(least.steps)), least.steps);
  for (std::size_t i = 0; i != least.steps.size(); ++i) {
    program.only->erase(program.only->begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(run(program).problem, "") << "without step " << least.steps[i];
    program.only = least.steps;
  }
}

// Of no steps, nobody does anything, and nothing strikes.
TEST(RandomProtocols, of_no_steps_do_nothing) {
  const simulation::Result result =
      simulation::run_protocols(simulation::Program{7, simulation::Steps{}, {}});
  EXPECT_EQ(result.problem, "");
  EXPECT_EQ(result.counts.operations + result.counts.faults(), 0u);
  EXPECT_TRUE(result.steps.empty());
}

}  // namespace
}  // namespace hamlyn::test
