#pragma once
// How often a thread that polls may leave its watch to the interface thread. One that sleeps on a descriptor
// does so before each sleep. One that polls without a pause would wake the interface thread each time, only
// to relieve it at once.
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/namespaces.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::library {

// Threads: one at a time.
class LeavePace {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr nanoseconds kSleep =
      std::chrono::microseconds{10};  // the least that one takes, with its wake-up
  static constexpr nanoseconds kBetween = std::chrono::microseconds{200};  // of a thread that does not sleep
  static constexpr std::uint32_t kRow = 16;  // behind a sleep: a thread may find several queues empty

  // Whether the watch is to be left now.
  bool leaves(Clock::time_point now) noexcept {
    if (now - std::exchange(asked_, now) >= kSleep) left_ = kRow;
    if (left_ == 0 && now - granted_ < kBetween) return false;
    left_ -= left_ != 0 ? 1 : 0;
    granted_ = now;
    return true;
  }

 private:
  Clock::time_point asked_{}, granted_{};
  std::uint32_t left_ = 0;
};

}  // namespace hamlyn::internal_::library
