#include "library/poll_rest.h"

#include <algorithm>

namespace hamlyn::library {

void PollRest::next(std::uint64_t now) noexcept {
  constexpr auto kTrials = static_cast<std::uint32_t>(kPauses.size()) * kTrialRounds;
  constexpr std::uint64_t kFraction = 256;  // of a cycle
  if (started_ == 0) {                      // the trials begin with the next message
    best_.fill(std::numeric_limits<std::uint64_t>::max());
    trial_ = 0;
  } else if (trial_ < kTrials) {
    best_[candidate_] = std::min(best_[candidate_], (now - started_) * kFraction / messages_);
    ++trial_;
  }
  messages_ = 0;
  if (trial_ == kTrials) {
    settle();
    started_ = 0;
    due_ = kKeptMessages;
    return;
  }
  candidate_ = trial_ % static_cast<std::uint32_t>(kPauses.size());
  started_ = now;
  due_ = kTrialMessages;
}

void PollRest::settle() noexcept {
  candidate_ = static_cast<std::uint32_t>(std::min_element(best_.begin(), best_.end()) - best_.begin());
}

}  // namespace hamlyn::library
