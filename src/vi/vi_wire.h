#pragma once
// Messages between NICs, and the word that goes with each send (docs/wire.md, "VI"). Whatever comes is
// copied once and then checked; any bits may come.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/values/ticket.h"
#include "hamlyn/vi/values.h"
#include "protocols/copy_of.h"

namespace hamlyn::internal_::vi {

using namespace hamlyn::vi;

inline constexpr std::uint16_t kWireVersion = 1;

// Kinds of message to a NIC's door.
enum class Say : std::uint16_t {
  request = 1,   // a VI asks for a connection with whoever waits at `asked`
  withdraw,      // and does not any more
  accept,        // the answer: here is the other VI
  reject,        // the answer: no
  no_match,      // the answer: nobody waits there
  peer_request,  // a VI asks for a VI that asks for it
  disconnect,    // the connection is over, `detail` is a Reason; or, as an answer: this NIC closes
  ask,           // may I use the memory `handle`?
  grant,         // you may: here is a ticket, `address` and `length`; `detail` has kMayWrite, kMayRead
  deny,          // you may not
  revoke,        // you may not any more
};

// Why a connection is over.
enum class Reason : std::uint16_t { done, broken, no_descriptor, too_long, no_right };

inline constexpr std::uint16_t kMayWrite = 1, kMayRead = 2;

// A ticket of the sender's own: its interface is the sender's.
struct WireTicket {
  std::uint64_t key = 0;
  std::uint64_t bound = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
};

struct Message {
  std::uint16_t version = kWireVersion;
  Say say = Say::request;
  std::uint16_t detail = 0;
  std::uint16_t reliability = 0;
  std::uint32_t from = 0;          // number of the sender's VI; or, of answers of a NIC, 0
  std::uint32_t to = 0;            // and of the receiver's
  std::uint64_t from_session = 0;  // that the sender has chosen for this connection
  std::uint64_t to_session = 0;    // that the receiver has
  std::uint64_t max_transfer = 0;
  std::uint64_t qos = 0;
  std::uint32_t handle = 0;
  std::uint32_t enables = 0;  // kMayWrite, kMayRead, of the VI
  std::uint64_t address = 0;  // the first byte of the memory, in its owner's own terms
  std::uint64_t length = 0;
  WireTicket door;  // where the sender's NIC hears
  WireTicket slot;  // where its VI receives; of `grant`, the memory
  std::uint64_t own_host = 0, asked_host = 0;
  std::uint16_t own_length = 0, asked_length = 0;
  std::uint32_t reserved = 0;
  std::array<std::byte, Address::kMost> own{}, asked{};
};
static_assert(sizeof(Message) == 272);

// As src/protocols/wire_order.h wants it.
template <class What>
void each_number(WireTicket& ticket, What what) noexcept {
  what(ticket.key), what(ticket.bound), what(ticket.slot), what(ticket.generation);
}
template <class What>
void each_number(Message& message, What what) noexcept {
  what(message.version), what(message.say), what(message.detail), what(message.reliability);
  what(message.from), what(message.to), what(message.from_session), what(message.to_session);
  what(message.max_transfer), what(message.qos), what(message.handle), what(message.enables);
  what(message.address), what(message.length), what(message.own_host), what(message.asked_host);
  what(message.own_length), what(message.asked_length);
  each_number(message.door, what), each_number(message.slot, what);
}

// The word of a send: immediate data, what it is, and of an RDMA write its length.
struct SendWord {
  std::uint32_t immediate = 0;
  bool has_immediate = false;
  bool write = false;        // it tells of an RDMA write
  std::uint32_t length = 0;  // of that
};
inline constexpr unsigned kImmediateAt = 32, kWriteAt = 33, kLengthAt = 34;

constexpr std::uint64_t word_of(const SendWord& word) noexcept {
  return std::uint64_t{word.immediate} | std::uint64_t{word.has_immediate} << kImmediateAt |
         std::uint64_t{word.write} << kWriteAt | std::uint64_t{word.length} << kLengthAt;
}
constexpr SendWord send_word(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word), (word >> kImmediateAt & 1) != 0, (word >> kWriteAt & 1) != 0,
          static_cast<std::uint32_t>(word >> kLengthAt)};
}
// Whether an honest sender may have sent it.
constexpr bool good(const SendWord& word) noexcept {
  return (word.has_immediate || word.immediate == 0) && (word.write ? word.has_immediate : word.length == 0);
}
static_assert(kMostTransfer < std::uint64_t{1} << (64 - kLengthAt));

}  // namespace hamlyn::internal_::vi
