#pragma once
// The self-describing packet (paper 0, table 1), as it stands in a cell of 64 bytes: header and up to 16
// bytes of data move as one cache line. docs/wire.md has every byte.
//
// The destination host and the link's identity are not in it: they come from the link, attested at the
// introduction, never from a header.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/byte_order.h"
#include "base/copy.h"
#include "base/namespaces.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::interface {

inline constexpr std::size_t kCell = 64;
inline constexpr std::size_t kInlineData = 16;
inline constexpr std::size_t kMetadataLimit = 60;
inline constexpr std::size_t kPacketLimit = 32768;  // the largest MTU
inline constexpr std::size_t kReplyPayload = 256;   // the most data that one reply carries
inline constexpr std::uint32_t kNoEntry = 0xFFFFFFFFu;

enum class Operation : std::uint8_t {
  none = 0,
  write = 1,   // data into a slot
  open = 2,    // asks for notification places at a slot: word = credit_word()
  grant = 3,   // reply: word = open's, delta = places (0: refused, see `slot`), entry = the place record
  credit = 4,  // reply: word = open's, delta = places freed so far, modulo 2^32
  continue_ring = 5,        // the next cell is the first of a new ring, already shown to the reader
  area_write = 6,           // as write, but the data stands in an area of the sender (send_area.h)
  get = 7,                  // asks for bytes of a slot (interface/remote/remote.h)
  get_data = 8,             // some of them: a reply, or behind messages if there are many
  fetch = 9,                // fetch-and-op on a word of a slot
  fetched = 10,             // reply: it is done, and what stood there before
  abandon = 11,             // the rest of a message will not come: slot to entry, and word, as in its packets
  delivered = 12,           // reply: word = message, delta = 0 when it has landed, otherwise the Refusal
  refused_request = 13,     // reply: a get or a fetch was refused
  write_acknowledged = 14,  // a write, the first packet of a message that asks for `delivered`
  put = 15,                 // up to 48 bytes into a slot, and nothing said of it (put_packet.h)
  put_block = 16,           // the same, with its data behind it
  put_strided = 17,         // the same, in chunks
  fence = 18,               // asks whether all puts before it have landed; `fetched` answers
  got = 19,                 // reply: up to 48 bytes of a get, which are all of it
  get_strided = 20,         // as get, from chunks (strides.h); answered as one
  opened_write = 21,        // a write in fast mode of up to 40 bytes, by an opening (put_packet.h)
  taken_requests = 22,      // reply: delta = gets, fetches and fences of each level that are taken at a time
  watch = 23,  // asks for a word of a slot once it is another (remote/watches.cc); `fetched` answers
};

// A packet is moved, stored and compared as words of eight bytes. They are the same numbers on every machine:
// where the highest byte comes first, the fields of each word stand the other way round.

// The first eight bytes of a cell are written last, as one store: the turn says that the rest is there.
// Outside of rings the element (element.h) has its place.
struct Lead {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  std::uint32_t turn;
  std::uint16_t length;  // bytes of data
  Operation operation;
  std::uint8_t metadata_length;  // bytes of metadata, in a cell of their own behind this one
#else
  std::uint8_t metadata_length;
  Operation operation;
  std::uint16_t length;
  std::uint32_t turn;
#endif
};

struct alignas(kCell) Packet {
  Lead lead;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  std::uint32_t slot;
  std::uint32_t generation;
#else
  std::uint32_t generation;
  std::uint32_t slot;
#endif
  std::uint64_t key;
  std::uint64_t offset;  // bytes from the slot's base
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  std::uint32_t entry;  // metadata index; all ones: fast mode
  std::uint32_t delta;  // added to the entry's accumulator; fast mode: the granted place record
#else
  std::uint32_t delta;
  std::uint32_t entry;
#endif
  std::uint64_t word;           // fast mode: the user's word; otherwise message id and incarnation
  std::byte data[kInlineData];  // the data, if it is no longer than this; otherwise it follows in cells
};

static_assert(sizeof(Lead) == 8 && sizeof(Packet) == kCell && std::is_trivially_copyable_v<Packet>);
static_assert(offsetof(Packet, key) == 16 && offsetof(Packet, offset) == 24 && offsetof(Packet, word) == 40 &&
              offsetof(Packet, data) == 48);
static_assert(!base::kLittleEndian || (offsetof(Packet, slot) == 8 && offsetof(Packet, entry) == 32));

inline constexpr std::size_t kLeadWord = 0, kSlotWord = 1, kKeyWord = 2, kOffsetWord = 3, kEntryWord = 4,
                             kUserWord = 5, kDataWord = 6;

inline std::uint32_t low_half(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
inline std::uint32_t high_half(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }

// The number by which notifications name a slot: its index, and the low half of its generation, so that what
// still stands in a queue of a slot that has gone is not taken for one's that was made in its place.
inline std::uint32_t number_of(std::uint64_t slot_word) noexcept {
  return low_half(slot_word | slot_word >> 16);
}
inline std::uint32_t index_of(std::uint32_t number) noexcept { return number & 0xFFFFu; }
// Generation of the next slot in the same place. Neither half of its number is that of a notification that
// names none.
inline std::uint32_t next_generation(std::uint32_t generation) noexcept {
  do {
    ++generation;
  } while ((generation & 0xFFFFu) == 0 || (generation & 0xFFFFu) == 0xFFFFu);
  return generation;
}

// Message id and incarnation of a counted message share the word.
inline std::uint64_t message_word(std::uint32_t message, std::uint32_t incarnation) noexcept {
  return std::uint64_t{incarnation} << 32 | message;
}
inline std::uint32_t message_of(std::uint64_t word) noexcept { return low_half(word); }
inline std::uint32_t incarnation_of(std::uint64_t word) noexcept { return high_half(word); }

// The header is stored in whole words, so that the link's loads of whole words need not wait for narrow
// stores.
inline void set_word(Packet& packet, std::size_t index, std::uint64_t word) noexcept {
  std::memcpy(reinterpret_cast<std::byte*>(&packet) + index * sizeof word, &word, sizeof word);
}
inline void set_lead(Packet& packet, Operation operation, std::size_t length, std::size_t metadata,
                     std::uint32_t element = 0) noexcept {
  set_word(packet, kLeadWord,
           element | static_cast<std::uint64_t>(length) << 32 |
               std::uint64_t{static_cast<std::uint8_t>(operation)} << 48 |
               static_cast<std::uint64_t>(metadata) << 56);
}
inline std::uint64_t slot_word(const Ticket& ticket) noexcept {
  if constexpr (!base::kLittleEndian) return std::uint64_t{ticket.generation} << 32 | ticket.slot;
  std::uint64_t word;
  std::memcpy(&word, &ticket.slot, sizeof word);
  return word;
}
inline void set_slot(Packet& packet, const Ticket& ticket) noexcept {
  set_word(packet, kSlotWord, slot_word(ticket));
  packet.key = ticket.key;
}
inline void set_entry(Packet& packet, std::uint32_t entry, std::uint32_t delta) noexcept {
  set_word(packet, kEntryWord, std::uint64_t{delta} << 32 | entry);
}

// A packet as the link moves it. Short packets are compared and stored as words in registers; only others are
// looked at field by field.
struct Words {
  std::uint64_t word[kCell / sizeof(std::uint64_t)];
};
inline Packet packet_of(const Words& words) noexcept {
  Packet packet;
  base::copy_words<kCell / sizeof(std::uint64_t)>(&packet, words.word);
  return packet;
}
inline Words words_of(const Packet& packet) noexcept {
  Words words;
  std::memcpy(&words, &packet, sizeof words);
  return words;
}
inline std::uint64_t word_at(const Packet& packet, std::size_t index) noexcept {
  std::uint64_t word;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&packet) + index * sizeof word, sizeof word);
  return word;
}

// The lead of a packet with data for a slot and nothing beside it, apart from its turn. Of one cell it is by
// far the most frequent kind, valid under any MTU.
inline std::uint64_t write_lead(std::size_t length) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(Operation::write)} << 48 | static_cast<std::uint64_t>(length)
                                                                                << 32;
}
inline bool is_short_write(std::uint64_t lead) noexcept {
  const std::uint64_t rest = lead >> 32;
  return rest - (std::uint64_t{static_cast<std::uint8_t>(Operation::write)} << 16) <= kInlineData;
}

// A write of more than fits the header's cell, up to `most` bytes, and nothing beside them.
inline bool is_block_write(std::uint64_t lead, std::uint64_t most) noexcept {
  const std::uint64_t rest = lead >> 32;
  const std::uint64_t length = rest - (std::uint64_t{static_cast<std::uint8_t>(Operation::write)} << 16);
  return length - (kInlineData + 1) < most - kInlineData;
}

// Lead of a short put.
inline std::uint64_t put_lead() noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(Operation::put)} << 48 | std::uint64_t{kInlineData} << 32;
}
inline bool is_put(std::uint64_t lead) noexcept { return lead >> 32 == put_lead() >> 32; }

// Lead of a short message by an opening.
inline std::uint64_t opened_lead() noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(Operation::opened_write)} << 48 | std::uint64_t{kInlineData}
                                                                                       << 32;
}
inline bool is_opened_write(std::uint64_t lead) noexcept { return lead >> 32 == opened_lead() >> 32; }

inline bool is_area_write(std::uint64_t lead) noexcept {
  return (lead >> 48 & 0xFF) == static_cast<std::uint8_t>(Operation::area_write);
}

// A get, a fetch or a fence, and a valid one.
inline bool is_request(std::uint64_t lead) noexcept {
  constexpr auto kGet = std::uint64_t{static_cast<std::uint8_t>(Operation::get)} << 16;
  constexpr auto kFetch = std::uint64_t{static_cast<std::uint8_t>(Operation::fetch)} << 16 | kInlineData;
  constexpr auto kFence = std::uint64_t{static_cast<std::uint8_t>(Operation::fence)} << 16;
  return lead >> 32 == kGet || lead >> 32 == kFetch || lead >> 32 == kFence;
}

// A part of an answer. Long ones stand among the messages.
inline bool is_get_data(std::uint64_t lead) noexcept {
  return (lead >> 48 & 0xFF) == static_cast<std::uint8_t>(Operation::get_data);
}

inline bool is_get(Operation operation) noexcept {
  return operation == Operation::get || operation == Operation::get_strided;
}

// The lead of a reply, likewise.
inline std::uint64_t reply_lead(Operation operation, std::size_t length) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(operation)} << 48 | static_cast<std::uint64_t>(length) << 32;
}
// The whole answer of a fetch, or of a short get; a valid one.
inline bool is_short_answer(std::uint64_t lead) noexcept {
  return lead >> 32 == reply_lead(Operation::fetched, sizeof(std::uint64_t)) >> 32 ||
         lead >> 32 == reply_lead(Operation::got, kInlineData) >> 32;
}

// Operation and lengths: the lead without its turn.
inline std::uint64_t kind_of(const Words& words) noexcept { return words.word[kLeadWord] >> 32; }

// How many cells a packet takes: its own, one for metadata, and whole cells for data that is not inline.
inline std::uint32_t cells_of(const Lead& lead) noexcept {
  const std::uint32_t data =
      lead.length <= kInlineData ? 0 : (lead.length + std::uint32_t{kCell} - 1) / kCell;
  return 1 + (lead.metadata_length != 0 ? 1 : 0) + data;
}

// Null if the lead is well formed, otherwise what is wrong with it. Total: any bytes may come.
inline const char* invalid(const Lead& lead, std::size_t mtu) noexcept {
  if (lead.length > mtu) return "the packet is longer than the MTU";
  if (lead.metadata_length > kMetadataLimit) return "metadata is longer than 60 bytes";
  switch (lead.operation) {
    case Operation::write:
    case Operation::write_acknowledged:
      return nullptr;
    case Operation::open:
    case Operation::grant:
    case Operation::credit:
    case Operation::continue_ring:
    case Operation::get:
    case Operation::abandon:
    case Operation::delivered:
    case Operation::refused_request:
    case Operation::fence:
    case Operation::taken_requests:
      return lead.length == 0 && lead.metadata_length == 0 ? nullptr : "a control packet carries no data";
    case Operation::get_data:
    case Operation::put_block:
    case Operation::put_strided:
      return lead.metadata_length == 0 ? nullptr : "it carries no metadata";
    case Operation::put:
    case Operation::got:
    case Operation::opened_write:
      return lead.length == kInlineData && lead.metadata_length == 0 ? nullptr : "not a whole cell";
    case Operation::area_write:
      return lead.length == kInlineData ? nullptr : "it does not say where its data stands";
    case Operation::get_strided:  // its shape
    case Operation::fetch:        // its two operands
    case Operation::watch:        // what the word was
      return lead.length == kInlineData && lead.metadata_length == 0
                 ? nullptr
                 : "not the data of a request, or a shape";
    case Operation::fetched:  // the one word
      return lead.length == sizeof(std::uint64_t) && lead.metadata_length == 0 ? nullptr
                                                                               : "not the data of a result";
    default:
      return "unknown operation";
  }
}

// Packets that may stand in a ring of replies, and how long each may be there. Total.
inline const char* invalid_reply(const Lead& lead) noexcept {
  switch (lead.operation) {
    case Operation::grant:
    case Operation::credit:
    case Operation::get_data:
    case Operation::fetched:
    case Operation::delivered:
    case Operation::refused_request:
    case Operation::got:
    case Operation::taken_requests:
      return invalid(lead, kReplyPayload);
    default:
      return "no reply";
  }
}

// A packet's data as it stands with the link: one run of bytes, or two where a ring wraps. The bytes may
// change while they are copied; they are only ever copied, never looked at.
struct Payload {
  const std::byte* first = nullptr;
  std::size_t first_length = 0;
  const std::byte* second = nullptr;
  const std::byte* metadata = nullptr;  // metadata_length bytes
};

}  // namespace hamlyn::internal_::interface
