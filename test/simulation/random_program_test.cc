// Many random programs. HAMLYN_SEED=<n> runs one of them alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>

#include "test/simulation/program.h"

namespace hamlyn::test {
namespace {

constexpr std::uint64_t kSeeds = 300;

// What went wrong with a seed, or nothing.
std::string problem_of(std::uint64_t seed, std::uint64_t& delivered, std::uint64_t& lost) {
  try {
    Program program(seed);
    program.run();
    delivered += program.delivered();
    lost += program.lost();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(RandomPrograms, deliver_every_message_once_and_whole_or_say_that_its_link_ended) {
  std::uint64_t delivered = 0, lost = 0;
  if (const char* seed = std::getenv("HAMLYN_SEED")) {
    EXPECT_EQ(problem_of(std::strtoull(seed, nullptr, 10), delivered, lost), "");
    return;
  }
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_EQ(problem_of(seed, delivered, lost), "") << "to see it again: HAMLYN_SEED=" << seed;
  }
  // The programs are worth something: most of what they send arrives, and links do end under some of it.
  EXPECT_GT(delivered, 20 * kSeeds);
  EXPECT_GT(lost, kSeeds / 10);
}

TEST(RandomPrograms, of_the_same_seed_are_the_same) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Program one(seed), other(seed), another(seed + 1);
    one.run();
    other.run();
    another.run();
    EXPECT_EQ(one.digest(), other.digest()) << seed;
    EXPECT_NE(one.digest(), another.digest()) << seed;
  }
}

}  // namespace
}  // namespace hamlyn::test
