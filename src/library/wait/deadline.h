#pragma once
// When a wait is over, by the clock that all of the library goes by.
#include <algorithm>
#include <chrono>
#include <optional>

#include "base/namespaces.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

// Nothing: never.
using Deadline = std::optional<Clock::time_point>;
Deadline deadline_in(std::chrono::nanoseconds timeout) noexcept;
Deadline deadline_in(std::chrono::milliseconds timeout) noexcept;

// How long somebody is willing to wait. The clock is first read when it has to be: what is over at once pays
// for none.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds timeout) noexcept : timeout_(timeout) {}
  Deadline deadline() noexcept {
    begin();
    return end_ != kNever ? Deadline{end_} : std::nullopt;
  }
  // Never less than nothing.
  std::chrono::nanoseconds left() const noexcept {
    using std::chrono::nanoseconds;
    if (!begun_ || end_ == kNever) return timeout_;
    return std::max<nanoseconds>(end_ - Clock::now(), nanoseconds{0});
  }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  void begin() noexcept {
    if (!begun_) end_ = deadline_in(timeout_).value_or(kNever);
    begun_ = true;
  }

  std::chrono::nanoseconds timeout_;
  bool begun_ = false;
  Clock::time_point end_ = kNever;
};

}  // namespace hamlyn::internal_::library
