#pragma once
// Seeds that a test of calls tries: others each time, and as many as HAMLYN_TEST_RPC_SEEDS says
// (scripts/soak). HAMLYN_TEST_RPC_FIRST names the first one.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>

namespace hamlyn::test {

// Calls run(seed) for each, until one fails.
template <class Run>
void for_each_seed(std::uint64_t count, Run run) {
  if (const char* const asked = std::getenv("HAMLYN_TEST_RPC_SEEDS"))
    count = std::strtoull(asked, nullptr, 10);
  std::uint64_t first = std::random_device{}();
  if (const char* const named = std::getenv("HAMLYN_TEST_RPC_FIRST"))
    first = std::strtoull(named, nullptr, 10);
  for (std::uint64_t seed = first; seed != first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    run(seed);
  }
}

}  // namespace hamlyn::test
