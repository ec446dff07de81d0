#pragma once
// Options of a caller who was compiled with another version of hamlyn/c.h: shorter ones lack the members that
// came later, longer ones have members that are not known here, which may say nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hamlyn/c.h"

namespace hamlyn::c {

// The flags that say of what size the data's numbers are have that size as their value.
inline constexpr std::uint64_t kElements = HAMLYN_ELEMENT_2 | HAMLYN_ELEMENT_4 | HAMLYN_ELEMENT_8;
static_assert(HAMLYN_ELEMENT_2 == 2 && HAMLYN_ELEMENT_4 == 4 && HAMLYN_ELEMENT_8 == 8);
inline std::uint32_t element_in(std::uint64_t flags) noexcept {
  return static_cast<std::uint32_t>(flags & kElements);
}

// Says what is wrong with `given`, or null; then `options` has what it says, 0 where it says nothing. `first`
// is the size of the structure's first version.
template <class Options>
const char* take_options(const Options* given, Options& options,
                         std::size_t first = sizeof(Options)) noexcept {
  options = {};
  if (given == nullptr) return nullptr;
  const std::size_t size = given->size;
  // One between two versions would have but a part of a member.
  if (size < first || size % alignof(Options) != 0) return "the options' size is none that they ever had";
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof(Options) &&
      std::any_of(bytes + sizeof(Options), bytes + size, [](unsigned char byte) { return byte != 0; }))
    return "the options have members that this library does not know";
  std::memcpy(&options, given, std::min(size, sizeof(Options)));
  return nullptr;
}

}  // namespace hamlyn::c
