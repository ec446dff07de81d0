#pragma once
// Rules for measuring a wake-up, the same for the limit and for us: each message finds its receiver asleep.
#include <cstdint>

#include "tool/perf/clock.h"

namespace hamlyn::tool::perf {

// Before each message its sender waits this long, so that the receiver has long gone to sleep (a receiver may
// spin first for about as long as a wake-up costs). Both pauses of a round trip are taken out of its time.
inline constexpr double kPauseNs = 50000;

// Long enough for a virtual processor that idles to take longer to wake up: it does from 100 to 200 us on
// (docs/notebook/measurements.md).
inline constexpr double kLongPauseNs = 300000;

// Uses the processor for so long.
inline void pause_before_message(double pause_ns = kPauseNs) {
  const std::uint64_t end = hamlyn_ticks() + static_cast<std::uint64_t>(pause_ns / ns_per_tick());
  while (hamlyn_ticks() < end) {
  }
}

// Counts how often this process has gone to sleep, to show that it did once per message.
class SleepCount {
 public:
  SleepCount();
  // Throws std::runtime_error if the process has slept for less than half of `messages` since: on a busy
  // machine some find their receiver not yet asleep.
  void check(std::uint64_t messages) const;

 private:
  std::uint64_t start_;
};

}  // namespace hamlyn::tool::perf
