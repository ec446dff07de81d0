#pragma once
// How long a thread looks for something before it sleeps: as long as that has paid lately (paper 1, section
// 5.2; paper 4, section 5.4).
#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/namespaces.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::library {

// Threads: any. Relaxed: what one of them has learned will do for all.
class SpinTime {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // Says what a wait in vain makes of it.
  enum class Drop : bool { to_least, to_half };

  SpinTime(nanoseconds least, nanoseconds most, nanoseconds first, Drop drop) noexcept
      : least_(least), most_(std::max(least, most)), drop_(drop), now_(first) {}

  nanoseconds now() const noexcept { return now_.load(std::memory_order_relaxed); }
  // A thread has slept, or looked for long, and what it waited for came so long after it had begun to look.
  void came_after(nanoseconds time) noexcept { time <= most_ ? set(most_) : in_vain(); }
  // Nothing has come in all the time that it had.
  void in_vain() noexcept { set(drop_ == Drop::to_least ? least_ : std::max(least_, now() / 2)); }

 private:
  void set(nanoseconds time) noexcept {
    if (time != now()) now_.store(time, std::memory_order_relaxed);
  }

  const nanoseconds least_, most_;
  const Drop drop_;
  std::atomic<nanoseconds> now_;
};

}  // namespace hamlyn::internal_::library
