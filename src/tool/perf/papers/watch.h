#pragma once
// A stopwatch with a hand for each part. One hand runs at a time: a part inside another stops that one.
#include <array>
#include <cstdint>
#include <utility>

#include "tool/perf/clock.h"
#include "tool/perf/papers/am_part.h"

namespace hamlyn::tool::perf::papers {

using PartTicks = std::array<double, kAmParts>;

class Watch {
 public:
  // All hands at 0, and none of a part running.
  void begin() {
    hands_ = {};
    now_ = AmPart::count;
    since_ = hamlyn_ticks();
  }
  // Lets another hand run. Returns which one did.
  AmPart change_to(AmPart next) {
    const std::uint64_t moment = hamlyn_ticks();
    Hand& hand = hands_[static_cast<std::size_t>(now_)];
    hand.ticks += moment - since_;
    ++hand.turns;
    since_ = moment;
    return std::exchange(now_, next);
  }
  // Ticks of each part, without what the readings of the counter cost.
  PartTicks spent() const {
    PartTicks out{};
    for (std::size_t i = 0; i != kAmParts; ++i)
      out[i] =
          static_cast<double>(hands_[i].ticks) - static_cast<double>(hands_[i].turns) * ticks_per_reading();
    return out;
  }

 private:
  struct Hand {
    std::uint64_t ticks = 0, turns = 0;
  };

  std::array<Hand, kAmParts + 1> hands_{};  // the last: none of a part
  AmPart now_ = AmPart::count;
  std::uint64_t since_ = 0;
};

// The one of this process.
inline Watch& watch() {
  static Watch one;
  return one;
}

// While it is there, that part's hand runs.
class During {
 public:
  explicit During(AmPart part) : before_(watch().change_to(part)) {}
  ~During() { watch().change_to(before_); }
  During(const During&) = delete;
  During& operator=(const During&) = delete;

 private:
  const AmPart before_;
};

}  // namespace hamlyn::tool::perf::papers
