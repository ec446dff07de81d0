#pragma once
// How a transfer is cut into messages (splitc/vi/message.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/namespaces.h"
#include "splitc/vi/message.h"

namespace hamlyn::internal_::splitc {

template <class Each>
void for_each_run(std::uint64_t place, std::size_t at, std::size_t bytes, Each each) {
  for (std::size_t done = 0; done != bytes;) {
    const std::size_t length = std::min(kMostMessage, bytes - done);
    each(Piece{place + done, at + done, 0, static_cast<std::uint32_t>(length), 1});
    done += length;
  }
}

// Calls `each(piece)` for all of a transfer, whose shape was checked. A message has several chunks if they
// are at equal distances.
template <class Each>
void for_each_piece(std::uint64_t place, std::size_t bytes, const Strides* strides, Each each) {
  if (strides == nullptr) return for_each_run(place, 0, bytes, each);
  Strides s = *strides;
  if (s.x_chunks == 1) {
    std::swap(s.x_chunks, s.y_chunks);
    std::swap(s.x_stride, s.y_stride);
  }
  const auto together = static_cast<std::uint32_t>(std::max<std::size_t>(kMostMessage / s.chunk, 1));
  std::size_t at = 0;
  for (std::uint32_t y = 0; y != s.y_chunks; ++y)
    for (std::uint32_t x = 0; x != s.x_chunks;) {
      const std::uint64_t from = place + y * s.y_stride + x * s.x_stride;
      const std::uint32_t count = std::min(together, s.x_chunks - x);
      if (count == 1)
        for_each_run(from, at, s.chunk, each);
      else
        each(Piece{from, at, s.x_stride, s.chunk, count});
      at += std::size_t{s.chunk} * count;
      x += count;
    }
}

}  // namespace hamlyn::internal_::splitc
