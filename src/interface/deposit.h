#pragma once
// Core::deposit takes every packet of every fabric (design, section 4; paper 0, section 2.2). It asks the
// checks (checks.h), and only then the bytes move. The packet is a private copy: nothing here is read from
// memory that the sender can write, except the data, which is only copied. The ways below are shorter, for
// the packets that come most often. They ask the same checks, and leave to deposit whatever they do not take.
//
// Inline because for a short message this is most of what there is to do.
#include "base/copy.h"
#include "base/namespaces.h"
#include "interface/core.h"
#include "interface/packets/checks.h"

namespace hamlyn::internal_::interface {

inline void move_bytes(std::byte* to, std::size_t length, const std::byte* inline_data,
                       const Payload& payload) noexcept {
  if (length == kInlineData) [[likely]] {
    base::copy_words<kInlineData / 8>(to, inline_data);
    return;
  }
  if (length < kInlineData) {
    base::copy_up_to_16(to, inline_data, length);
    return;
  }
  std::memcpy(to, payload.first, payload.first_length);
  if (payload.first_length < length) {
    std::memcpy(to + payload.first_length, payload.second, length - payload.first_length);
  }
}
inline void move_bytes(std::byte* to, const Packet& packet, const Payload& payload) noexcept {
  move_bytes(to, packet.lead.length, packet.data, payload);
}

__attribute__((always_inline)) inline Refusal Core::deposit(Link& link, const Packet& packet,
                                                            const Payload& payload) noexcept {
  if (packet.lead.operation != Operation::write) [[unlikely]]
    return deposit_control(link, packet, payload);
  const Refusal named = check_slot(slots_, packet.slot, packet.generation);
  if (named != Refusal::none) [[unlikely]]
    return named;
  SlotRecord& slot = slot_of(slots_, packet.slot);
  if (packet.entry != kNoEntry)
    return deposit_counted<false>(link, slot, packet, payload, packet.lead.length);
  const Refusal cause =
      check_fast(slot, packet.key, packet.lead.metadata_length, packet.offset, packet.lead.length);
  if (cause != Refusal::none) [[unlikely]]
    return cause;
  std::uint32_t record;
  if (!find_places(records_, link, packet.delta, packet.slot, packet.generation, record)) [[unlikely]]
    return Refusal::no_place;
  ReceiveCredit& places = records_[record];
  if (!below_mark(places) && !rise(places)) [[unlikely]]
    return Refusal::no_place;
  ++places.standing;
  move_bytes(slot.base + packet.offset, packet, payload);
  Queue& queue = *slot.queue;
  queue.push_fast(record, number_of(word_at(packet, kSlotWord)), packet.offset, packet.lead.length,
                  packet.word, link.peer);
  ++slot.counters->messages;
  slot.counters->bytes += packet.lead.length;
  if (queue.event_wanted) [[unlikely]]
    surroundings_.signal(queue);
  remember_slot(link, word_at(packet, kLeadWord), word_at(packet, kSlotWord), packet.key,
                word_at(packet, kEntryWord), record);
  return Refusal::none;
}

// Lands a packet like the one before. The notification is left to the caller.
__attribute__((always_inline)) inline bool Core::land_cached(const CachedWrite& same,
                                                             const Words& words) noexcept {
  if (!like(same, words)) [[unlikely]]
    return false;
  const std::uint64_t offset = words.word[kOffsetWord];
  std::byte* const to = same.base + offset;
  if (same.length == kInlineData) [[likely]] {
    std::memcpy(to, &words.word[kDataWord], sizeof(std::uint64_t));
    std::memcpy(to + sizeof(std::uint64_t), &words.word[kDataWord + 1], sizeof(std::uint64_t));
  } else {
    const std::uint64_t data[2] = {words.word[kDataWord], words.word[kDataWord + 1]};
    base::copy_up_to_16(to, reinterpret_cast<const std::byte*>(data), same.length);
  }
  return true;
}

__attribute__((always_inline)) inline bool Core::deposit_cached(Link& link, const Words& words) noexcept {
  const CachedWrite& same = link.cached.write;
  if (same.queue == nullptr || !below_mark(*same.places) || !land_cached(same, words)) [[unlikely]] {
    return false;
  }
  ++same.places->standing;
  Queue& queue = *same.queue;
  queue.push_fast(same.record, same.number, words.word[kOffsetWord], same.length, words.word[kUserWord],
                  link.peer);
  ++same.counters->messages;
  same.counters->bytes += same.length;
  if (queue.event_wanted) [[unlikely]]
    surroundings_.signal(queue);
  return true;
}

// Takes the packet when the queue is empty and its owner asks for the next notification, which need not stand
// in the queue then. Nothing of the link stands there, so the link has a place, and has it back at once. The
// caller asks places_due whether the sender is to be told. The caller has seen, too, that the queue does not
// wrap here: a run is open.
__attribute__((always_inline)) inline bool Core::take_cached(Link& link, const Words& words, Queue& queue,
                                                             Notification& out) noexcept {
  const CachedWrite& same = link.cached.write;
  if (!land_cached(same, words)) [[unlikely]]
    return false;
  fast_notification(out, false, same.number, words.word[kOffsetWord], same.length, words.word[kUserWord],
                    link.peer);
  queue.pass();
  ++same.places->freed;
  return true;
}

// Takes a block in this way. Its lead was checked: a write of more than fits a cell, without metadata.
__attribute__((always_inline)) inline bool Core::take_cached_block(Link& link, const Words& words,
                                                                   const std::byte* data, Queue& queue,
                                                                   Notification& out) noexcept {
  const CachedWrite& same = link.cached.block;
  const std::uint64_t offset = words.word[kOffsetWord];
  const std::uint64_t length = words.word[kLeadWord] >> 32 & 0xFFFF;
  if (!like_block(same, queue, words, length)) [[unlikely]]
    return false;
  std::memcpy(same.base + offset, data, length);
  fast_notification(out, false, same.number, offset, length, words.word[kUserWord], link.peer);
  queue.pass();
  ++same.places->freed;
  ++same.counters->messages;
  same.counters->bytes += length;
  return true;
}

// A put like the one before.
__attribute__((always_inline)) inline bool Core::put_cached(Link& link, const Words& words) noexcept {
  const CachedPut& same = link.cached.put;
  const PutWord word = put_word_of(words.word[kSlotWord]);
  if (!like(same, word)) [[unlikely]]
    return false;
  std::byte* const to = same.base + word.offset;
  if ((reinterpret_cast<std::uintptr_t>(to) | word.length) % sizeof(std::uint64_t) == 0) [[likely]] {
    for (std::size_t i = 0; i != word.length / sizeof(std::uint64_t); ++i)
      base::store_little_shared(to + i * sizeof(std::uint64_t), words.word[kKeyWord + i]);
  } else {
    std::byte data[kPutInline];
    for (std::size_t i = 0; i < kPutInline / sizeof(std::uint64_t); ++i)
      base::store_little(data + i * sizeof(std::uint64_t), words.word[kKeyWord + i]);
    base::copy_to_shared(to, data, word.length);
  }
  ++same.counters->messages;
  same.counters->bytes += word.length;
  return true;
}

// Asks the checks of deposit for a message in one packet, or a packet of a group, that comes for the owner of
// an empty queue: it is landed, and if it makes a message or a group whole, that is told of without standing
// in the queue. Its lead was checked. Arrived::other: something else, and nothing was done.
__attribute__((always_inline)) inline Core::Arrived Core::take_whole(Link& link, const Words& words,
                                                                     const Payload& payload, Queue& queue,
                                                                     Notification& out) noexcept {
  const Lead lead = std::bit_cast<Lead>(words.word[kLeadWord]);
  const std::uint32_t named = low_half(words.word[kSlotWord]);
  if (check_slot(slots_, named, high_half(words.word[kSlotWord])) != Refusal::none) [[unlikely]]
    return Arrived::other;
  SlotRecord& slot = slot_of(slots_, named);
  if (slot.mode != Mode::guarded || check_key(slot, words.word[kKeyWord]) != Refusal::none ||
      check_bounds(slot, words.word[kOffsetWord], lead.length) != Refusal::none || slot.queue != &queue)
      [[unlikely]] {
    return take_posted(link, words, slot, payload, queue, out);
  }
  link.cached.counted_last = low_half(words.word[kEntryWord]) != kNoEntry;
  const Arrived arrived = link.cached.counted_last ? take_counted(link, words, slot, payload, out)
                                                   : take_fast(link, words, slot, payload, out);
  if (arrived == Arrived::whole) [[likely]] {
    ++slot.counters->messages;
    queue.pass();
    queue.count();
  }
  return arrived;
}

// In fast mode. The shortest ones are left to the way that takes them one by one. Always inline: called, it
// would need the words in memory, which costs others, too.
__attribute__((always_inline)) inline Core::Arrived Core::take_fast(Link& link, const Words& words,
                                                                    const SlotRecord& slot,
                                                                    const Payload& payload,
                                                                    Notification& out) noexcept {
  const Lead lead = std::bit_cast<Lead>(words.word[kLeadWord]);
  const std::uint32_t place = high_half(words.word[kEntryWord]);
  const std::uint64_t offset = words.word[kOffsetWord];
  std::uint32_t record;
  if (lead.length <= kInlineData || !takes_fast(slot, lead.metadata_length) ||
      !find_places(records_, link, place, low_half(words.word[kSlotWord]), slot.generation, record) ||
      !has_place(records_[record])) {
    return Arrived::other;
  }
  ReceiveCredit& places = records_[record];
  land_counted(words, slot, payload);
  fast_notification(out, slot.queue->next_wraps(), number_of(words.word[kSlotWord]), offset, lead.length,
                    words.word[kUserWord], link.peer);
  slot.counters->bytes += lead.length;
  if (++places.freed == places.tell_at) tell_freed(record);
  if (!link.cached.block.opened_by(words.word[kSlotWord], words.word[kEntryWord], words.word[kKeyWord]))
    remember_slot(link, words.word[kLeadWord], words.word[kSlotWord], words.word[kKeyWord],
                  words.word[kEntryWord], record);
  return Arrived::whole;
}

inline void Core::land_counted(const Words& words, const SlotRecord& slot, const Payload& payload) noexcept {
  const Lead lead = std::bit_cast<Lead>(words.word[kLeadWord]);
  move_bytes(slot.base + words.word[kOffsetWord], lead.length,
             reinterpret_cast<const std::byte*>(&words.word[kDataWord]), payload);
}

// Into an entry that nothing else is known of but that it is armed, or that a group fills.
inline Core::Arrived Core::take_counted(Link& link, const Words& words, SlotRecord& slot,
                                        const Payload& payload, Notification& out) noexcept {
  const Lead lead = std::bit_cast<Lead>(words.word[kLeadWord]);
  const std::uint32_t entry_index = low_half(words.word[kEntryWord]);
  if (!has_entry(slot, entry_index) || slot.messages_to_go != 0) return Arrived::other;
  MetadataEntry& entry = slot.entries[entry_index];
  const std::uint64_t message = words.word[kUserWord];
  if (check_incarnation(entry, message) != Refusal::none) return Arrived::other;
  if (entry.state == EntryState::gathering) return take_member(link, words, slot, payload, out);
  if (entry.state != EntryState::armed || high_half(words.word[kEntryWord]) != 0) return Arrived::other;
  const std::uint64_t offset = words.word[kOffsetWord];
  land_counted(words, slot, payload);
  if (lead.metadata_length != 0) std::memcpy(entry.user, payload.metadata, lead.metadata_length);
  entry.user_length = lead.metadata_length;
  entry.message = message_of(message);
  entry.length = lead.length;
  entry.offset = offset;
  entry.state = EntryState::read;
  slot.counters->bytes += lead.length;
  entry_notification(out, slot.queue->next_wraps(), number_of(words.word[kSlotWord]), entry_index,
                     message_of(message), offset, lead.length, link.peer);
  return Arrived::whole;
}

// A packet of a group. What the group's count forbids is left to the long way, which says so.
inline Core::Arrived Core::take_member(Link& link, const Words& words, SlotRecord& slot,
                                       const Payload& payload, Notification& out) noexcept {
  const Lead lead = std::bit_cast<Lead>(words.word[kLeadWord]);
  const std::uint32_t entry_index = low_half(words.word[kEntryWord]);
  const std::uint32_t delta = high_half(words.word[kEntryWord]);
  MetadataEntry& entry = slot.entries[entry_index];
  if (check_share(entry, delta) != Refusal::none) return Arrived::other;
  land_counted(words, slot, payload);
  if (lead.metadata_length != 0) {
    std::memcpy(entry.user, payload.metadata, lead.metadata_length);
    entry.user_length = lead.metadata_length;
  }
  if (!add_member(link, low_half(words.word[kSlotWord]), entry_index, words.word[kOffsetWord], lead.length,
                  delta))
    return Arrived::part;
  entry.state = EntryState::read;
  slot.counters->bytes += entry.length;
  entry_notification(out, slot.queue->next_wraps(), number_of(words.word[kSlotWord]), entry_index,
                     entry.message, entry.offset, entry_bytes(slot, entry), entry.link != 0 ? link.peer : 0);
  return Arrived::whole;
}

// Adds the bytes of a packet to its group once they have landed. True: the group is whole. The sum of honest
// shares passes zero once, with the last packet. Each share is at least the number of its packets, so that no
// packet adds less than one and no sum before the last comes to zero.
inline bool Core::add_member(Link& link, std::uint32_t slot, std::uint32_t entry_index, std::uint64_t offset,
                             std::uint64_t length, std::uint32_t delta) noexcept {
  MetadataEntry& entry = slots_[slot].entries[entry_index];
  const bool first = entry.accumulator == 1;
  entry.offset = first ? offset : std::min(entry.offset, offset);
  entry.link = first || entry.link == link.serial ? link.serial : 0;  // 0: of several
  entry.length += static_cast<std::uint32_t>(length);
  note_member(link, slot, entry_index);
  entry.accumulator += delta;
  if (entry.accumulator != 0) return false;
  ++entry.incarnation;
  return true;
}

}  // namespace hamlyn::internal_::interface
