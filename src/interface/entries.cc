// Life of a metadata entry (paper 0, sections 2.4 to 2.7): armed, filled, reported, taken back.
#include <algorithm>

#include "base/assert.h"
#include "interface/deposit.h"

namespace hamlyn::internal_::interface {

namespace {

// Whether a message, or a group's, may still come. Then it cannot be armed.
bool waits(const MetadataEntry& entry) noexcept {
  return entry.state == EntryState::armed || entry.state == EntryState::filling ||
         entry.state == EntryState::gathering || entry.state == EntryState::taking;
}

// Whether its notification waits to be taken: the queue has room for one of each entry (paper 0,
// section 2.8).
bool unread(const MetadataEntry& entry) noexcept {
  return entry.state == EntryState::complete || entry.state == EntryState::failed;
}

}  // namespace

// --- arming

Status Core::arm(std::uint32_t slot_index, std::uint32_t entry_index) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (entry_index >= slot.entry_count) return Status::invalid;
  MetadataEntry& entry = slot.entries[entry_index];
  if (slot.mode != Mode::guarded && entry.key == 0)
    return arm_anew(slot_index, entry_index, {});  // the first time
  if (slot.mode == Mode::paranoid_one_shot)
    return arm_anew(slot_index, entry_index, {entry.base, entry.bound});
  return arm(entry, slot.armed_state());
}

inline Status Core::arm(MetadataEntry& entry, EntryState state) noexcept {
  if (!is_unused(entry)) return Status::invalid;
  if (entry.deadline != 0) [[unlikely]]
    forget_deadline(entry);
  entry.user_length = 0;
  entry.link = 0;
  entry.state = state;
  return Status::ok;
}

// With a key and bounds of its own (paper 0, section 2.7).
Status Core::arm_anew(std::uint32_t slot_index, std::uint32_t entry_index, const Limits& limits) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (slot.mode == Mode::guarded || entry_index >= slot.entry_count) return Status::invalid;
  MetadataEntry& entry = slot.entries[entry_index];
  if (!is_unused(entry)) return Status::invalid;
  if (limits.base > slot.bound) return Status::out_of_bounds;
  entry.base = limits.base;
  entry.bound = std::min(limits.bound, slot.bound - limits.base);
  entry.key = random_key();
  return arm(entry, slot.armed_state());
}

// The entry itself holds one count, so that the shares of its members sum to one less than 2^32 and each of
// them fits 32 bits. Each arming is an incarnation of its own: shares of the one before are worth nothing.
Status Core::arm_group(std::uint32_t slot_index, std::uint32_t entry_index, const Limits& limits) {
  SlotRecord& slot = slots_[slot_index];
  if (entry_index >= slot.entry_count || slot.access == Access::read_only) return Status::invalid;
  if (link_words_ == 0) make_link_indices();
  if (slot.links.size() != slot.entry_count * link_words_) slot.links.resize(slot.entry_count * link_words_);
  MetadataEntry& entry = slot.entries[entry_index];
  const Status armed = slot.mode == Mode::guarded ? arm(entry, EntryState::gathering)
                                                  : arm_anew(slot_index, entry_index, limits);
  if (armed != Status::ok) return armed;
  std::uint64_t* const links = links_of(slot, entry_index);
  *links = 0;
  if (link_words_ != 1) std::fill_n(links + 1, link_words_ - 1, 0);
  ++entry.incarnation;
  entry.accumulator = 1;
  entry.length = 0;
  entry.offset = 0;
  entry.message = 0;
  entry.state = EntryState::gathering;
  return Status::ok;
}

Status Core::disarm(std::uint32_t slot_index, std::uint32_t entry_index) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (entry_index >= slot.entry_count) return Status::invalid;
  MetadataEntry& entry = slot.entries[entry_index];
  if (unread(entry)) return Status::invalid;
  forget_deadline(entry);
  settle_promises(slot_index, entry_index, Refusal::entry_not_armed);
  entry.state = EntryState::idle;
  entry.accumulator = 0;
  ++entry.incarnation;  // what is still on its way of this message is of an incarnation that is over
  return Status::ok;
}

// One sender's right, and no other's, in mid-message too (paper 0, section 2.7). A notification that waits to
// be taken stays.
Status Core::revoke(std::uint32_t slot_index, std::uint32_t entry_index) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (slot.mode == Mode::guarded || entry_index >= slot.entry_count) return Status::invalid;
  MetadataEntry& entry = slot.entries[entry_index];
  entry.key = random_key();
  ++entry.incarnation;
  forget_deadline(entry);
  settle_promises(slot_index, entry_index, Refusal::bad_key);
  if (unread(entry)) return Status::ok;
  entry.state = EntryState::idle;
  entry.accumulator = 0;
  return Status::ok;
}

// --- what ends it

Status Core::expect_as(std::uint32_t slot_index, std::uint32_t entry_index, std::uint32_t from) noexcept {
  const SlotRecord& slot = slots_[slot_index];
  if (from >= slot.entry_count) return Status::invalid;
  const Link* const link = link_of_serial(slot.entries[from].link);
  return link == nullptr ? Status::connecting : expect(slot_index, entry_index, link->peer);
}

Status Core::expect(std::uint32_t slot_index, std::uint32_t entry_index, std::uint64_t peer) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (entry_index >= slot.entry_count) return Status::invalid;
  MetadataEntry& entry = slot.entries[entry_index];
  if (entry.state != EntryState::armed && entry.state != EntryState::gathering) return Status::invalid;
  Link* const link = find_link(peer);
  if (link == nullptr) return Status::connecting;
  if (entry.state == EntryState::gathering) {
    note_member(*link, slot_index, entry_index);
  } else {
    note_filler(*link, slot_index, entry_index);
    entry.link = link->serial;
  }
  return Status::ok;
}

Status Core::fail_at(std::uint32_t slot_index, std::uint32_t entry_index, std::uint64_t time) noexcept {
  SlotRecord& slot = slots_[slot_index];
  if (entry_index >= slot.entry_count || !waits(slot.entries[entry_index])) return Status::invalid;
  MetadataEntry& entry = slot.entries[entry_index];
  forget_deadline(entry);
  if (time == Deadlines::kNever) return Status::ok;
  entry.deadline = deadlines_.add(time, {slot_index, entry_index});
  return entry.deadline != 0 ? Status::ok : Status::queue_full;
}

void Core::forget_deadline(MetadataEntry& entry) noexcept {
  if (entry.deadline == 0) return;
  deadlines_.remove(entry.deadline);
  entry.deadline = 0;
}

bool Core::expire(std::uint64_t now) noexcept {
  bool failed = false;
  while (deadlines_.next() <= now && deadlines_.size() != 0) {
    const auto [slot_index, entry_index] = deadlines_.first();
    SlotRecord& slot = slots_[slot_index];
    HAMLYN_ASSERT(slot.live && entry_index < slot.entry_count, "a slot takes its deadlines with it");
    MetadataEntry& entry = slot.entries[entry_index];
    forget_deadline(entry);
    if (!waits(entry)) continue;  // complete in time
    fail(slot, slot_index, entry_index, Failure::timed_out, 0);
    failed = true;
  }
  return failed;
}

// --- groups (paper 0, section 2.5)

// Checks what the group's count asks for. deposit_counted has checked what is checked of any packet.
template <bool OfArea>
Refusal Core::deposit_grouped(Link& link, SlotRecord& slot, const Packet& packet, const Payload& payload,
                              std::uint64_t length) noexcept {
  MetadataEntry& entry = slot.entries[packet.entry];
  HAMLYN_ASSERT(check_share(entry, packet.delta) == Refusal::none, "check_state() has asked");
  std::byte* const to = slot.base + packet.offset;
  if (OfArea && !land_from_area(link, to, packet, payload, length)) {
    fail(slot, packet.slot, packet.entry, Failure::abandoned, link.peer);
    return Refusal::bad_area;
  }
  if (!OfArea) move_bytes(to, packet, payload);
  if (packet.lead.metadata_length != 0) {
    std::memcpy(entry.user, payload.metadata, packet.lead.metadata_length);
    entry.user_length = packet.lead.metadata_length;
  }
  if (add_member(link, packet.slot, packet.entry, packet.offset, length, packet.delta))
    complete(slot, packet.slot, packet.entry, entry.link != 0 ? link.peer : 0);
  return Refusal::none;
}

template Refusal Core::deposit_grouped<false>(Link&, SlotRecord&, const Packet&, const Payload&,
                                              std::uint64_t) noexcept;
template Refusal Core::deposit_grouped<true>(Link&, SlotRecord&, const Packet&, const Payload&,
                                             std::uint64_t) noexcept;

// --- telling

void Core::notify(SlotRecord& slot, const MetadataEntry& entry, Notification& notification) noexcept {
  notification.message_id = entry.message;
  notification.offset = entry.offset;
  HAMLYN_ASSERT(slot.unread < slot.entry_count,
                "an entry is not armed again before its notification is taken");
  slot.counters->most_entries = std::max(slot.counters->most_entries, ++slot.unread);
  slot.queue->push(notification, slot.generation);
  if (slot.queue->event_wanted) surroundings_.signal(*slot.queue);
}

void Core::complete(SlotRecord& slot, std::uint32_t slot_index, std::uint32_t entry_index,
                    std::uint64_t peer) noexcept {
  ++completions_;
  MetadataEntry& entry = slot.entries[entry_index];
  ++slot.counters->messages;
  HAMLYN_ASSERT(entry_index < slot.entry_count, "whoever completes an entry has checked its number");
  slot.counters->bytes += entry.length;
  // One notification for so many messages (paper 1, section 3.5.3).
  if (slot.messages_to_go != 0 && --slot.messages_to_go != 0) {
    entry.state = EntryState::read;
    return;
  }
  entry.state = EntryState::complete;
  Notification notification;
  notification.kind = Notification::Kind::message;
  notification.slot = slot.number(slot_index);
  notification.entry = entry_index;
  notification.length = entry_bytes(slot, entry);
  notification.peer = peer;
  notify(slot, entry, notification);
}

void Core::fail(SlotRecord& slot, std::uint32_t slot_index, std::uint32_t entry_index, Failure why,
                std::uint64_t peer) noexcept {
  ++completions_;
  ++slot.counters->failed;
  MetadataEntry& entry = slot.entries[entry_index];
  HAMLYN_ASSERT(waits(entry), "a message fails before it is complete, and once");
  // A link that has ended brings nothing more. Late packets of a message that had begun are known by its
  // number:
  // then the tickets of others stay good. A sender that has not begun when its time is over comes too late.
  const bool told_apart =
      entry.state != EntryState::gathering &&
      (why == Failure::link_ended || (entry.state == EntryState::filling && give_up(entry)));
  if (!told_apart) ++entry.incarnation;
  if (entry.state == EntryState::armed) {  // nothing of it has come
    entry.message = 0;
    entry.offset = 0;
    entry.length = 0;
    entry.user_length = 0;
  }
  if (slot.posted != nullptr) slot.posted->end(entry_index);
  entry.state = EntryState::failed;
  entry.accumulator = 0;
  settle_promises(slot_index, entry_index, Refusal::stale_message);
  Notification notification;
  notification.kind = Notification::Kind::failed;
  notification.slot = slot.number(slot_index);
  notification.entry = entry_index;
  notification.peer = peer;
  notification.word = static_cast<std::uint64_t>(why);
  notification.length = slot.posted == nullptr ? entry_bytes(slot, entry) : entry.length;
  notify(slot, entry, notification);
}

void Core::notify_after(std::uint32_t slot, std::uint32_t messages) noexcept {
  slots_[slot].messages_to_go = messages;
}

// From here on the entry may be armed again: never more than one notification of it stands in the queue.
void Core::completion_taken(Notification& notification, std::uint32_t generation) noexcept {
  if (notification.kind == Notification::Kind::protocol_error) return error_taken(notification);
  if (is_of_puts(notification)) return puts_taken(notification, generation);
  if (notification.kind != Notification::Kind::message && notification.kind != Notification::Kind::failed) {
    if (notification.kind == Notification::Kind::resource_exhausted) error_taken(notification);
    if (notification.kind == Notification::Kind::halted) halt_taken(notification, generation);
    return;
  }
  SlotRecord& slot = slots_[index_of(notification.slot)];
  if (!slot.live || slot.generation != generation) return;
  HAMLYN_ASSERT(notification.entry < slot.entry_count, "notifications in the queue are this side's own");
  HAMLYN_ASSERT(slot.unread != 0, "each that is pushed is counted");
  HAMLYN_ASSERT(unread(slot.entries[notification.entry]),
                "an entry waits in its state until its notification is taken");
  --slot.unread;
  slot.entries[notification.entry].state = EntryState::read;
}

}  // namespace hamlyn::internal_::interface
