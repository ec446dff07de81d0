#pragma once
// The ticket to reply to, as it goes with a datagram: a ticket has 64 bytes and metadata 60, so what the
// receiver knows already, host and interface of the sender, is left out. A reply can therefore lead nowhere
// but to who sent the datagram. docs/wire.md describes it byte by byte.
#include <optional>
#include <span>
#include <type_traits>

#include "base/namespaces.h"
#include "hamlyn/values/seed.h"
#include "protocols/copy_of.h"

namespace hamlyn::internal_::protocols {

struct DatagramReply {
  std::uint32_t version = 1;
  std::uint32_t slot = 0;
  std::uint64_t key = 0;
  std::uint64_t base = 0;
  std::uint64_t bound = 0;
  std::uint32_t generation = 0;
  std::uint32_t entry = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t purpose = 0;

  DatagramReply() = default;
  explicit DatagramReply(const Ticket& ticket) noexcept
      : slot(ticket.slot),
        key(ticket.key),
        base(ticket.base),
        bound(ticket.bound),
        generation(ticket.generation),
        entry(ticket.entry),
        incarnation(ticket.incarnation),
        purpose(ticket.purpose) {}
};
static_assert(sizeof(DatagramReply) == 48 && std::is_trivially_copyable_v<DatagramReply>);
template <class What>
void each_number(DatagramReply& reply, What what) noexcept {
  what(reply.version), what(reply.slot), what(reply.key), what(reply.base), what(reply.bound);
  what(reply.generation), what(reply.entry), what(reply.incarnation), what(reply.purpose);
}

// Nothing: no reply is wanted, or what came is none.
inline std::optional<Seed> reply_of(std::span<const std::byte> metadata, std::uint64_t sender) noexcept {
  const auto came = copy_of<DatagramReply>(metadata);
  if (!came || came->version != 1) return std::nullopt;
  const DatagramReply& reply = *came;
  Seed seed;
  seed.ticket.interface = sender;
  seed.ticket.slot = reply.slot;
  seed.ticket.generation = reply.generation;
  seed.ticket.key = reply.key;
  seed.ticket.entry = reply.entry;
  seed.ticket.incarnation = reply.incarnation;
  seed.ticket.base = reply.base;
  seed.ticket.bound = reply.bound;
  seed.ticket.purpose = reply.purpose;
  if (invalid(seed) != nullptr || seed.kind() != SeedKind::datagram) return std::nullopt;
  return seed;
}

}  // namespace hamlyn::internal_::protocols
