#pragma once
// How long a polling thread rests between two looks. Looking at a line that is about to change slows its
// arrival, and by how much differs from processor to processor and even with where the two cores are
// (docs/performance.md): four pauses are best on one machine, none on another. So the rest is found at run
// time: every so often each candidate is tried for a few messages, and the one with which they came fastest
// is kept.
//
// Under the run lock, but for rest().
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/fence.h"

namespace hamlyn::library {

class PollRest {
 public:
  static void rest(std::uint32_t pauses) noexcept {
    for (std::uint32_t i = 0; i < pauses; ++i) base::pause();
  }
  std::uint32_t pauses() const noexcept { return kPauses[candidate_]; }
  // So many looks at a time: coming back to the caller in between would make the next look late.
  std::uint32_t looks() const noexcept { return kLooks[candidate_]; }

  // Messages were taken.
  void taken(std::size_t messages) noexcept { messages_ += static_cast<std::uint32_t>(messages); }
  // To be called every now and then: the turn of the present candidate may be over.
  void review() noexcept {
    if (messages_ >= due_) next(base::cycles());
  }
  // It is, at the time `now`, in cycles.
  void next(std::uint64_t now) noexcept;

 private:
  static constexpr std::array<std::uint32_t, 5> kPauses = {0, 1, 2, 4, 8};
  static constexpr std::array<std::uint32_t, 5> kLooks = {64, 8, 4, 2, 1};
  static constexpr std::uint32_t kTrialMessages = 32;
  static constexpr std::uint32_t kTrialRounds = 2;  // the better of two counts: an interruption spoils one
  static constexpr std::uint32_t kKeptMessages = 20000;

  void settle() noexcept;

  std::uint32_t messages_ = 0;  // of this turn
  std::uint32_t due_ = kTrialMessages;
  std::uint32_t candidate_ = 1;
  std::uint32_t trial_ = 0;  // which one of candidates times rounds; that many: settled
  std::uint64_t started_ = 0;
  std::array<std::uint64_t, kPauses.size()> best_{};
};

}  // namespace hamlyn::library
