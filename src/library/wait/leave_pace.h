#pragma once
// How often a thread that polls may leave its watch to the interface thread. One that sleeps on a descriptor
// does so before each sleep. One that polls without a pause would wake the interface thread each time, only
// to relieve it at once.
#include <algorithm>
#include <chrono>

#include "base/namespaces.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::library {

// Threads: one at a time.
class LeavePace {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr nanoseconds kShortest =
      std::chrono::microseconds{10};  // that a sleep takes, with its wake-up
  static constexpr nanoseconds kMostPause = std::chrono::microseconds{200};

  // Whether the watch is to be left now. Who comes back as soon as the pause is over does not sleep: each
  // time the pause is longer.
  bool leaves(Clock::time_point now) noexcept {
    const nanoseconds since = now - last_;
    if (since < pause_) return false;
    last_ = now;
    const bool slept = since >= 2 * pause_ + kShortest;
    pause_ = slept ? nanoseconds{0} : std::min(std::max(2 * pause_, kShortest), kMostPause);
    return true;
  }

 private:
  Clock::time_point last_{};
  nanoseconds pause_{0};
};

}  // namespace hamlyn::internal_::library
