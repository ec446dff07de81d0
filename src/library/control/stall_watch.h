#pragma once
// When to look for links that stand still, and when not to look at all: while everybody has slept since the
// look before and nothing is pending on any link, there is nothing to look for. It is told the time, and
// looks at nothing itself.
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/namespaces.h"
#include "library/control/stall_clock.h"

namespace hamlyn::internal_::library {

class StallWatch {
 public:
  using Time = StallClock::Time;

  // How long until something is to be looked at; nothing: until something happens.
  std::optional<std::chrono::milliseconds> pause() const noexcept {
    return rests_ ? std::nullopt : std::optional{StallClock::kBetween};
  }

  // Whether a look is due, which then begins.
  bool due(Time now) noexcept {
    if (rests_ || now < next_) return false;
    next_ = now + StallClock::kBetween;
    return true;
  }

  // In a look: which of all sleeps it is that whoever notices arrivals is in; 0: nobody sleeps.
  void sees_sleep(std::uint32_t sleep) noexcept {
    quiet_ = std::exchange(last_sleep_, sleep) == sleep && sleep != 0;
  }
  void sees(StallClock::Found found) noexcept { quiet_ = quiet_ && found == StallClock::Found::quiet; }
  // Something that has to be looked at by the clock whoever sleeps.
  void sees_other_work() noexcept { quiet_ = false; }
  // At its end. True: it was the last until something happens.
  bool rest() noexcept { return rests_ = quiet_; }

  // Something has happened. True: there was a rest, and the clocks of links start anew.
  bool end_rest(Time now) noexcept {
    if (!std::exchange(rests_, false)) return false;
    next_ = now + StallClock::kBetween;
    return true;
  }

 private:
  Time next_{};
  std::uint32_t last_sleep_ = 0;
  bool quiet_ = false;
  bool rests_ = false;
};

}  // namespace hamlyn::internal_::library
