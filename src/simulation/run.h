#pragma once
// One run: a random program of processes that is decided by its seed and nothing else.
#include <cstdint>
#include <string>

#include "simulation/world.h"

namespace hamlyn::simulation {

struct Result {
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;  // of everything that happened, in order
  Counts counts;
  std::string problem;  // empty: everything was as it should be

  bool good() const noexcept { return problem.empty(); }
};

// `reader` hears of each event.
Result run(std::uint64_t seed, Trace::Reader reader = {});

}  // namespace hamlyn::simulation
