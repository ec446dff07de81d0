#pragma once
// Histories of compare-and-swaps on one word, and whether they can have been.
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace hamlyn::test {

struct SwapEvent {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t begun = 0, over = kNever;  // never: nobody knows whether it was done
  std::uint64_t expected = 0, desired = 0, found = 0;
};

// Whether the operations can be put into an order that agrees with their times, and in which each finds what
// it says: once each, those of unknown end at most once (Wing and Gong, with what was tried kept).
class SwapExplanation {
 public:
  explicit SwapExplanation(std::vector<SwapEvent> events)
      : events_(std::move(events)), done_(events_.size()) {}
  // `value`: what the word was at first.
  bool exists(std::uint64_t value);

 private:
  const std::vector<SwapEvent> events_;
  std::vector<bool> done_;
  std::set<std::pair<std::vector<bool>, std::uint64_t>> tried_;
};

}  // namespace hamlyn::test
