#pragma once
// What a fuzz target is: one function that takes any bytes (docs/fuzzing.md). libFuzzer calls it through
// coverage.cc; the tests call it with the corpus and with random bytes from fixed seeds (replay.cc). What
// must be so is said with gtest's macros, which libFuzzer sees as a crash.
#include <cstddef>
#include <cstdint>
#include <span>

namespace hamlyn::fuzz {

void fuzz(std::span<const std::byte> bytes);

// Runs over random bytes, of which the tests do so many; and how far they must get to be worth anything.
struct Goal {
  const char* what;
  std::uint64_t least;  // times, in all random runs together
  std::uint64_t times = 0;
};
struct RandomRuns {
  std::uint64_t runs;
  std::size_t bytes;  // of each
  std::span<Goal> goals;
};
extern const RandomRuns random_runs;

}  // namespace hamlyn::fuzz
