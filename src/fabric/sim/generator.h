#pragma once
// The one source of chance of a simulated run (splitmix64): the same seed gives the same run on every
// machine, which no standard distribution promises.
#include <cstdint>

namespace hamlyn::sim {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
  }
  // From 0 to `count` - 1; `count` is at least 1. (The bias is below 2^-32 for the counts of a simulation.)
  std::uint64_t below(std::uint64_t count) noexcept { return next() % count; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint64_t count) noexcept { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace hamlyn::sim
