#pragma once
// When a link stands still: something is pending, and nothing of it has been taken for so long. It knows no
// clock but is told the time, and looks at nothing itself. (The daemon and the link tell of a peer that is
// dead; this is for one that is not.)
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

class StallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kBetween{500};  // from one look to the next

  // quiet: nothing is pending, nor has moved since the look before. moves: something is, or has.
  enum class Found : std::uint8_t { quiet, moves, stalled };

  explicit StallClock(Time now) noexcept : since_(now), looked_(now) {}

  // `progress` moves when the peer takes something. `limit` 0: never stalled.
  Found look(bool pending, std::uint64_t progress, std::chrono::milliseconds limit, Time now) noexcept {
    const bool moved = progress != progress_;
    progress_ = progress;
    // A process that was stopped itself may have been stopped together with the peer: that time does not
    // count.
    if (const auto away = now - std::exchange(looked_, now); away > kHeldUp) since_ += away - kHeldUp;
    if (moved || !pending) {
      since_ = now;
      return moved ? Found::moves : Found::quiet;
    }
    const auto stood = std::chrono::floor<std::chrono::milliseconds>(now - since_);
    return limit.count() != 0 && stood >= limit ? Found::stalled : Found::moves;
  }

  // Nobody has looked for a while: what is pending may have been so only since now.
  void start_anew(Time now) noexcept { since_ = looked_ = now; }

 private:
  static constexpr std::chrono::milliseconds kHeldUp = 2 * kBetween;  // whoever looks later was stopped

  std::uint64_t progress_ = 0;
  Time since_;
  Time looked_;
};

}  // namespace hamlyn::internal_::library
