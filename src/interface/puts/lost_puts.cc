#include "interface/puts/lost_puts.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/assert.h"

namespace hamlyn::internal_::interface {

namespace {

std::uint64_t amiss(const std::vector<std::unique_ptr<SendCredit>>& credits) noexcept {
  std::uint64_t termini = 0;
  for (const auto& credit : credits) termini |= credit->amiss();
  return termini;
}

}  // namespace

void LostPuts::remember(std::uint64_t peer, std::vector<std::unique_ptr<SendCredit>> credits) noexcept {
  HAMLYN_ASSERT(std::ranges::find(known_, peer, &Known::peer) == known_.end(),
                "a new link with the peer has taken what was known");
  if (credits.empty()) return;
  Known known{peer, std::move(credits)};
  try {
    if (known_.size() == kWithOpenings) {
      forget(known_.front());
      known_.erase(known_.begin());
    }
    known_.reserve(known_.size() + 1);
    known_.push_back(std::move(known));
  } catch (const std::bad_alloc&) {
    forget(known);
  }
}

void LostPuts::forget(const Known& known) noexcept {
  const std::uint64_t termini = amiss(known.credits);
  try {
    if (forgotten_.size() < kWithout || forgotten_.contains(known.peer)) {
      forgotten_[known.peer] |= termini;
      return;
    }
  } catch (const std::bad_alloc&) {  // then it may have been any
  }
  of_anybody_ |= termini;
}

void LostPuts::forget_terminus(std::uint64_t bit) noexcept {
  for (const Known& known : known_) {
    for (const auto& credit : known.credits) credit->forget_terminus(bit);
  }
  for (auto& [peer, termini] : forgotten_) termini &= ~bit;
  of_anybody_ &= ~bit;
}

void LostPuts::recall(Link& link) noexcept {
  link.lost_before = of_anybody_;
  if (const auto found = forgotten_.find(link.peer); found != forgotten_.end()) {
    link.lost_before |= found->second;
    forgotten_.erase(found);
  }
  const auto found = std::ranges::find(known_, link.peer, &Known::peer);
  if (found == known_.end()) return;
  HAMLYN_ASSERT(link.credits.empty(), "a new link has opened nothing yet");
  link.credits = std::move(found->credits);
  for (const auto& credit : link.credits) credit->put_mark = 0;  // of the link before
  known_.erase(found);
}

}  // namespace hamlyn::internal_::interface
