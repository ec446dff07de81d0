#pragma once
// How long a packet takes there and its answer back, as it was measured (RFC 6298, without its second).
#include <algorithm>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::rpc::blast {

// Nanoseconds of the library's clock.
using Time = std::uint64_t;
inline constexpr Time kNever = ~Time{0};
inline constexpr Time kMostWait = 1'000'000'000;  // before what was asked in vain is asked again

class RoundTrip {
 public:
  void measured(Time one) noexcept {
    one = std::clamp(one, Time{1}, kMost);
    if (smooth_ == 0) {
      smooth_ = one;
      varies_ = one / 2;
      return;
    }
    const Time off = one > smooth_ ? one - smooth_ : smooth_ - one;
    varies_ = (3 * varies_ + off) / 4;
    smooth_ = (7 * smooth_ + one) / 8;
  }
  Time time() const noexcept { return smooth_ == 0 ? kFirst : smooth_; }
  // So long without news, and who receives says what it has.
  Time pause() const noexcept { return std::clamp(time() / 4, kLeastPause, kMostPause); }
  // So long without an answer, and who sends asks.
  Time patience() const noexcept { return std::max(time() + 4 * varies_, kLeastPatience); }

  static constexpr Time kLeastPause = 20'000, kMostPause = 50'000'000;

 private:
  static constexpr Time kFirst = 1'000'000, kMost = 1'000'000'000, kLeastPatience = 1'000'000;

  Time smooth_ = 0;  // 0: nothing was measured
  Time varies_ = 0;
};

}  // namespace hamlyn::internal_::rpc::blast
