#pragma once
// The layer below the streams' state machines: a way to send and a way to make slots. The library's interface
// and the simulation's both have it, so that what the tests run over thousands of seeds is the code that
// users run.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/limits.h"

namespace hamlyn::internal_::protocols {

// A slot over memory of its own. What comes there is given to the machine that made it.
template <class T>
concept Landing = requires(T landing, std::uint32_t entry, std::uint64_t peer, Limits limits) {
  { landing.number() } -> std::same_as<std::uint32_t>;
  { landing.ticket() } -> std::same_as<Ticket>;
  { landing.ticket(entry) } -> std::same_as<Ticket>;
  { landing.bytes() } -> std::same_as<std::span<std::byte>>;
  { landing.word(entry) } -> std::same_as<std::uint64_t>;  // the entry's metadata, 0 if it is not 8 bytes
  { landing.arm(entry) } -> std::same_as<Status>;
  { landing.arm(entry, limits) } -> std::same_as<Status>;
  { landing.disarm(entry) } -> std::same_as<Status>;
  { landing.expect(entry, peer) } -> std::same_as<Status>;
};

template <class T>
concept Port = Landing<typename T::Landing> &&
    requires(T port, const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
             SendOptions options, SendHandle* handle, Slot::Options slot, Piece piece) {
  { port.send_fast(ticket, data, word, word) } -> std::same_as<Status>;
  { port.send(ticket, data, options, handle) } -> std::same_as<Status>;
  { port.send_piece(ticket, piece, options, handle) } -> std::same_as<Status>;
  { port.status(*handle) } -> std::same_as<Status>;
  { port.refusal(*handle) } -> std::same_as<Refusal>;
  { port.linked(word) } -> std::same_as<bool>;  // with that interface
  // Asks for a link with the ticket's interface. ok: there is one; connecting: not yet; or once why there
  // will be none.
  { port.connect(ticket) } -> std::same_as<Status>;
  // Throws std::bad_alloc or Error.
  { port.make_landing(std::size_t{}, slot) } -> std::same_as<std::unique_ptr<typename T::Landing>>;
};

// Whether it is worth trying again.
inline bool for_now(Status status) noexcept {
  return status == Status::queue_full || status == Status::no_place || status == Status::connecting ||
         status == Status::pending;
}

}  // namespace hamlyn::internal_::protocols
