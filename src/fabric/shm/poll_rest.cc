#include "fabric/shm/poll_rest.h"

#include <algorithm>

namespace hamlyn::shm {

namespace {

constexpr std::uint64_t kFraction = 256;  // of a cycle

template <class Times>
std::uint32_t best_of(const Times& times) noexcept {
  return static_cast<std::uint32_t>(std::min_element(times.begin(), times.end()) - times.begin());
}

}  // namespace

void PollRest::next(std::uint64_t now) noexcept {
  if (started_ == 0) {
    best_between_.fill(std::numeric_limits<std::uint64_t>::max());
    best_first_.fill(std::numeric_limits<std::uint64_t>::max());
    trial_ = 0;
  } else {
    const std::uint64_t time = (now - started_) * kFraction / messages_;
    std::uint64_t& best = trial_ < kBetweenTrials ? best_between_[between_] : best_first_[sixteenths_];
    best = std::min(best, time);
    ++trial_;
  }
  messages_ = 0;
  begin_trial();
  started_ = trial_ == kTrials ? 0 : now;
  due_ = trial_ == kTrials ? kKeptMessages : kTrialMessages;
}

// The rests between two looks are tried without one before the first, then that with the best of them.
void PollRest::begin_trial() noexcept {
  in_vain_ = 0;
  first_ = 0;
  if (trial_ < kBetweenTrials) {
    between_ = trial_ % static_cast<std::uint32_t>(kPauses.size());
    return;
  }
  if (trial_ == kBetweenTrials) {
    between_ = best_of(best_between_);
    turn_time_ = best_between_[between_] / kFraction;
  }
  sixteenths_ = sixteenths_to_try();
  first_ = std::min(turn_time_ * sixteenths_ / 16, kMostFirst);
}

std::uint32_t PollRest::sixteenths_to_try() noexcept {
  if (trial_ < kFirstTrials) return kFirsts[(trial_ - kBetweenTrials) % kFirsts.size()];
  if (trial_ == kFirstTrials) best_tried_ = best_of(best_first_);
  if (trial_ == kTrials) return best_of(best_first_);
  // Beside none at all there is nothing to try.
  const auto beside = best_tried_ == 0 ? 0 : kBeside[(trial_ - kFirstTrials) % kBeside.size()];
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(best_tried_) + beside);
}

}  // namespace hamlyn::shm
