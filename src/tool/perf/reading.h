#pragma once
// One side reads a line to which the other writes all the time; each read is timed by itself.
#include <atomic>
#include <cstdint>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

inline constexpr std::uint64_t kReadsBefore = 5000;
inline constexpr std::uint64_t kReads = 50000;

// Nanoseconds of each.
template <class Read>
std::vector<double> time_reads(Read read) {
  std::vector<double> times;
  times.reserve(kReads);
  for (std::uint64_t i = 0; i < kReadsBefore + kReads; ++i) {
    hamlyn_rest(8);  // right after another read the line would still be here
    const std::uint64_t start = hamlyn_ticks();
    read();
    const std::uint64_t end = hamlyn_ticks();
    if (i >= kReadsBefore) times.push_back(static_cast<double>(end - start) * ns_per_tick());
  }
  return times;
}

inline void keep_writing(std::atomic_ref<std::uint64_t> line, std::atomic_ref<std::uint64_t> over) {
  while (over.load(std::memory_order_acquire) == 0) line.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hamlyn::tool::perf
