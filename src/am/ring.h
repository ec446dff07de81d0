#pragma once
// Which part of a landing ring is free, as its sender knows it. Parts are taken one behind the other, and are
// free again in that order. A part lies in one piece: what is left at the end is taken with it.
#include <cstdint>

#include "am/am_wire.h"
#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::am {

class Ring {
 public:
  explicit Ring(std::uint32_t units = 0) noexcept : units_(units) {}

  // A place for so many units. False: there is none now. `taken` is what `free` is to be given back.
  bool take(std::uint32_t units, std::uint32_t& at, std::uint32_t& taken) noexcept {
    const std::uint32_t rest = units_ - next_;
    if (units >= rest) [[unlikely]]
      return take_at_end(units, rest, at, taken);
    if (units > units_ - used_) return false;
    at = next_;
    next_ += units;
    taken = units;
    used_ += units;
    return true;
  }
  // Undoes the last `take`.
  void give_back(std::uint32_t at, std::uint32_t units, std::uint32_t taken) noexcept {
    next_ = taken == units ? at : units_ - (taken - units);
    used_ -= taken;
  }
  // The oldest part is free.
  void free(std::uint32_t taken) noexcept {
    HAMLYN_ASSERT(used_ >= taken, "only what was taken is freed");
    used_ -= taken;
    if (used_ == 0) next_ = 0;  // the same lines again
  }
  std::uint32_t units() const noexcept { return units_; }
  std::uint32_t used() const noexcept { return used_; }

 private:
  // A place that the rest of the ring is taken with.
  bool take_at_end(std::uint32_t units, std::uint32_t rest, std::uint32_t& at,
                   std::uint32_t& taken) noexcept {
    const std::uint32_t waste = units > rest ? rest : 0;
    if (units > units_ || waste + units > units_ - used_) return false;
    at = waste != 0 ? 0 : next_;
    next_ = at + units == units_ ? 0 : at + units;
    taken = waste + units;
    used_ += taken;
    return true;
  }

  std::uint32_t units_, next_ = 0, used_ = 0;
};

// Room that a side has not said to be free is counted in parts of its ring, whichever ring that is: this is
// all of it. A quarter is never owed, so that whoever waits for room gets it.
inline constexpr std::uint32_t kWholeRing = kMostRing / kUnit;
// Weight of a unit of a ring of so many bytes.
constexpr std::uint32_t unit_weight(std::size_t ring) noexcept {
  return static_cast<std::uint32_t>(kMostRing / ring);
}

constexpr std::uint32_t units_of(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + kUnit - 1) / kUnit);
}

}  // namespace hamlyn::internal_::am
