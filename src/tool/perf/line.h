#pragma once
// A cache line that two processors write and wait for in turn.
#include <cstdint>
#include <vector>

#include "tool/perf/cores.h"

namespace hamlyn::tool::perf {

struct Exchanges {
  std::uint64_t warm_up = 0;
  std::uint64_t timed = 0;
  int pauses = 0;  // between two looks
};

// Nanoseconds of half of each exchange. Throws std::runtime_error.
std::vector<double> exchange_lines(Cores cores, const Exchanges& exchanges);

}  // namespace hamlyn::tool::perf
