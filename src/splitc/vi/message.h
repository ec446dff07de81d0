#pragma once
// Messages of Split-C over VI (paper 2, section 6; docs/wire.md, "Split-C over VI"). A message's word is the
// immediate data of a send. Its bytes begin with where it goes, unless it is a reply.
//
// Requests are numbered, and are handled in that order, whatever overtakes what. A reply bears the number of
// its request. Stores have no replies: some of them are acknowledged together.
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/put.h"

namespace hamlyn::internal_::splitc {

inline constexpr std::uint32_t kViWireVersion = 1;
inline constexpr std::size_t kMostMessage = 4096;  // bytes of data in one message
inline constexpr std::uint32_t kStandardCredits = 8, kMostCredits = 32;

enum class Say : std::uint8_t {
  // Requests.
  read = 1,
  write,
  store,
  count,  // adds 1 to a word, behind stores
  fetch,  // an operation on a word
  read_rows,
  write_rows,
  store_rows,
  // Replies.
  data,  // what was read, or what stood in a word
  done,
  acknowledge,  // of stores: how many
};
constexpr bool is_request(Say say) noexcept { return say >= Say::read && say <= Say::store_rows; }
// Whether only the target hears of it.
constexpr bool is_store(Say say) noexcept {
  return say == Say::store || say == Say::count || say == Say::store_rows;
}

struct Word {
  Say say{};
  std::uint16_t number = 0;  // of the request
  std::uint16_t bytes = 0;   // of data; of `acknowledge`, stores
};
inline constexpr unsigned kNumberAt = 4, kBytesAt = 16;
inline constexpr std::uint32_t kNumbers = 0xFFF, kSays = 0xF;

constexpr std::uint32_t bits_of(const Word& word) noexcept {
  return static_cast<std::uint32_t>(word.say) | (word.number & kNumbers) << kNumberAt |
         std::uint32_t{word.bytes} << kBytesAt;
}
constexpr Word word_of(std::uint32_t bits) noexcept {
  return {static_cast<Say>(bits & kSays), static_cast<std::uint16_t>(bits >> kNumberAt & kNumbers),
          static_cast<std::uint16_t>(bits >> kBytesAt)};
}
static_assert(kMostCredits < kNumbers && kMostMessage <= 0xFFFF);

// Begins a read, a write, a store or a count.
struct Place {
  std::uint64_t place = 0;  // in the segment of the rank that it goes to
};
static_assert(sizeof(Place) == 8);

// Begins those of several rows: chunks of as many bytes, at equal distances.
struct Rows {
  std::uint64_t place = 0;   // of the first
  std::uint64_t stride = 0;  // from the beginning of one to that of the next
  std::uint32_t chunk = 0;   // bytes of one
  std::uint32_t count = 0;
};
static_assert(sizeof(Rows) == 24);

// Says what is done to a word.
struct WordRequest {
  std::uint64_t place = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint32_t op = 0;     // as hamlyn::FetchOp
  std::uint32_t bytes = 0;  // of the word: 4 or 8
};
static_assert(sizeof(WordRequest) == 32);

inline constexpr std::size_t kMostBytes = sizeof(Rows) + kMostMessage;  // of a message

// Part of a transfer that one message moves: chunks at the other rank, one behind the other here.
struct Piece {
  std::uint64_t place = 0;
  std::size_t at = 0;  // here
  std::uint64_t stride = 0;
  std::uint32_t chunk = 0, count = 1;

  std::size_t bytes() const noexcept { return std::size_t{chunk} * count; }
  Strides strides() const noexcept {
    return {.chunk = chunk, .x_chunks = count, .y_chunks = 1, .x_stride = stride};
  }
};

}  // namespace hamlyn::internal_::splitc
