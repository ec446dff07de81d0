#pragma once
// What every packet of every fabric goes through (design, section 4; paper 0, section 2.2): the slot exists
// and the generation matches; the key; the kind of packet is allowed; inside the bounds; a place or an armed
// entry is there; only then the bytes move. The packet is a private copy: nothing here is read from memory
// that the sender can write, except the data, which is only copied. Core::deposit is all of it; the ways
// below it are shorter, for what comes most often, and leave to it whatever they do not take.
//
// Inline because for a short message this is most of what there is to do.
#include "base/copy.h"
#include "base/namespaces.h"
#include "interface/core.h"

namespace hamlyn::internal_::interface {

// Branch-free, so that a mispredicted check cannot read beyond the table either (Spectre, variant 1).
inline std::uint32_t masked_index(std::uint32_t index, std::size_t power_of_two) noexcept {
  return index & static_cast<std::uint32_t>(power_of_two - 1);
}

// `length` bytes at `offset` lie inside `bound` bytes; no sum that could overflow.
inline bool inside(std::uint64_t offset, std::uint64_t length, std::uint64_t bound) noexcept {
  return length <= bound && offset <= bound - length;
}

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
  const std::uint32_t index = masked_index(packet.slot, slots_.size());
  SlotRecord& slot = slots_[index];
  if (packet.slot != index || slot.generation == 0) [[unlikely]]
    return Refusal::bad_slot;
  if (slot.generation != packet.generation || !slot.live) [[unlikely]]
    return Refusal::stale_generation;
  if (packet.entry != kNoEntry)
    return deposit_counted<false>(link, slot, packet, payload, packet.lead.length);

  if (packet.key != slot.key) [[unlikely]]
    return Refusal::bad_key;
  if (!slot.fast || packet.lead.metadata_length != 0) [[unlikely]]
    return Refusal::mode_forbids;
  if (!inside(packet.offset, packet.lead.length, slot.bound)) [[unlikely]]
    return Refusal::out_of_bounds;
  if (packet.delta >= link.places.size()) [[unlikely]]
    return Refusal::no_place;
  const std::uint32_t record = link.places[packet.delta];
  Places& places = records_[record];
  if (places.slot != index || places.generation != packet.generation ||
      (places.standing >= places.most && !rise(places))) [[unlikely]] {
    return Refusal::no_place;
  }
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

// Every check of deposit but for the place, in fewer steps: kind and length, slot, generation and key by
// comparison with a short write that passed; bounds. The bytes move; the notification is left to the caller.
__attribute__((always_inline)) inline bool Core::accept_like_before(const SameSlot& same,
                                                                    const Words& words) noexcept {
  if (kind_of(words) != same.kind ||
      !same.opened_by(words.word[kSlotWord], words.word[kEntryWord], words.word[kKeyWord])) [[unlikely]] {
    return false;
  }
  const std::uint64_t offset = words.word[kOffsetWord];
  if (offset > same.last_offset) [[unlikely]]
    return false;
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

__attribute__((always_inline)) inline bool Core::deposit_like_before(Link& link,
                                                                     const Words& words) noexcept {
  const SameSlot& same = link.same_slot;
  if (same.queue == nullptr || same.places->standing >= same.places->most || !accept_like_before(same, words))
      [[unlikely]] {
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

// The same when the queue is empty and its owner asks for the next notification: it need not stand in the
// queue. Nothing of the link stands there, so it has a place, which is free again: places_due says what
// follows, and the caller that the queue does not wrap here (ShortRun).
__attribute__((always_inline)) inline bool Core::take_like_before(Link& link, const Words& words,
                                                                  Queue& queue, Notification& out) noexcept {
  const SameSlot& same = link.same_slot;
  if (!accept_like_before(same, words)) [[unlikely]]
    return false;
  fast_notification(out, false, same.number, words.word[kOffsetWord], same.length, words.word[kUserWord],
                    link.peer);
  queue.pass();
  ++same.places->freed;
  return true;
}

// The same of a block. Its lead was checked: a write of more than fits a cell, without metadata.
__attribute__((always_inline)) inline bool Core::take_block_like_before(Link& link, const Words& words,
                                                                        const std::byte* data, Queue& queue,
                                                                        Notification& out) noexcept {
  const SameSlot& same = link.same_block;
  const std::uint64_t offset = words.word[kOffsetWord];
  const std::uint64_t length = words.word[kLeadWord] >> 32 & 0xFFFF;
  // The short ones of a run may be of a slot with another queue. What nothing is remembered of has none.
  if (same.queue != &queue ||
      !same.opened_by(words.word[kSlotWord], words.word[kEntryWord], words.word[kKeyWord]) ||
      !inside(offset, length, same.bound)) [[unlikely]] {
    return false;
  }
  std::memcpy(same.base + offset, data, length);
  fast_notification(out, false, same.number, offset, length, words.word[kUserWord], link.peer);
  queue.pass();
  ++same.places->freed;
  ++same.counters->messages;
  same.counters->bytes += length;
  return true;
}

// Every check of take_put, for a put by the opening of one that passed and was told to nobody.
__attribute__((always_inline)) inline bool Core::put_like_before(Link& link, const Words& words) noexcept {
  const SamePut& same = link.same_put;
  const PutWord word = put_word_of(words.word[kSlotWord]);
  if (opening_word(word.name, word.serial) != same.opening || word.notify || word.length > kPutInline ||
      !inside(word.offset, word.length, same.bound)) [[unlikely]] {
    return false;
  }
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

// Every check of deposit, for a message in one packet, or a packet of a group, that comes for the owner of an
// empty queue: it is landed, and if it makes a message or a group whole, that is told of without standing in
// the queue. Its lead was checked. Arrived::other: something else, and nothing was done.
__attribute__((always_inline)) inline Core::Arrived Core::take_whole(Link& link, const Words& words,
                                                                     const Payload& payload, Queue& queue,
                                                                     Notification& out) noexcept {
  const Lead lead = std::bit_cast<Lead>(words.word[kLeadWord]);
  const std::uint32_t named = low_half(words.word[kSlotWord]);
  const std::uint32_t index = masked_index(named, slots_.size());
  const std::uint64_t offset = words.word[kOffsetWord];
  SlotRecord& slot = slots_[index];
  if (named != index || slot.generation != high_half(words.word[kSlotWord]) || !slot.live ||
      slot.mode != Mode::guarded || slot.key != words.word[kKeyWord] ||
      !inside(offset, lead.length, slot.bound) || slot.queue != &queue) [[unlikely]] {
    return Arrived::other;
  }
  link.counted_last = low_half(words.word[kEntryWord]) != kNoEntry;
  const Arrived arrived = link.counted_last ? take_counted(link, words, slot, payload, out)
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
  const std::uint32_t index = low_half(words.word[kSlotWord]);
  if (!slot.fast || lead.length <= kInlineData || lead.metadata_length != 0 || place >= link.places.size())
    return Arrived::other;
  const std::uint32_t record = link.places[place];
  Places& places = records_[record];
  if (places.slot != index || places.generation != slot.generation || places.standing >= places.granted)
    return Arrived::other;
  const std::uint64_t offset = words.word[kOffsetWord];
  land_counted(words, slot, payload);
  fast_notification(out, slot.queue->next_wraps(), number_of(words.word[kSlotWord]), offset, lead.length,
                    words.word[kUserWord], link.peer);
  slot.counters->bytes += lead.length;
  if (++places.freed == places.tell_at) give_back_slowly(record);
  if (!link.same_block.opened_by(words.word[kSlotWord], words.word[kEntryWord], words.word[kKeyWord]))
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
  if (entry_index >= slot.entry_count || slot.messages_to_go != 0) return Arrived::other;
  MetadataEntry& entry = slot.entries[entry_index];
  const std::uint64_t message = words.word[kUserWord];
  if (entry.incarnation != incarnation_of(message)) return Arrived::other;
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
  if (delta == 0 || delta > missing(entry)) return Arrived::other;
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

// What the bytes of a packet add to its group once they have landed. True: it is whole. The sum of honest
// shares passes zero once, with the last packet: each is at least the number of its packets, so that no
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
