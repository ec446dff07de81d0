#pragma once
// Messages between endpoints (docs/wire.md, "Active messages"). Whatever comes is copied once and then
// checked; any bits may come.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/byte_order.h"
#include "base/namespaces.h"
#include "hamlyn/am/values.h"
#include "hamlyn/values/ticket.h"
#include "protocols/copy_of.h"

namespace hamlyn::internal_::am {

using namespace hamlyn::am;

inline constexpr std::uint16_t kWireVersion = 2;
inline constexpr std::size_t kUnit = 64;         // bytes of ring that a message takes a multiple of
inline constexpr std::size_t kSmallRing = 8192;  // at first
inline constexpr std::uint32_t kMostCredits = 512;
inline constexpr std::size_t kLeastRing = 32768;  // of the longer one: a few of the longest messages
inline constexpr std::size_t kMostRing = std::size_t{1} << 20;
inline constexpr std::uint32_t kMostOutstanding = 4096;  // messages that a side has sent and not got done

// Kinds of message. All but the first are numbered, and handled in the order of their numbers.
enum class Kind : std::uint8_t {
  acknowledge,  // says how many are done, and nothing else
  request_short,
  request_medium,
  request_long,
  get,
  reply_short,
  reply_medium,
  reply_long,
  returned,  // a message was turned away: a ReturnedHead, and its arguments
  tag,       // of the requests that follow: 8 bytes
  ask,       // where do long messages land?
  segment,   // they land there from here on: a SegmentNews
  grow,      // the ring is too small
  grown,     // here is a longer one: a WireTicket
  bye,       // the endpoint goes
  piece,     // of a long message's data, to be copied to its address: a PieceHead, and the data
};
constexpr bool is_request(Kind kind) noexcept { return kind >= Kind::request_short && kind <= Kind::get; }
constexpr bool is_reply(Kind kind) noexcept { return kind >= Kind::reply_short && kind <= Kind::returned; }

constexpr bool is_short(Kind kind) noexcept {
  return (kind == Kind::request_short) | (kind == Kind::reply_short);
}
constexpr bool is_medium(Kind kind) noexcept {
  return (kind == Kind::request_medium) | (kind == Kind::reply_medium);
}
constexpr bool is_long(Kind kind) noexcept { return kind == Kind::request_long || kind == Kind::reply_long; }

// The word that goes with each message.
struct Word {
  Kind kind = Kind::acknowledge;
  std::uint8_t count = 0;      // arguments
  std::uint8_t handler = 0;    // to be called
  std::uint16_t number = 0;    // of the message, or of the next one. Modulo 2^16
  std::uint16_t done = 0;      // so many of the other side's are done: their room is free. Modulo 2^16
  std::uint16_t credited = 0;  // so many of its requests are over: their credits are back. Modulo 2^15
};
inline constexpr unsigned kCountAt = 4, kHandlerAt = 9, kNumberAt = 17, kDoneAt = 33, kCreditedAt = 49;
inline constexpr std::uint16_t kCreditedMask = 0x7FFF;

constexpr std::uint64_t word_of(const Word& word) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(word.kind)} | std::uint64_t{word.count} << kCountAt |
         std::uint64_t{word.handler} << kHandlerAt | std::uint64_t{word.number} << kNumberAt |
         std::uint64_t{word.done} << kDoneAt | std::uint64_t{word.credited} << kCreditedAt;
}
constexpr Word word_of(std::uint64_t bits) noexcept {
  return {static_cast<Kind>(bits & 0xF),
          static_cast<std::uint8_t>(bits >> kCountAt & 0x1F),
          static_cast<std::uint8_t>(bits >> kHandlerAt),
          static_cast<std::uint16_t>(bits >> kNumberAt),
          static_cast<std::uint16_t>(bits >> kDoneAt),
          static_cast<std::uint16_t>(bits >> kCreditedAt)};
}
// Whether an honest sender may have sent it.
constexpr bool good(const Word& word) noexcept { return word.count <= kMostArguments; }

// A ticket of the sender's own: its interface is the sender's.
struct WireTicket {
  std::uint64_t key = 0;
  std::uint64_t bound = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};
inline WireTicket on_wire(const Ticket& ticket) noexcept {
  return {ticket.key, ticket.bound, ticket.slot, ticket.generation};
}
inline Ticket ticket_of(const WireTicket& ticket, std::uint64_t peer, std::uint32_t entry) noexcept {
  Ticket out;
  out.interface = peer;
  out.slot = ticket.slot;
  out.generation = ticket.generation;
  out.key = ticket.key;
  out.entry = entry;
  out.bound = ticket.bound;
  return out;
}

// Where long messages land.
struct SegmentNews {
  WireTicket slot;           // a bound of 0: nowhere; of kEverywhere: at each address, in pieces
  std::uint64_t number = 0;  // of the segment: 1, 2 and so on
};
inline constexpr std::uint64_t kEverywhere = ~std::uint64_t{0};
inline bool is_everywhere(const SegmentNews& news) noexcept { return news.slot.bound == kEverywhere; }
inline bool is_address_space(std::span<const std::byte> segment) noexcept {
  return segment.data() == kAddressSpace.data() && segment.size() == kAddressSpace.size();
}

// To the door of an endpoint: an endpoint would send there, and says where it can be sent to itself.
struct Hello {
  std::uint16_t version = kWireVersion;
  std::uint16_t why = 0;           // a Why: the endpoint cannot be sent to, and the rest counts for nothing
  std::uint16_t credits = 0;       // requests that the receiver of this may have under way
  std::uint16_t way = 0;           // a Way: how the sender of this is sent to
  std::uint64_t from = 0, to = 0;  // the endpoints' own numbers
  std::uint64_t session = 0;       // that the sender has chosen for this pair
  std::uint64_t ring_bytes = 0;    // slots: of the longer ring, if it is asked for
  WireTicket door = {};            // where the sender of this hears
  WireTicket ring = {};            // where messages to it land; vi, vi3: the door of its NIC
  SegmentNews segment = {};
  std::uint64_t proof = 0;  // that the sender is of the receiver's job, if it is of one (am/membership.h)
};
static_assert(sizeof(Hello) == 128);

// In front of the arguments of a long message.
struct LongHead {
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t length = 0;
  std::uint64_t segment = 0;  // its number
  std::uint64_t landed = 0;   // bytes that have been put to it by this sender with those of this message
};
// In front of the arguments of a get.
struct GetHead {
  std::uint64_t source = 0;  // in the segment of the receiver of this
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  // in that of its sender
};
// In front of a piece's data.
struct PieceHead {
  std::uint64_t offset = 0;  // of the message that it is of
  std::uint64_t at = 0;      // bytes of that message in front of it
  std::uint64_t segment = 0;
};
// In front of the arguments of what comes back.
struct ReturnedHead {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint8_t why = 0;
  std::uint8_t operation = 0;
  std::uint8_t reserved[6] = {};
};
static_assert(sizeof(LongHead) == 32 && sizeof(GetHead) == 24 && sizeof(ReturnedHead) == 24);
static_assert(sizeof(PieceHead) == 24);

// As src/protocols/wire_order.h wants it.
template <class What>
void each_number(WireTicket& ticket, What what) noexcept {
  what(ticket.key), what(ticket.bound), what(ticket.slot), what(ticket.generation);
}
template <class What>
void each_number(SegmentNews& news, What what) noexcept {
  each_number(news.slot, what), what(news.number);
}
template <class What>
void each_number(Hello& hello, What what) noexcept {
  what(hello.version), what(hello.why), what(hello.credits), what(hello.way);
  what(hello.from), what(hello.to);
  what(hello.session), what(hello.ring_bytes);
  each_number(hello.door, what), each_number(hello.ring, what), each_number(hello.segment, what);
  what(hello.proof);
}
template <class What>
void each_number(LongHead& head, What what) noexcept {
  what(head.offset), what(head.length), what(head.segment), what(head.landed);
}
template <class What>
void each_number(GetHead& head, What what) noexcept {
  what(head.source), what(head.length), what(head.offset);
}
template <class What>
void each_number(PieceHead& head, What what) noexcept {
  what(head.offset), what(head.at), what(head.segment);
}
template <class What>
void each_number(ReturnedHead& head, What what) noexcept {
  what(head.offset), what(head.length);
}

inline constexpr std::size_t kMostHead = sizeof(LongHead);
// Bytes of the longest message.
inline constexpr std::size_t kMostBytes = kMostHead + 4 * kMostArguments + kMostMedium;

constexpr std::size_t head_bytes(Kind kind) noexcept {
  switch (kind) {
    case Kind::request_long:
    case Kind::reply_long:
      return sizeof(LongHead);
    case Kind::get:
      return sizeof(GetHead);
    case Kind::returned:
      return sizeof(ReturnedHead);
    case Kind::piece:
      return sizeof(PieceHead);
    default:
      return 0;
  }
}
// Copies so many arguments. Mostly there are four, which is one copy without a call.
inline void copy_arguments(std::int32_t* to, const void* from, std::size_t count) noexcept {
  if (count == 4) [[likely]]
    std::memcpy(to, from, 16);
  else if (count != 0)
    std::memcpy(to, from, 4 * count);
}
// Copies arguments as they travel.
inline void load_arguments(std::int32_t* to, const std::byte* from, std::size_t count) noexcept {
  if constexpr (base::kLittleEndian) return copy_arguments(to, from, count);
  for (std::size_t i = 0; i != count; ++i) to[i] = base::load_little<std::int32_t>(from + 4 * i);
}

// Where a medium message's data begins.
constexpr std::size_t data_at(std::size_t count) noexcept { return (4 * count + 7) / 8 * 8; }

constexpr Operation operation_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::request_short:
      return Operation::request_short;
    case Kind::request_medium:
      return Operation::request_medium;
    case Kind::request_long:
      return Operation::request_long;
    case Kind::get:
      return Operation::get;
    case Kind::reply_short:
      return Operation::reply_short;
    case Kind::reply_medium:
      return Operation::reply_medium;
    case Kind::reply_long:
      return Operation::reply_long;
    default:
      return Operation::none;
  }
}

// --- names: an endpoint's own number, and the ticket of its door

inline Name name_of(const Ticket& door, std::uint64_t number) noexcept {
  Name out;
  out.words = {door.host,
               door.interface,
               std::uint64_t{door.slot} << 32 | door.generation,
               door.key,
               std::uint64_t{door.entry} << 32 | door.incarnation,
               door.base,
               door.bound,
               std::uint64_t{door.version} << 32 | door.purpose,
               number};
  return out;
}
inline Ticket door_of(const Name& name) noexcept {
  const auto high = [&](std::size_t at) { return static_cast<std::uint32_t>(name.words[at] >> 32); };
  const auto low = [&](std::size_t at) { return static_cast<std::uint32_t>(name.words[at]); };
  Ticket out;
  out.host = name.words[0], out.interface = name.words[1];
  out.slot = high(2), out.generation = low(2);
  out.key = name.words[3];
  out.entry = high(4), out.incarnation = low(4);
  out.base = name.words[5], out.bound = name.words[6];
  out.version = high(7), out.purpose = low(7);
  return out;
}
inline std::uint64_t interface_of(const Name& name) noexcept { return name.words[1]; }
inline std::uint64_t number_of(const Name& name) noexcept { return name.words[8]; }
// Whether it can be one.
inline bool good(const Name& name) noexcept {
  const Ticket door = door_of(name);
  return invalid(door) == nullptr && door.posted() && door.interface != 0 && number_of(name) != 0;
}

}  // namespace hamlyn::internal_::am
