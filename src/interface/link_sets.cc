#include "interface/link_sets.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace hamlyn::internal_::interface {

LinkSets::Level LinkSets::level(unsigned number) const noexcept {
  Level out{0, things_};
  for (; number != 0; --number) out = out.above();
  return out;
}

void LinkSets::resize(std::size_t things, std::size_t words) {
  HAMLYN_ASSERT(things >= things_ && words >= words_, "a set only grows while there is anything in it");
  LinkSets fresh;
  fresh.things_ = static_cast<std::uint32_t>(things);
  fresh.words_ = static_cast<std::uint32_t>(words);
  Level top{0, things};
  while (!top.top()) top = top.above();
  fresh.bits_.resize((top.start + top.count) * words);
  for (std::size_t thing = 0; thing < std::min<std::size_t>(things_, things); ++thing) {
    for (std::size_t i = 0; i < std::min<std::size_t>(words_, words); ++i)
      fresh.bits_[thing * words + i] = bits_[thing * words_ + i];
  }
  for (Level below{0, things}; !below.top(); below = below.above()) {
    for (std::size_t thing = 0; thing < below.count; ++thing) {
      for (std::size_t i = 0; i < words; ++i)
        fresh.bits_[(below.above().start + thing / kBits) * words + i] |=
            fresh.bits_[(below.start + thing) * words + i];
    }
  }
  *this = std::move(fresh);
}

void LinkSets::add(std::size_t thing, std::uint32_t link) noexcept {
  HAMLYN_ASSERT(thing < things_ && link / kBits < words_, "the set was given room for both");
  const std::uint64_t bit = std::uint64_t{1} << link % kBits;
  Level at = level(0);
  for (;; at = at.above(), thing /= kBits) {
    word(at, thing, link) |= bit;
    if (at.top()) return;
  }
}

std::size_t LinkSets::take(std::uint32_t link) noexcept {
  if (bits_.empty()) return kNone;
  const std::uint64_t bit = std::uint64_t{1} << link % kBits;
  unsigned number = 0;
  while (!level(number).top()) ++number;
  std::size_t group = 0;
  for (;;) {
    const Level at = level(number);
    std::size_t thing = group * kBits;
    const std::size_t end = std::min(thing + kBits, at.count);
    while (thing != end && (word(at, thing, link) & bit) == 0) ++thing;
    if (thing == end) {
      if (at.top()) return kNone;
      word(level(++number), group, link) &= ~bit;  // the last below it was taken earlier
      group /= kBits;
    } else if (number != 0) {
      --number;
      group = thing;
    } else {
      HAMLYN_ASSERT(thing < things_, "the lowest level has the things themselves");
      word(at, thing, link) &= ~bit;
      return thing;
    }
  }
}

}  // namespace hamlyn::internal_::interface
