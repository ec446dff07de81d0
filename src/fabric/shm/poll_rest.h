#pragma once
// How long a polling thread rests, which decides how often a line goes to and fro between two processors
// (docs/performance.md). Looking at a line that is about to change slows its arrival, and by how much differs
// from processor to processor and even with where the two cores are: four pauses between two looks are best
// on one machine, none on another. And who looks for an answer before it has been written takes the line away
// from its writer, who must ask for it once more: the first look should come just when the answer is there.
//
// So both rests are found at run time: every so often each candidate is tried for a few messages, and the one
// with which they came fastest is kept. A rest before the first look that finds nothing there is soon given
// up.
//
// Who takes packets as fast as they are written takes each one's line from the writer while it is being
// written, and both wait for it. So where packets stream, they are taken in rows, once the last of a row is
// there: then so are the others, and the writer is elsewhere.
//
// Under the run lock, but for rest().
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/fence.h"
#include "base/namespaces.h"

namespace hamlyn::shm {

class PollRest {
 public:
  static void rest(std::uint32_t pauses) noexcept {
    for (std::uint32_t i = 0; i < pauses; ++i) base::pause();
  }
  std::uint32_t pauses() const noexcept { return kPauses[between_]; }
  // So many looks at a time: coming back to the caller in between would make the next look late.
  std::uint32_t looks() const noexcept { return kLooks[between_]; }

  // Cycles before the first look for an answer.
  std::uint64_t first() const noexcept { return first_; }

  // Something was sent, and its answer has not been looked for. `there` looks. Where packets stream, the next
  // one has come before the last was answered, and a rest would only make it late: every so often is looked
  // at once.
  template <class There>
  void rest_before_answer(There there) noexcept {
    if (first_ == 0) return;
    if (++in_vain_ > kMostInVain || (++unprobed_ >= kProbeEvery && too_late(there()))) [[unlikely]] {
      first_ = 0;
      return;
    }
    const std::uint64_t start = base::cycles();
    while (base::cycles() - start < first_) {  // also over if the clock steps back
    }
  }
  // The answer was there, or came during the look.
  void answered() noexcept { in_vain_ = 0; }

  // Rests until a row of so many packets is there. False: it does not come so soon; then it is tried more
  // rarely.
  template <class There>
  bool await_row(std::uint32_t row, There there) noexcept {
    if (rows_left_out_ != 0) {
      --rows_left_out_;
      return false;
    }
    for (std::uint32_t looks = row; !there(); --looks) {
      if (looks == 0) {
        rows_left_out_ = rows_in_vain_ = std::min(2 * rows_in_vain_ + 1, kMostLeftOut);
        return false;
      }
      rest(kRowPauses);
    }
    rows_in_vain_ /= 2;
    return true;
  }

  // Messages were taken.
  void taken(std::size_t messages) noexcept { messages_ += static_cast<std::uint32_t>(messages); }
  // To be called every now and then: the turn of the present candidate may be over.
  void review() noexcept {
    if (messages_ >= due_) next(base::cycles());
  }
  // Ends the turn of the present candidate, at the time `now`, in cycles.
  void next(std::uint64_t now) noexcept;

 private:
  static constexpr std::array<std::uint32_t, 5> kPauses = {0, 1, 2, 4, 8};
  static constexpr std::array<std::uint32_t, 5> kLooks = {64, 8, 4, 2, 1};
  // Sixteenths of the time from one message to the next: tried first, and then the neighbours of the best. An
  // answer is written half way at the earliest, and its line is best asked for so that this arrives right
  // behind that. So the question leaves before half way where its own way is a large part of the time, and
  // behind it where the writer must first get the line (docs/performance.md).
  static constexpr std::array<std::uint32_t, 5> kFirsts = {0, 4, 6, 8, 10};
  static constexpr std::array<std::int32_t, 3> kBeside = {-1, 0, 1};
  static constexpr std::uint32_t kMostSixteenths = 11;
  static constexpr std::uint64_t kMostFirst = 4096;  // cycles
  static constexpr std::uint32_t kTrialMessages = 32;
  static constexpr std::uint32_t kTrialRounds = 2;  // the better of two counts: an interruption spoils one
  static constexpr std::uint32_t kKeptMessages = 20000;
  static constexpr std::uint32_t kMostInVain = 8;
  static constexpr std::uint32_t kProbeEvery = 16;
  static constexpr std::uint32_t kMostEarly = 4;  // probes in a row that found the answer there
  static constexpr std::uint32_t kRowPauses = 2;  // between two looks for a row, of one look for each packet
  static constexpr std::uint32_t kMostLeftOut = 1023;
  static constexpr auto kBetweenTrials = static_cast<std::uint32_t>(kPauses.size()) * kTrialRounds;
  static constexpr auto kFirstTrials =
      kBetweenTrials + static_cast<std::uint32_t>(kFirsts.size()) * kTrialRounds;
  static constexpr auto kTrials = kFirstTrials + static_cast<std::uint32_t>(kBeside.size()) * kTrialRounds;

  // One probe says that the answer was there before the rest. Several in a row: once or twice, this thread
  // may have been held up.
  bool too_late(bool there) noexcept {
    unprobed_ = 0;
    early_ = there ? early_ + 1 : 0;
    return early_ == kMostEarly;
  }
  void begin_trial() noexcept;
  std::uint32_t sixteenths_to_try() noexcept;

  std::uint32_t messages_ = 0;  // of this turn
  std::uint32_t due_ = kTrialMessages;
  std::uint32_t between_ = 1;     // candidate
  std::uint32_t sixteenths_ = 0;  // of the present rest before the first look
  std::uint32_t best_tried_ = 0;  // whose neighbours are tried
  std::uint64_t first_ = 0;       // cycles
  std::uint32_t in_vain_ = 0;     // rests before a first look since one brought an answer
  std::uint32_t unprobed_ = 0, early_ = 0;
  std::uint32_t rows_left_out_ = 0;  // so often no row is waited for
  std::uint32_t rows_in_vain_ = 0;
  std::uint32_t trial_ = 0;      // kTrials: settled
  std::uint64_t started_ = 0;    // 0: the trials begin with the next turn
  std::uint64_t turn_time_ = 0;  // from one message to the next, with the best rest between looks; in cycles
  std::array<std::uint64_t, kPauses.size()> best_between_{};
  std::array<std::uint64_t, kMostSixteenths + 1> best_first_{};  // by sixteenths
};

}  // namespace hamlyn::shm
