#pragma once
// Copies between a heap and memory of the rank's own, in one run or in chunks.
#include <cstddef>
#include <span>

#include "base/copy.h"
#include "base/namespaces.h"
#include "hamlyn/values/put.h"

namespace hamlyn::internal_::splitc {

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
