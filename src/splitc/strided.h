#pragma once
// Shapes of what is moved: whether they fit, and copies between a heap and memory of the rank's own, in one
// run or in chunks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/copy.h"
#include "base/namespaces.h"
#include "hamlyn/values/put.h"

namespace hamlyn::internal_::splitc {

// Whether so many bytes, or such a shape of them, lie within `room`.
inline bool fits(std::uint64_t room, std::uint64_t bytes, const Strides* strides) noexcept {
  if (strides == nullptr) return bytes <= room;
  std::uint64_t chunks = 0, all = 0, x = 0, y = 0, reach = 0;
  if (strides->chunk == 0 || strides->x_chunks == 0 || strides->y_chunks == 0) return false;
  if (__builtin_mul_overflow(std::uint64_t{strides->x_chunks}, std::uint64_t{strides->y_chunks}, &chunks) ||
      __builtin_mul_overflow(chunks, std::uint64_t{strides->chunk}, &all) || all != bytes)
    return false;
  return !__builtin_mul_overflow(strides->x_stride, std::uint64_t{strides->x_chunks} - 1, &x) &&
         !__builtin_mul_overflow(strides->y_stride, std::uint64_t{strides->y_chunks} - 1, &y) &&
         !__builtin_add_overflow(x, y, &reach) &&
         !__builtin_add_overflow(reach, std::uint64_t{strides->chunk}, &reach) && reach <= room;
}

// Calls `copy(distance, at, bytes)` for each chunk: its distance in the heap, and where it stands in the run.
template <class Copy>
void for_each_chunk(std::size_t bytes, const Strides* strides, Copy copy) {
  if (strides == nullptr) return copy(0, 0, bytes);
  std::size_t at = 0;
  for (std::uint32_t y = 0; y != strides->y_chunks; ++y)
    for (std::uint32_t x = 0; x != strides->x_chunks; ++x, at += strides->chunk)
      copy(y * strides->y_stride + x * strides->x_stride, at, strides->chunk);
}

inline void gather_from(std::span<std::byte> into, const std::byte* heap, const Strides* strides) {
  for_each_chunk(into.size(), strides, [&](std::size_t distance, std::size_t at, std::size_t bytes) {
    base::copy_from_shared(into.data() + at, heap + distance, bytes);
  });
}
inline void scatter_to(std::byte* heap, std::span<const std::byte> from, const Strides* strides) {
  for_each_chunk(from.size(), strides, [&](std::size_t distance, std::size_t at, std::size_t bytes) {
    base::copy_to_shared(heap + distance, from.data() + at, bytes);
  });
}

}  // namespace hamlyn::internal_::splitc
