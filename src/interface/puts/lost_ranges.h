#pragma once
// Where parts of puts were refused that will be announced: a put is told of when it is whole, and whoever
// announces one says from where to where it was. A few ranges are kept apart, in order; of more the nearest
// are joined, so that a put which lost nothing may be refused with its neighbours, but none that lost a part
// is told of.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

class LostRanges {
 public:
  void add(std::uint64_t begin, std::uint64_t end) noexcept {
    Range range{begin, end};
    remove([&](const Range& other) {
      const bool touches = other.begin <= range.end && range.begin <= other.end;
      if (touches) range = {std::min(range.begin, other.begin), std::max(range.end, other.end)};
      return touches;
    });
    insert(range);
    if (count_ > kMost) join(end, end);
  }
  // Whether something of it was lost, which is forgotten: what is announced next was put since.
  bool take(std::uint64_t begin, std::uint64_t end) noexcept {
    if (count_ == 0) return false;
    Range left{}, right{};
    const std::size_t taken = remove([&](const Range& other) {
      if (end <= other.begin || other.end <= begin) return false;
      if (other.begin < begin) left = {other.begin, begin};
      if (end < other.end) right = {end, other.end};
      return true;
    });
    if (left.begin != left.end) insert(left);
    if (right.begin != right.end) insert(right);
    if (count_ > kMost) join(begin, end);
    return taken != 0;
  }

 private:
  static constexpr std::size_t kMost = 4;
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };

  template <class Which>
  std::size_t remove(Which which) noexcept {
    Range* const last = std::remove_if(ranges_.data(), ranges_.data() + count_, which);
    const std::size_t before = count_;
    count_ = static_cast<std::size_t>(last - ranges_.data());
    return before - count_;
  }
  void insert(const Range& range) noexcept {
    std::size_t at = count_++;
    for (; at != 0 && range.begin < ranges_[at - 1].begin; --at) ranges_[at] = ranges_[at - 1];
    ranges_[at] = range;
  }
  // The two that are nearest, but not across [begin, end), which was just taken: else it would be refused
  // for ever.
  void join(std::uint64_t begin, std::uint64_t end) noexcept {
    std::size_t best = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i + 1 < count_; ++i) {
      const std::uint64_t gap = ranges_[i + 1].begin - ranges_[i].end;
      const bool across = begin != end && ranges_[i].end <= begin && end <= ranges_[i + 1].begin;
      if (across || gap >= least) continue;
      least = gap;
      best = i;
    }
    ranges_[best].end = ranges_[best + 1].end;
    std::copy(ranges_.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              ranges_.begin() + static_cast<std::ptrdiff_t>(count_),
              ranges_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --count_;
  }

  std::size_t count_ = 0;
  std::array<Range, kMost + 1> ranges_{};  // one more while it is changed
};

}  // namespace hamlyn::internal_::interface
