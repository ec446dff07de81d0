#pragma once
// Which places of a heap are taken. A rank's own blocks lie below, those at the same place everywhere above,
// and the room between is for either. Pure: it touches no memory of the heap.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::splitc {

// Blocks that grow from one end of a range to the other, with holes of those that were given back. Places are
// distances from the first end; all are multiples of kStep.
class Blocks {
 public:
  static constexpr std::uint64_t kStep = 64;
  static constexpr std::uint64_t rounded(std::uint64_t bytes) noexcept {
    return std::max(kStep, (bytes + kStep - 1) / kStep * kStep);
  }

  // Where a block of so many bytes would lie: the first hole that is large enough, or behind all.
  std::uint64_t place_for(std::uint64_t bytes) const noexcept {
    const auto hole =
        std::ranges::find_if(holes_, [&](const auto& each) { return each.second >= rounded(bytes); });
    return hole != holes_.end() ? hole->first : end_;
  }
  void take(std::uint64_t place, std::uint64_t bytes) {
    bytes = rounded(bytes);
    taken_.emplace(place, bytes);
    if (place == end_) {
      end_ += bytes;
      return;
    }
    const auto hole = holes_.find(place);
    HAMLYN_ASSERT(hole != holes_.end() && hole->second >= bytes, "place_for said that it is free");
    if (hole->second != bytes) holes_.emplace(place + bytes, hole->second - bytes);
    holes_.erase(hole);
  }
  // False: no block begins there.
  bool give(std::uint64_t place) {
    const auto found = taken_.find(place);
    if (found == taken_.end()) return false;
    auto hole = holes_.emplace(place, found->second).first;
    taken_.erase(found);
    if (const auto next = std::next(hole);
        next != holes_.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      holes_.erase(next);
    }
    if (hole != holes_.begin()) {
      const auto before = std::prev(hole);
      if (before->first + before->second == hole->first) {
        before->second += hole->second;
        holes_.erase(hole);
        hole = before;
      }
    }
    if (hole->first + hole->second == end_) {
      end_ = hole->first;
      holes_.erase(hole);
    }
    return true;
  }
  // Behind all that is taken.
  std::uint64_t end() const noexcept { return end_; }
  std::uint64_t largest_hole() const noexcept {
    std::uint64_t most = 0;
    for (const auto& [place, bytes] : holes_) most = std::max(most, bytes);
    return most;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> taken_, holes_;
  std::uint64_t end_ = 0;
};

class HeapBook {
 public:
  explicit HeapBook(std::uint64_t bytes) : bytes_(bytes / Blocks::kStep * Blocks::kStep) {}

  // Takes a block of this rank's own. Nothing: there is no room.
  std::optional<std::uint64_t> take(std::uint64_t bytes) {
    if (bytes > bytes_) return std::nullopt;
    const std::uint64_t place = own_.place_for(bytes);
    const std::uint64_t top = bytes_ - std::max(above(), reserved_);
    if (place == own_.end() && (place > top || Blocks::rounded(bytes) > top - place)) return std::nullopt;
    own_.take(place, bytes);
    return place;
  }
  bool give(std::uint64_t place) { return own_.give(place); }

  // The two steps of a block that lies at the same place in all heaps. First each rank reserves it: nothing
  // of its own is put there meanwhile. Nothing: no heap is as large.
  std::optional<std::uint64_t> reserve_everywhere(std::uint64_t bytes) {
    if (bytes > bytes_) return std::nullopt;
    const std::uint64_t rounded = Blocks::rounded(bytes), from_above = everywhere_.place_for(bytes) + rounded;
    if (from_above > bytes_) return std::nullopt;
    reserved_ = std::max(from_above, above());
    return bytes_ - from_above;
  }
  // And then takes it, if it is free everywhere, or leaves it.
  void take_everywhere(std::uint64_t place, std::uint64_t bytes) {
    everywhere_.take(bytes_ - place - Blocks::rounded(bytes), bytes);
    sizes_.emplace(place, bytes);
    reserved_ = 0;
  }
  void leave_everywhere() noexcept { reserved_ = 0; }
  bool give_everywhere(std::uint64_t place) {
    const auto found = sizes_.find(place);
    if (found == sizes_.end()) return false;
    everywhere_.give(bytes_ - place - Blocks::rounded(found->second));
    sizes_.erase(found);
    return true;
  }

  // Behind this rank's own blocks.
  std::uint64_t below() const noexcept { return own_.end(); }
  // The largest block that this rank may have of its own.
  std::uint64_t largest() const noexcept { return std::max(bytes_ - below() - above(), own_.largest_hole()); }

 private:
  std::uint64_t above() const noexcept { return everywhere_.end(); }

  const std::uint64_t bytes_;
  Blocks own_;         // from below
  Blocks everywhere_;  // from above: a block's place is the distance of its end from the heap's
  std::map<std::uint64_t, std::uint64_t> sizes_;  // of those, by their places
  std::uint64_t reserved_ = 0;                    // from above, while ranks agree
};

}  // namespace hamlyn::internal_::splitc
