#pragma once
// How much a round of a bandwidth figure moves, the same for limits, for us and for our programs of peers.
#include <cstddef>
#include <cstdint>

#include "tool/perf/clock.h"

namespace hamlyn::tool::perf {

inline constexpr std::uint64_t kWindow = 8;  // messages under way at a time

// Timed messages per round: about a gigabyte, and no more small ones than a round has time for.
inline std::uint64_t timed_messages(std::size_t bytes) {
  constexpr std::uint64_t kMost = 3000000;
  const std::uint64_t count = (std::uint64_t{1} << 30) / bytes;
  return count < kMost ? count : kMost;
}

// Sent before those, and not timed: rings grow meanwhile, which takes some milliseconds.
inline std::uint64_t warm_up_messages(std::size_t bytes) { return timed_messages(bytes) / 4; }

inline std::uint64_t all_messages(std::size_t bytes) {
  return warm_up_messages(bytes) + timed_messages(bytes);
}

// GB/s, 10^9 bytes, of the timed messages.
inline double gigabytes_per_second(std::size_t bytes, std::uint64_t ticks) {
  return static_cast<double>(timed_messages(bytes) * bytes) / (static_cast<double>(ticks) * ns_per_tick());
}

}  // namespace hamlyn::tool::perf
