#pragma once
// Shapes of up to three dimensions: where the bytes of data belong that are scattered by a put, or gathered
// by a get (paper 4, section 3.3, WRITEV). They come from others: all of it is total.
#include <algorithm>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/put.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

// How many bytes of data those are; 0: none, or more than 4 GiB.
inline std::uint64_t data_of(const Strides& strides) noexcept {
  const std::uint64_t chunks = std::uint64_t{strides.x_chunks} * strides.y_chunks;
  if (chunks == 0 || strides.chunk == 0 || chunks > 0xFFFFFFFFu / strides.chunk) return 0;
  return chunks * strides.chunk;
}
// Whether all chunks lie inside `bound` bytes from `offset` on. Total.
inline bool inside(const Strides& strides, std::uint64_t offset, std::uint64_t bound) noexcept {
  std::uint64_t row = 0, rows = 0, end = 0;
  return !__builtin_mul_overflow(strides.x_stride, std::uint64_t{strides.x_chunks} - 1, &row) &&
         !__builtin_mul_overflow(strides.y_stride, std::uint64_t{strides.y_chunks} - 1, &rows) &&
         !__builtin_add_overflow(row, rows, &end) && !__builtin_add_overflow(end, strides.chunk, &end) &&
         !__builtin_add_overflow(end, offset, &end) && end <= bound;
}
// Where a stride counts for nothing, because there is one chunk, or one row, it is 0.
inline Strides without_idle(Strides strides) noexcept {
  if (strides.x_chunks == 1) strides.x_stride = 0;
  if (strides.y_chunks == 1) strides.y_stride = 0;
  return strides;
}
// From the first byte to behind the last; they are inside some bound.
inline std::uint64_t span_of(const Strides& strides) noexcept {
  return strides.x_stride * (strides.x_chunks - std::uint64_t{1}) +
         strides.y_stride * (strides.y_chunks - std::uint64_t{1}) + strides.chunk;
}
// Where byte `at` of the data belongs, from the first chunk on.
inline std::uint64_t place_of(const Strides& strides, std::uint64_t at) noexcept {
  const std::uint64_t chunk = at / strides.chunk;
  return chunk / strides.x_chunks * strides.y_stride + chunk % strides.x_chunks * strides.x_stride +
         at % strides.chunk;
}

// Some of the data, from byte `at` on, as a shape of its own: where it begins, from the first chunk on.
struct StridedRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Strides strides;
};
// As much as is a shape and not longer than `most`, which is not 0: whole rows, or whole chunks of a row, or
// of a chunk that is longer what is left of it.
inline StridedRange part_of(const Strides& strides, std::uint64_t at, std::uint64_t most) noexcept {
  const std::uint64_t done = at % strides.chunk, chunk = at / strides.chunk;
  const std::uint64_t x = chunk % strides.x_chunks, y = chunk / strides.x_chunks;
  const std::uint64_t row = std::uint64_t{strides.chunk} * strides.x_chunks;
  StridedRange part{.offset = place_of(strides, at), .length = 0, .strides = strides};
  if (done != 0 || strides.chunk > most) {
    part.strides = {.chunk = static_cast<std::uint32_t>(std::min(strides.chunk - done, most))};
  } else if (x != 0 || row > most) {
    part.strides.x_chunks =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(strides.x_chunks - x, most / strides.chunk));
    part.strides.y_chunks = 1;
  } else {
    part.strides.y_chunks =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(strides.y_chunks - y, most / row));
  }
  part.length = data_of(part.strides);
  return part;
}

// `get_strided`: `delta` is the bytes of all of it, `offset` of the first. Its two words of data are the
// stride of chunks, and a chunk's length; the stride of rows, and how many chunks a row has.
inline constexpr unsigned kStrideBits = 48;
static_assert(kStrideBits + 16 == 64);

inline void set_gather(Packet& packet, const Strides& shape) noexcept {
  const Strides strides = without_idle(shape);
  const std::uint64_t words[] = {strides.x_stride | (std::uint64_t{strides.chunk} - 1) << kStrideBits,
                                 strides.y_stride | (std::uint64_t{strides.x_chunks} - 1) << kStrideBits};
  std::memcpy(packet.data, words, sizeof words);
}
// Its rows are as many as the length says; 0 rows: no shape has that length.
inline Strides gather_of(const Packet& packet) noexcept {
  constexpr std::uint64_t kStride = (std::uint64_t{1} << kStrideBits) - 1;
  std::uint64_t words[2];
  static_assert(sizeof words == kInlineData);
  std::memcpy(words, packet.data, sizeof words);
  Strides strides{.chunk = static_cast<std::uint32_t>((words[0] >> kStrideBits) + 1),
                  .x_chunks = static_cast<std::uint32_t>((words[1] >> kStrideBits) + 1),
                  .y_chunks = 0,
                  .x_stride = words[0] & kStride,
                  .y_stride = words[1] & kStride};
  const std::uint64_t row = std::uint64_t{strides.chunk} * strides.x_chunks;
  if (packet.delta % row == 0) strides.y_chunks = static_cast<std::uint32_t>(packet.delta / row);
  return strides;
}

}  // namespace hamlyn::internal_::interface
