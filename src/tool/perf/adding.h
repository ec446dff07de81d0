#pragma once
// Both sides add to one word by locked instructions; one of them times its own.
#include <atomic>
#include <cstdint>
#include <vector>

#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

inline constexpr std::uint64_t kAdditions = 50000;
inline constexpr std::uint64_t kAddingIsOver = std::uint64_t{1} << 63;

using SharedWord = std::atomic_ref<std::uint64_t>;

// Nanoseconds of each addition; then tells the other to stop.
inline std::vector<double> time_additions(SharedWord word, double ns_per_tick) {
  std::vector<double> times(kAdditions);
  for (double& time : times) {
    hamlyn_rest(8);  // right after another addition the line would still be here
    const std::uint64_t start = hamlyn_ticks();
    word.fetch_add(1);
    time = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick;
  }
  word.fetch_or(kAddingIsOver);
  return times;
}

inline void add_until_told(SharedWord word) {
  while ((word.fetch_add(1) & kAddingIsOver) == 0) hamlyn_rest(1);
}

}  // namespace hamlyn::tool::perf
