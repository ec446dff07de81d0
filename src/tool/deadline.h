#pragma once
// A point in time to wait until, or none.
#include <algorithm>
#include <chrono>
#include <optional>

namespace hamlyn::tool {

// No wait is longer than this at a time, so that the library never adds a time without end to its clock.
inline constexpr std::chrono::hours kSlice{1};

// How long the daemon is waited for by who waits so long for a partner: it may have to be started first.
inline std::chrono::milliseconds for_daemon(std::optional<std::chrono::milliseconds> timeout) {
  constexpr std::chrono::milliseconds kLeast{2000}, kMost{5000};
  return std::clamp(timeout.value_or(kMost), kLeast, kMost);
}

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline never() { return {}; }
  static Deadline in(std::optional<std::chrono::milliseconds> time) {
    Deadline deadline;
    if (time) deadline.at_ = Clock::now() + *time;
    return deadline;
  }

  bool passed() const { return at_ && Clock::now() >= *at_; }

  // How long to wait now: the time that is left, at most `slice`, never negative.
  std::chrono::milliseconds slice(std::chrono::milliseconds slice) const {
    if (!at_) return slice;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now());
    return std::clamp(left, std::chrono::milliseconds{0}, slice);
  }

 private:
  std::optional<Clock::time_point> at_;
};

}  // namespace hamlyn::tool
