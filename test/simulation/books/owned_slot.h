#pragma once
// The receive side of a core, put together by hand: a slot on an area, the tickets that its owner would give
// out, and the notifications of a queue.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hamlyn/core/slot.h"
#include "test/simulation/books/area.h"
#include "test/simulation/books/party.h"

namespace hamlyn::simulation {

// A slot on a whole area or a part of it.
class OwnedSlot {
 public:
  OwnedSlot(Party& owner, Area& area, interface::Queue* queue, const Slot::Options& options)
      : owner_(owner),
        base_(area.data() + options.base),
        index_(owner.core.make_slot(base_, options.bound == 0 ? area.size() - options.base : options.bound,
                                    queue, options)),
        number_(record().number(index_)) {}
  ~OwnedSlot() { drop(); }
  OwnedSlot(const OwnedSlot&) = delete;
  OwnedSlot& operator=(const OwnedSlot&) = delete;

  void drop() noexcept {
    if (live_) owner_.core.drop_slot(index_);
    live_ = false;
  }

  std::uint32_t index() const noexcept { return index_; }
  std::uint32_t number() const noexcept { return number_; }
  interface::SlotRecord& record() noexcept {
    return owner_.core.slot(index_);
  }
  interface::MetadataEntry& entry(std::uint32_t entry) noexcept {
    return record().entries[entry];
  }
  std::span<const std::byte> metadata(std::uint32_t at) noexcept {
    return {entry(at).user, entry(at).user_length};
  }
  std::span<const std::byte> bytes(const Notification& n) const noexcept {
    return {base_ + n.offset, n.length};
  }
  std::byte* base() const noexcept { return base_; }

  void change_key() { owner_.core.change_key(index_); }
  Status arm(std::uint32_t entry) noexcept { return owner_.core.arm(index_, entry); }
  Status arm(std::uint32_t entry, const Slot::Limits& limits) noexcept {
    return owner_.core.arm_anew(index_, entry, limits);
  }
  // As Slot::arm_group has it.
  GroupShares arm_group(std::uint32_t entry, std::uint32_t members, const Slot::Limits& limits = {}) {
    if (owner_.core.arm_group(index_, entry, limits) != Status::ok) return {};
    return {ticket(entry), members};
  }
  Status revoke(std::uint32_t entry) noexcept { return owner_.core.revoke(index_, entry); }
  Status expect(std::uint32_t entry, const Party& peer) noexcept {
    return owner_.core.expect(index_, entry, peer.id);
  }
  Status fail_at(std::uint32_t entry, std::uint64_t time) noexcept {
    return owner_.core.fail_at(index_, entry, time);
  }
  void notify_after(std::uint32_t messages) noexcept { owner_.core.notify_after(index_, messages); }
  Status disarm(std::uint32_t entry) noexcept { return owner_.core.disarm(index_, entry); }

  // As Slot::ticket has them.
  Ticket ticket() noexcept {
    Ticket ticket;
    ticket.interface = owner_.id;
    ticket.slot = index_;
    ticket.generation = record().generation;
    ticket.key = record().key;
    ticket.bound = record().bound;
    return ticket;
  }
  Ticket ticket(std::uint32_t at) noexcept {
    const bool paranoid = record().mode != Mode::guarded;
    Ticket ticket = this->ticket();
    ticket.entry = at;
    ticket.incarnation = entry(at).incarnation;
    if (paranoid) {
      ticket.key = entry(at).key;
      ticket.base = entry(at).base;
      ticket.bound = entry(at).bound;
    }
    return ticket;
  }

 private:
  Party& owner_;
  std::byte* base_;
  std::uint32_t index_;
  std::uint32_t number_;
  bool live_ = true;
};

inline std::optional<Notification> take(Party& party, interface::Queue* queue) {
  if (queue->empty()) return std::nullopt;
  Notification notification;
  party.core.take(*queue, notification);
  return notification;
}

// Bytes that differ from place to place and from message to message.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  sim::Generator generator(seed);
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made) each = static_cast<std::byte>(generator.next() >> 56);
  return made;
}

inline bool same(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

}  // namespace hamlyn::simulation
