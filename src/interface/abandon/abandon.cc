// A message that lost its rest (paper 1, section 3.7): its sender says so in one packet under the same
// message id, and the receiver's entry fails instead of waiting. What is late of it is told by its number
// (lost_messages.h), so that tickets of the entry stay good: others have them, too.
#include <algorithm>

#include "interface/deposit.h"

namespace hamlyn::internal_::interface {

void Core::abandon(Link& link, const Ticket& ticket, std::uint32_t message, std::uint32_t rest,
                   std::uint64_t whole) noexcept {
  Packet packet{};
  set_lead(packet, Operation::abandon, 0, 0);
  set_slot(packet, ticket);
  packet.offset = whole;
  set_entry(packet, ticket.entry, rest);
  packet.word = message_word(message, ticket.incarnation);
  say_at_last(link, packet);
}

void Core::say_at_last(Link& link, const Packet& packet) noexcept {
  // Behind those that have found no room before it.
  if (link.abandons.empty() && link.put(packet, packet.data, nullptr) != Status::queue_full) return;
  try {
    link.abandons.push_back(packet);
  } catch (const std::bad_alloc&) {
    return;  // the entry's deadline is left, and the end of the link; of a watch, the word's next change
  }
  ++link.departures;
  ++abandons_wait_;
  departures_.count(1);
  leave_run();
}

bool Core::send_abandons() noexcept {
  bool moved = false;
  for (Link* link : links()) {
    std::size_t sent = 0;
    while (sent != link->abandons.size() &&
           link->put(link->abandons[sent], link->abandons[sent].data, nullptr) != Status::queue_full)
      ++sent;
    if (sent == 0) continue;
    moved = true;
    link->abandons.erase(link->abandons.begin(), link->abandons.begin() + static_cast<std::ptrdiff_t>(sent));
    link->departures -= static_cast<std::uint32_t>(sent);
    abandons_wait_ -= static_cast<std::uint32_t>(sent);
    departures_.count(-static_cast<int>(sent));
  }
  return moved;
}

void Core::forget_abandons(Link& link) noexcept {
  abandons_wait_ -= static_cast<std::uint32_t>(link.abandons.size());
  departures_.count(-static_cast<int>(link.abandons.size()));
  link.abandons.clear();
}

// A holder of the ticket may spoil this entry, and no other; not one that another is filling.
Refusal Core::take_abandon(Link& link, const Packet& packet) noexcept {
  if (is_posted(packet) && !is_telling(packet)) return abandon_posted(link, packet);
  const std::uint32_t message = message_of(packet.word);
  if (!fills(link, packet) && link.lost_messages.count(message, packet.delta)) return Refusal::none;
  const Refusal cause = check_abandon(slots_, link, packet);
  if (cause != Refusal::none) return cause;
  const std::uint32_t index = packet.slot;
  SlotRecord& slot = slots_[index];
  MetadataEntry& entry = slot.entries[packet.entry];
  // The packet has overtaken what there was of the message; its offset means nothing, and was not checked.
  if (entry.state == EntryState::armed) begin(link, index, packet.entry, message, 0);
  if (entry.state == EntryState::filling) entry.accumulator += packet.delta;
  fail(slot, index, packet.entry, Failure::abandoned, link.peer);
  return Refusal::none;
}

// --- what is late of a message that will not become whole

// The one that fills this entry. False: so many are given up already that what is late of it could not be
// told from others.
bool Core::give_up(const MetadataEntry& entry) noexcept {
  Link* const link = link_of_serial(entry.link);
  return link != nullptr && link->lost_messages.give_up(entry.message, entry.accumulator);
}

const MetadataEntry* Core::entry_named(const Packet& packet) const noexcept {
  if (check_slot(slots_, packet.slot, packet.generation) != Refusal::none) return nullptr;
  const SlotRecord& slot = slot_of(slots_, packet.slot);
  return has_entry(slot, packet.entry) ? &slot.entries[packet.entry] : nullptr;
}

bool Core::fills(const Link& link, const Packet& packet) const noexcept {
  const MetadataEntry* const entry = entry_named(packet);
  return entry != nullptr && entry->state == EntryState::filling &&
         entry->message == message_of(packet.word) && entry->link == link.serial;
}

// Whether that refusal takes one of its packets from a message that could have begun. (Of a group's nothing
// is late: each arming has an incarnation of its own. An entry that waited for what stood in an area has
// failed.)
bool Core::loses(Refusal cause, const Packet& packet) const noexcept {
  if (cause == Refusal::entry_not_armed || cause == Refusal::entry_busy) return true;
  if (cause != Refusal::bad_area) return false;
  const MetadataEntry* const entry = entry_named(packet);
  return entry != nullptr && entry->state == EntryState::armed;
}

// A packet that was refused: the message that it is of will not become whole if it is one of several.
void Core::note_lost(Link& link, Refusal cause, const Packet& packet) noexcept {
  const Operation operation = packet.lead.operation;
  const bool counted = operation == Operation::write || operation == Operation::write_acknowledged ||
                       operation == Operation::area_write || operation == Operation::abandon;
  if (counted && is_posted(packet)) return note_lost_posted(link, cause, packet);
  if (!counted || packet.entry == kNoEntry || packet.delta == 0) return;
  const std::uint32_t message = message_of(packet.word);
  if (loses(cause, packet)) {
    link.lost_messages.refused(message, packet.delta);
  } else {
    link.lost_messages.count(message, packet.delta);
  }
}

}  // namespace hamlyn::internal_::interface
