#include "test/support/swap_history.h"

#include <algorithm>

namespace hamlyn::test {

bool SwapExplanation::exists(std::uint64_t value) {
  constexpr std::uint64_t kNever = SwapEvent::kNever;
  std::uint64_t first_end = kNever;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (!done_[i]) first_end = std::min(first_end, events_[i].over);
  }
  if (first_end == kNever) return true;  // the others may never have been done
  if (!tried_.insert({done_, value}).second) return false;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const SwapEvent& each = events_[i];
    if (done_[i] || each.begun > first_end) continue;
    if (each.over != kNever && each.found != value) continue;
    if (each.over == kNever && each.expected != value) continue;  // it would do nothing
    done_[i] = true;
    if (exists(value == each.expected ? each.desired : value)) return true;
    done_[i] = false;
  }
  return false;
}

}  // namespace hamlyn::test
