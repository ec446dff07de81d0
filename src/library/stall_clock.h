#pragma once
// When a link stands still: something is pending, and nothing of it has been taken for so long. It knows no
// clock but is told the time, and looks at nothing itself. (The daemon and the link tell of a peer that is
// dead; this is for one that is not.)
#include <chrono>
#include <cstdint>

namespace hamlyn::library {

class StallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // quiet: nothing is pending, nor has moved since the look before. moves: something is, or has.
  enum class Found : std::uint8_t { quiet, moves, stalled };

  explicit StallClock(Time now) noexcept : since_(now) {}

  // `progress` moves when the peer takes something. `limit` 0: never stalled.
  Found look(bool pending, std::uint64_t progress, std::chrono::milliseconds limit, Time now) noexcept {
    const bool moved = progress != progress_;
    progress_ = progress;
    if (moved || !pending) {
      since_ = now;
      return moved ? Found::moves : Found::quiet;
    }
    const auto stood = std::chrono::floor<std::chrono::milliseconds>(now - since_);
    return limit.count() != 0 && stood >= limit ? Found::stalled : Found::moves;
  }

  // Nobody has looked for a while: what is pending may have been so only since now.
  void start_anew(Time now) noexcept { since_ = now; }

 private:
  std::uint64_t progress_ = 0;
  Time since_;
};

}  // namespace hamlyn::library
