#pragma once
// Numbers in the two orders that their bytes may have in memory. What travels between hosts is little-endian.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

inline constexpr bool kLittleEndian = std::endian::native == std::endian::little;
static_assert(kLittleEndian || std::endian::native == std::endian::big);

template <class Number>
Number turned(Number number) noexcept {
  std::byte bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  std::reverse(bytes, bytes + sizeof number);
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

template <class Number>
void store_little(std::byte* at, Number number) noexcept {
  if constexpr (!kLittleEndian) number = turned(number);
  std::memcpy(at, &number, sizeof number);
}

template <class Number>
Number load_little(const std::byte* at) noexcept {
  Number number;
  std::memcpy(&number, at, sizeof number);
  if constexpr (!kLittleEndian) number = turned(number);
  return number;
}

// Turns over each whole element of `element` bytes, 2, 4 or 8; for any other size there is nothing to do.
inline void swap_elements(std::byte* at, std::size_t length, std::size_t element) noexcept {
  if (element != 2 && element != 4 && element != 8) return;
  for (std::byte* const end = at + length / element * element; at != end; at += element)
    std::reverse(at, at + element);
}

}  // namespace hamlyn::internal_::base
