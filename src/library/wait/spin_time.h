#pragma once
// How long a waiting thread spins before it sleeps: as long as a wake-up costs, or longer for a program that
// asks for it, while that pays (paper 1, section 5.2; paper 4, section 5.4).
#include <algorithm>
#include <chrono>

#include "base/namespaces.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::library {

// Under the run lock.
class SpinTime {
 public:
  explicit SpinTime(std::chrono::microseconds most) noexcept : most_(std::max(most, kSpin)) {}

  std::chrono::microseconds now() const noexcept { return now_; }
  // A thread has slept, and what it waited for came so long after it had begun to spin.
  void came_after(std::chrono::nanoseconds time) noexcept { now_ = time <= most_ ? most_ : kSpin; }
  // Nothing has come in all the time that it had.
  void in_vain() noexcept { now_ = kSpin; }

 private:
  std::chrono::microseconds most_;
  std::chrono::microseconds now_ = kSpin;
};

}  // namespace hamlyn::internal_::library
