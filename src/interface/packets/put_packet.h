#pragma once
// Packets of puts (paper 4, section 3.3). They name the slot by an opening: what `open` asked for and `grant`
// gave, where slot, generation and key were checked; the record of it is compared with the slot each time. So
// 48 bytes of data go in the cell itself, as 40 went in theirs.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.h"
#include "base/namespaces.h"
#include "hamlyn/values/put.h"
#include "hamlyn/values/status.h"
#include "interface/packets/packet.h"
#include "interface/packets/strides.h"

namespace hamlyn::internal_::interface {

inline constexpr std::size_t kPutInline = 48;  // words 2 to 7
inline constexpr unsigned kNameBits = 8, kSerialBits = 12, kLengthBits = 6, kPutOffsetBits = 37;
inline constexpr std::uint64_t kPutSpan = std::uint64_t{1} << kPutOffsetBits;
// A name is given again when its slot has gone. What was sent before, and is late, has another serial:
// between two openings of one name a question and its answer go to and fro, so that a link's window has long
// passed when a serial comes again.
inline constexpr std::uint32_t kSerials = 1u << kSerialBits;

// Word 1 of the packet.
struct PutWord {
  std::uint32_t name = 0;    // of the place record
  std::uint32_t serial = 0;  // of its opening
  std::uint32_t length = 0;  // of `put`: bytes of data; of the others 0, or kAnnounced
  bool notify = false;
  std::uint64_t offset = 0;  // of `put`: from the slot's base; of `put_strided`: the stride of chunks
};

inline std::uint64_t opening_word(std::uint32_t name, std::uint32_t serial) noexcept {
  return name | std::uint64_t{serial} << kNameBits;
}
inline std::uint64_t put_word(std::uint64_t opening, std::size_t length, bool notify,
                              std::uint64_t offset) noexcept {
  constexpr unsigned kLengthAt = kNameBits + kSerialBits, kNotifyAt = kLengthAt + kLengthBits;
  return opening | static_cast<std::uint64_t>(length) << kLengthAt | std::uint64_t{notify} << kNotifyAt |
         offset << (kNotifyAt + 1);
}
inline PutWord put_word_of(std::uint64_t word) noexcept {
  constexpr unsigned kLengthAt = kNameBits + kSerialBits, kNotifyAt = kLengthAt + kLengthBits;
  static_assert(kNotifyAt + 1 + kPutOffsetBits == 64);
  return {.name = static_cast<std::uint32_t>(word & ((1u << kNameBits) - 1)),
          .serial = static_cast<std::uint32_t>(word >> kNameBits & (kSerials - 1)),
          .length = static_cast<std::uint32_t>(word >> kLengthAt & ((1u << kLengthBits) - 1)),
          .notify = (word >> kNotifyAt & 1) != 0,
          .offset = word >> (kNotifyAt + 1)};
}
// In the length: a part of a put of several packets that is announced behind the last of them.
inline constexpr std::uint32_t kAnnounced = 1;
// In the offset of a grant, beside the serial: the slot takes puts from this link, whatever places there are,
// or gives it what it gets. Of a refusal, the cause stands there.
inline constexpr std::uint32_t kOpenForPuts = 1u << 31;
inline constexpr std::uint32_t kOpenForGets = 1u << 30;
inline constexpr std::uint32_t kNoOpening = 0xFFFFFFFFu;
inline constexpr std::uint32_t kLostOpening = 0xFFFFFFFEu;  // one that has ended

// `opened_write`: a message in fast mode, within a host. Word 1 is that of a put that does not notify: the
// message is told of as any other. Words 2 to 6 are the data, word 7 is the user's.
inline constexpr std::size_t kOpenedInline = 40;
inline constexpr std::size_t kOpenedUserWord = 7;

// Bytes of data of a packet whose lead says that it is well formed.
inline std::uint64_t data_bytes(const Words& words) noexcept {
  const std::uint64_t lead = words.word[kLeadWord];
  const bool tight = is_put(lead) || is_opened_write(lead);
  return tight ? put_word_of(words.word[kSlotWord]).length : lead >> 32 & 0xFFFF;
}

// Data that stands in words 2 to 7: `put`, `got`. As numbers it is little-endian, wherever it comes from.
inline void set_tight_data(Packet& packet, const std::byte* data, std::size_t length) noexcept {
  std::byte bytes[kPutInline] = {};
  if (length != 0) std::memcpy(bytes, data, length);
  for (std::size_t i = 0; i < 4; ++i)
    set_word(packet, kKeyWord + i, base::load_little<std::uint64_t>(bytes + i * sizeof(std::uint64_t)));
  std::memcpy(packet.data, bytes + 4 * sizeof(std::uint64_t), kInlineData);
}
inline void tight_data(const Packet& packet, std::byte (&bytes)[kPutInline]) noexcept {
  for (std::size_t i = 0; i < 4; ++i)
    base::store_little(bytes + i * sizeof(std::uint64_t), word_at(packet, kKeyWord + i));
  std::memcpy(bytes + 4 * sizeof(std::uint64_t), packet.data, kInlineData);
}

// `put_block`: word 3 is the offset. An empty one that asks for notification follows a put of several
// packets, or what was done through a mapping: word 4 is how long that was, word 5 a Touched. Word 5 of one
// with data of 4 or 8 bytes: a Signal. Word 2 of such a one, if it is not 0, names an opening of another slot
// of that owner: what was put there before is signalled, too.
//
// `put_strided`: word 2 is the length of a chunk and how many a row has, word 3 the offset of the first, word
// 4 how many rows there are, and where in the data this packet begins, word 5 the stride of rows.
inline void set_strides(Packet& packet, const Strides& strides, std::uint64_t offset,
                        std::uint32_t at) noexcept {
  set_word(packet, kKeyWord, strides.chunk | std::uint64_t{strides.x_chunks} << 32);
  packet.offset = offset;
  set_word(packet, kEntryWord, strides.y_chunks | std::uint64_t{at} << 32);
  packet.word = strides.y_stride;
}
inline Strides strides_of(const Packet& packet, std::uint64_t x_stride) noexcept {
  const std::uint64_t row = word_at(packet, kKeyWord);
  return {.chunk = low_half(row),
          .x_chunks = high_half(row),
          .y_chunks = low_half(word_at(packet, kEntryWord)),
          .x_stride = x_stride,
          .y_stride = packet.word};
}

// Whether a put may be scattered, or a get gathered, so: all of its `length` bytes inside `bound`.
inline Status check_strides(const Strides& strides, std::uint64_t length, std::uint64_t offset,
                            std::uint64_t bound) noexcept {
  if (length == 0 || data_of(strides) != length) return Status::invalid;
  const Strides count = without_idle(strides);
  const bool fit = count.x_stride < kPutSpan && count.y_stride < kPutSpan;
  return fit && inside(count, offset, bound) ? Status::ok : Status::out_of_bounds;
}

// A get or a fetch of which the owner is to be told names the opening where others have an entry. No entry,
// nor what stands there for none (Ticket), looks like that.
inline constexpr unsigned kOpeningBits = kNameBits + kSerialBits;
inline constexpr std::uint64_t kSignalsOf = std::uint64_t{1} << kOpeningBits;  // beside it: a signal names it
inline constexpr std::uint32_t kTells = 1u << 31;
inline std::uint32_t telling_entry(std::uint64_t opening) noexcept {
  return kTells | (low_half(opening) & ((1u << kOpeningBits) - 1));
}
// A fetch without answer that counts as a put names it so, unless it does so already.
inline constexpr std::uint32_t kCounts = 3u << 30;
inline std::uint32_t counting_entry(std::uint64_t opening) noexcept {
  return kCounts | (low_half(opening) & ((1u << kOpeningBits) - 1));
}
inline std::uint64_t signals_of(std::uint64_t opening) noexcept {
  return kSignalsOf | (opening & (kSignalsOf - 1));
}
inline bool asks_to_tell(const Packet& packet) noexcept {
  return packet.entry >> kOpeningBits == kTells >> kOpeningBits;
}
inline bool names_opening(const Packet& packet) noexcept {
  return asks_to_tell(packet) || packet.entry >> kOpeningBits == kCounts >> kOpeningBits;
}

// A fence: slot, generation and key as in any request, in `delta` the low half of its opening's word, or all
// ones if there was none, one less if it has ended. With this bit above the opening's, it asks only whether
// that lasts, whatever kind of slot it is of; what was refused is still to be told to a fence.
inline constexpr std::uint32_t kLooks = 1u << kOpeningBits;
inline bool only_looks(std::uint32_t delta) noexcept {
  return delta >> kOpeningBits == kLooks >> kOpeningBits;
}

}  // namespace hamlyn::internal_::interface
