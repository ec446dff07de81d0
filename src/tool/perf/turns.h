#pragma once
// Two processes that take turns past Hamlyn, so that only what one of them does with what has come is timed.
// Each count of turns is stored with release behind what it tells of, and awaited with acquire.
#include <atomic>
#include <cstdint>

#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

inline void reach(std::atomic<std::uint64_t>& count, std::uint64_t turn) {
  count.store(turn, std::memory_order_release);
}
inline void await(const std::atomic<std::uint64_t>& count, std::uint64_t turn) {
  while (count.load(std::memory_order_acquire) != turn) hamlyn_rest(1);
}

}  // namespace hamlyn::tool::perf
