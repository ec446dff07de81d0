#pragma once
// How much a round of a bandwidth figure moves, the same for limits, for us and for our programs of peers.
#include <cstddef>
#include <cstdint>

#include "tool/perf/clock.h"

namespace hamlyn::tool::perf {

inline constexpr std::uint64_t kWindow = 8;       // messages under way at a time
inline constexpr std::uint64_t kWarmUpTurns = 4;  // of the window, not timed

// Timed messages per round: about a gigabyte, and no more small ones than a round has time for.
inline std::uint64_t timed_messages(std::size_t bytes) {
  const std::uint64_t count = (std::uint64_t{1} << 30) / bytes;
  return count < 60000 ? count : 60000;
}

inline std::uint64_t all_messages(std::size_t bytes) {
  return kWarmUpTurns * kWindow + timed_messages(bytes);
}

// GB/s, 10^9 bytes, of the timed messages.
inline double gigabytes_per_second(std::size_t bytes, std::uint64_t ticks) {
  return static_cast<double>(timed_messages(bytes) * bytes) / (static_cast<double>(ticks) * ns_per_tick());
}

}  // namespace hamlyn::tool::perf
