#pragma once
// Packets of messages to posted buffers. They are `write` and `write_acknowledged` with a metadata entry that
// is none: the receiving interface chooses the buffer. So offset, delta and incarnation are free for others:
//
//   word 3  low half: where the packet's data begins in the message; high half: bytes of the whole message
//   word 4  low half: kPostedEntry; high half: the upper half of the sender's word
//   word 5  low half: the message's number; high half: the lower half of the sender's word
//
// Each packet says how long the message is, so that whichever comes first can take a buffer. An `abandon` has
// in the high half of word 4 the bytes of the message that will not come.
//
// A telling put is one packet, whose entry is kTellingEntry. It takes a buffer, in which nothing lands: its
// data lands in another slot of that owner, by an opening (put_packet.h). Word 3 is as word 1 of a put,
// without a length. `notify` there says that its sender knows of no right to put: it is refused, and counted.
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/ticket.h"
#include "interface/packets/packet.h"
#include "interface/packets/put_packet.h"

namespace hamlyn::internal_::interface {

inline constexpr std::uint32_t kPostedEntry = Ticket::kPosted;
inline constexpr std::uint32_t kTellingEntry = kPostedEntry - 1;

struct PostedPart {
  std::uint32_t at = 0;      // in the message
  std::uint32_t length = 0;  // of this packet's data
  std::uint32_t total = 0;   // of the whole message
  std::uint32_t message = 0;
  std::uint64_t word = 0;  // the sender's

  bool whole() const noexcept { return at == 0 && length == total; }
};

inline PostedPart posted_part_of(const Words& words) noexcept {
  const std::uint64_t where = words.word[kOffsetWord], named = words.word[kUserWord];
  return {.at = low_half(where),
          .length = static_cast<std::uint32_t>(words.word[kLeadWord] >> 32 & 0xFFFF),
          .total = high_half(where),
          .message = low_half(named),
          .word = std::uint64_t{high_half(words.word[kEntryWord])} << 32 | high_half(named)};
}

// Whether it takes a posted buffer.
inline bool is_posted(const Packet& packet) noexcept { return packet.entry - kTellingEntry <= 1; }
inline bool is_telling(const Packet& packet) noexcept { return packet.entry == kTellingEntry; }

inline std::uint64_t offset_word_of(const PostedPart& part) noexcept {
  return std::uint64_t{part.total} << 32 | part.at;
}
inline std::uint64_t entry_word_of(const PostedPart& part) noexcept {
  return std::uint64_t{high_half(part.word)} << 32 | kPostedEntry;
}
inline std::uint64_t user_word_of(const PostedPart& part) noexcept {
  return std::uint64_t{low_half(part.word)} << 32 | part.message;
}
// Reads a telling put, which as a message is whole.
inline PostedPart telling_part_of(const Words& words) noexcept {
  PostedPart part = posted_part_of(words);
  part.at = 0;
  part.total = part.length;
  return part;
}
inline std::uint64_t telling_entry_word(std::uint64_t word) noexcept {
  return std::uint64_t{high_half(word)} << 32 | kTellingEntry;
}
inline std::uint64_t telling_user_word(std::uint32_t message, std::uint64_t word) noexcept {
  return std::uint64_t{low_half(word)} << 32 | message;
}
// `opening`: kNoRight, if the sender knows of none.
inline constexpr std::uint64_t kNoRight = std::uint64_t{1} << (kNameBits + kSerialBits + kLengthBits);
inline std::uint64_t telling_where(std::uint64_t opening, std::uint64_t offset) noexcept {
  return opening | put_word(0, 0, false, offset);
}
inline void set_posted(Packet& packet, const PostedPart& part) noexcept {
  packet.offset = offset_word_of(part);
  set_word(packet, kEntryWord, entry_word_of(part));
  packet.word = user_word_of(part);
}

// One link fills so many buffers of a slot at a time with messages of several packets. A sender begins no
// more to one peer: at each level its share, so that none waits for the other level's room.
inline constexpr std::uint32_t kPostedUnderWay = 16;
inline constexpr std::uint32_t kPostedOfLevel = kPostedUnderWay / kPriorities;

}  // namespace hamlyn::internal_::interface
