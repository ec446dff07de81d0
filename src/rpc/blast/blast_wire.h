#pragma once
// Packets of calls over datagrams (docs/wire.md, "Blast"). Whatever comes is copied once and then checked;
// any bytes may come.
//
//   client to server    hello, confirm; data of calls; answers to results; cancel, leave
//   server to client    welcome, confirmed; data of results; answers to calls; refused
//
// A packet is one structure, little-endian, with its kind in its head. Data stands behind it, and in a hello
// the address of whoever says it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/namespaces.h"
#include "protocols/copy_of.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc::blast {

inline constexpr std::uint16_t kMagic = 0x4248;  // "HB"
inline constexpr std::uint8_t kVersion = 2;
inline constexpr std::uint8_t kLeastUnit = 1, kMostUnit = 64;  // packets
inline constexpr std::uint32_t kLeastPacket = 16;              // bytes of data
inline constexpr std::size_t kMostAddress = 64;

enum class PacketKind : std::uint8_t {
  hello = 1,  // a client begins
  welcome,    // the session that it may confirm
  confirm,    // from here on it is the client's only one
  confirmed,
  refused,  // no such session, or no room for one
  call,
  result,
  answer,  // what of a call or a result has come
  cancel,  // its caller gives up: says how it ended, or has it end
  leave,   // the client goes
};

struct Head {
  std::uint16_t magic = kMagic;
  std::uint8_t version = kVersion;
  PacketKind kind = PacketKind::hello;
  std::uint32_t sequence = 0;  // of a call in its line, from 1 on; 0: of none
  std::uint64_t session = 0;   // 64 random bits of the server's
};
static_assert(sizeof(Head) == 16);

// Hello, welcome, confirm, confirmed, refused. What a kind does not need is 0.
struct Greeting {
  enum class Why : std::uint8_t { none, full, no_session, cannot };

  Head head;
  std::uint64_t incarnation = 0;  // 64 random bits of the client's: hello, welcome, refused
  std::uint32_t packet = 0;       // bytes of data of each packet: hello
  std::uint32_t bytes = 0;        // of a result, in a hello; of a call, in a welcome
  std::uint16_t lines = 0;        // calls under way
  std::uint8_t unit = 0;          // packets of a unit: hello
  Why why = Why::none;            // of refused
  std::uint32_t silence = 0;      // ms, of a client, after which the server forgets it: welcome
};
static_assert(sizeof(Greeting) == 40);

// A part of a call, or of a result.
struct Data {
  static constexpr std::uint8_t kUrgent = 1, kBegun = 2, kTraced = 4;
  static constexpr std::size_t kTrace = 16;  // bytes at the end of a call that is traced

  Head head;
  std::uint16_t line = 0;
  std::uint16_t pause = 0;  // time_word: without news for so long the other side answers
  std::uint32_t length = 0;
  std::uint32_t packet = 0;     // which of the message
  std::uint32_t sent = 0;       // how many of it had left, with this one
  std::uint16_t procedure = 0;  // of a call
  std::uint16_t left = 0;       // time_word of a call
  std::uint8_t depth = 0;       // of a call
  std::uint8_t flags = 0;
  Cause cause = Cause::none;  // of a result: the data is the text
  std::uint8_t zero = 0;
};
static_assert(sizeof(Data) == 40);

// Tells what of a message has come. A unit behind the last: all of it.
struct Answer {
  Head head;
  std::uint16_t line = 0;
  std::uint8_t of_result = 0;
  std::uint8_t late = 0;   // nothing has come for a while: what is missing is lost
  std::uint32_t unit = 0;  // the first that is not whole
  std::uint32_t sent = 0;  // the highest that has come
  std::uint32_t zero = 0;
  std::uint64_t mask = 0;   // bit i: packet i of that unit has come
  std::uint64_t ahead = 0;  // of the unit behind it
};
static_assert(sizeof(Answer) == 48);

// Cancel and leave.
struct Word {
  Head head;
  std::uint16_t line = 0;
  std::uint16_t zero = 0;
  std::uint32_t zeros = 0;
};
static_assert(sizeof(Word) == 24);

inline constexpr std::size_t kMostStructure = sizeof(Answer);

template <class What>
void each_number(Head& head, What what) noexcept {
  what(head.magic), what(head.version), what(head.kind), what(head.sequence), what(head.session);
}
template <class What>
void each_number(Greeting& one, What what) noexcept {
  each_number(one.head, what);
  what(one.incarnation), what(one.packet), what(one.bytes), what(one.lines), what(one.unit), what(one.why);
  what(one.silence);
}
template <class What>
void each_number(Data& one, What what) noexcept {
  each_number(one.head, what);
  what(one.line), what(one.pause), what(one.length), what(one.packet), what(one.sent), what(one.procedure);
  what(one.left), what(one.depth), what(one.flags), what(one.cause), what(one.zero);
}
template <class What>
void each_number(Answer& one, What what) noexcept {
  each_number(one.head, what);
  what(one.line), what(one.of_result), what(one.late), what(one.unit), what(one.sent), what(one.zero);
  what(one.mask), what(one.ahead);
}
template <class What>
void each_number(Word& one, What what) noexcept {
  each_number(one.head, what);
  what(one.line), what(one.zero), what(one.zeros);
}

// --- what came

// Nothing: no packet of ours.
inline std::optional<Head> head_of(std::span<const std::byte> packet) noexcept {
  if (packet.size() < sizeof(Head)) return std::nullopt;
  const auto head = protocols::copy_of<Head>(packet.first(sizeof(Head)));
  if (head->magic != kMagic || head->version != kVersion || head->kind < PacketKind::hello ||
      head->kind > PacketKind::leave)
    return std::nullopt;
  return head;
}

constexpr bool good(const Greeting& one) noexcept {
  using Why = Greeting::Why;
  const bool hello = one.head.kind == PacketKind::hello, refused = one.head.kind == PacketKind::refused;
  if (one.head.sequence != 0 || (one.why != Why::none) != refused || one.why > Why::cannot) return false;
  if ((one.head.session == 0) != (hello || (refused && one.why != Why::no_session))) return false;
  if (hello)
    return one.incarnation != 0 && one.lines != 0 && one.lines <= kMostStacks && one.unit >= kLeastUnit &&
           one.unit <= kMostUnit && one.packet >= kLeastPacket && one.bytes <= kMostLong;
  if (one.head.kind == PacketKind::welcome)
    return one.incarnation != 0 && one.lines != 0 && one.bytes >= kLeastFrame && one.bytes <= kMostLong;
  return true;
}
constexpr bool good(const Data& one) noexcept {
  const bool call = one.head.kind == PacketKind::call;
  if (one.head.sequence == 0 || one.sent == 0 || one.zero != 0 || one.length > kMostLong) return false;
  if (call && (one.flags & Data::kTraced) != 0 && one.length < Data::kTrace) return false;
  if (call) return one.cause == Cause::none && (one.flags & ~(Data::kUrgent | Data::kTraced)) == 0;
  // A newer server may have causes that have no name here: such a call has failed as well.
  return (one.flags & ~Data::kBegun) == 0 && one.procedure == 0 && one.left == 0 && one.depth == 0;
}
constexpr bool good(const Answer& one) noexcept {
  return one.head.sequence != 0 && one.of_result <= 1 && one.late <= 1 && one.zero == 0;
}
constexpr bool good(const Word& one) noexcept {
  return one.zero == 0 && one.zeros == 0 && (one.head.sequence != 0) == (one.head.kind == PacketKind::cancel);
}

// The structure at the beginning of a packet. Nothing: it is none, or has what cannot be. Only data and a
// hello have something behind it.
template <class Structure>
std::optional<Structure> structure_of(std::span<const std::byte> packet) noexcept {
  if (packet.size() < sizeof(Structure)) return std::nullopt;
  const auto out = protocols::copy_of<Structure>(packet.first(sizeof(Structure)));
  const PacketKind kind = out->head.kind;
  const bool longer = kind == PacketKind::call || kind == PacketKind::result || kind == PacketKind::hello;
  if (!good(*out) || (!longer && packet.size() != sizeof(Structure))) return std::nullopt;
  return out;
}

constexpr std::uint32_t packets_of(std::size_t length, std::uint32_t packet) noexcept {
  return length == 0 ? 1 : static_cast<std::uint32_t>((length + packet - 1) / packet);
}

}  // namespace hamlyn::internal_::rpc::blast
