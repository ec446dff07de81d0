#pragma once
// The checks of a packet, each written once (design, section 4; paper 0, section 2.2): the slot exists and
// the generation matches; the key; the kind of packet is allowed; inside the bounds; a place or an armed
// entry is there. Core::deposit asks them in that order, and each shorter way asks the same ones: no way has
// a check of its own. A comparison with a packet that passed (interface/packets/cached.h) stands here, too.
//
// A check is total: it has an answer for any bytes, and it changes nothing. What is checked is a private
// copy. Refusal::none means that the packet passed.
//
// Elsewhere stand the form of a packet, which depends on nothing but its lead (invalid() in packet.h), and
// what a lookup that takes something out of a table finds there (acknowledge.cc, lost_messages.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"
#include "interface/areas/send_area.h"
#include "interface/link.h"
#include "interface/packets/cached.h"
#include "interface/packets/element.h"
#include "interface/packets/metadata.h"
#include "interface/packets/packet.h"
#include "interface/packets/posted_packet.h"
#include "interface/packets/put_packet.h"
#include "interface/packets/strides.h"
#include "interface/places/guests.h"
#include "interface/puts/puts.h"
#include "interface/remote/remote.h"
#include "interface/slot_record.h"

namespace hamlyn::internal_::interface {

using Slots = std::vector<SlotRecord>;  // a power of two of them
using Records = std::vector<ReceiveCredit>;

// Branch-free, so that a mispredicted check cannot read beyond the table either (Spectre, variant 1).
inline std::uint32_t masked_index(std::uint32_t index, std::size_t power_of_two) noexcept {
  return index & static_cast<std::uint32_t>(power_of_two - 1);
}

// `length` bytes at `offset` lie inside `bound` bytes; no sum that could overflow.
inline bool inside(std::uint64_t offset, std::uint64_t length, std::uint64_t bound) noexcept {
  return length <= bound && offset <= bound - length;
}

// --- slot, key, bounds

// The slot of that number, and some slot for a number that names none: check_slot says which.
template <class Table>
inline auto& slot_of(Table& slots, std::uint32_t named) noexcept {
  return slots[masked_index(named, slots.size())];
}

__attribute__((always_inline)) inline Refusal check_slot(const Slots& slots, std::uint32_t named,
                                                         std::uint32_t generation) noexcept {
  const SlotRecord& slot = slot_of(slots, named);
  if (named != masked_index(named, slots.size())) [[unlikely]]
    return Refusal::bad_slot;
  if (slot.generation == generation && slot.live) [[likely]]
    return Refusal::none;
  return slot.generation == 0 ? Refusal::bad_slot : Refusal::stale_generation;  // 0: there never was one
}

// The slot's own key.
__attribute__((always_inline)) inline Refusal check_key(const SlotRecord& slot, std::uint64_t key) noexcept {
  return key == slot.key ? Refusal::none : Refusal::bad_key;
}

inline bool has_entry(const SlotRecord& slot, std::uint32_t entry) noexcept {
  return entry < slot.entry_count;
}

// The entry that a packet names, and the key: the slot's, or in the paranoid modes the entry's instead.
inline Refusal check_entry(const SlotRecord& slot, std::uint32_t entry, std::uint64_t key) noexcept {
  const bool paranoid = slot.mode != Mode::guarded;
  if (!paranoid && check_key(slot, key) != Refusal::none) return Refusal::bad_key;
  if (!has_entry(slot, entry)) return Refusal::bad_entry;
  return paranoid && key != slot.entries[entry].key ? Refusal::bad_key : Refusal::none;
}

__attribute__((always_inline)) inline Refusal check_bounds(const SlotRecord& slot, std::uint64_t offset,
                                                           std::uint64_t length) noexcept {
  return inside(offset, length, slot.bound) ? Refusal::none : Refusal::out_of_bounds;
}

// In the paranoid modes the entry has bounds of its own inside the slot's.
inline Refusal check_bounds(const SlotRecord& slot, const MetadataEntry& entry, std::uint64_t offset,
                            std::uint64_t length) noexcept {
  if (check_bounds(slot, offset, length) != Refusal::none) return Refusal::out_of_bounds;
  if (slot.mode == Mode::guarded) return Refusal::none;
  const bool fits = offset >= entry.base && inside(offset - entry.base, length, entry.bound);
  return fits ? Refusal::none : Refusal::out_of_bounds;
}

// --- messages in fast mode

inline bool takes_fast(const SlotRecord& slot, std::size_t metadata) noexcept {
  return slot.fast && metadata == 0;
}

__attribute__((always_inline)) inline Refusal check_fast(const SlotRecord& slot, std::uint64_t key,
                                                         std::size_t metadata, std::uint64_t offset,
                                                         std::uint64_t length) noexcept {
  if (check_key(slot, key) != Refusal::none) [[unlikely]]
    return Refusal::bad_key;
  if (!takes_fast(slot, metadata)) [[unlikely]]
    return Refusal::mode_forbids;
  return check_bounds(slot, offset, length);
}

// Finds the record of notification places that the sender names. False: this link has none of that name at
// that slot.
__attribute__((always_inline)) inline bool find_places(const Records& records, const Link& link,
                                                       std::uint32_t name, std::uint32_t slot,
                                                       std::uint32_t generation,
                                                       std::uint32_t& record) noexcept {
  if (name >= link.places.size()) return false;
  record = link.places[name];
  return records[record].slot == slot && records[record].generation == generation;
}

inline bool has_place(const ReceiveCredit& places) noexcept { return places.standing < places.granted; }

// Whether a place is there because as many have stood before: the mark is never beyond what was granted. If
// not, Core::rise asks has_place and moves the mark.
inline bool below_mark(const ReceiveCredit& places) noexcept { return places.standing < places.most; }

// --- messages with an entry

inline Refusal check_incarnation(const MetadataEntry& entry, std::uint64_t word) noexcept {
  return incarnation_of(word) == entry.incarnation ? Refusal::none : Refusal::stale_message;
}

// Sum that a group's count lacks.
inline std::uint32_t missing(const MetadataEntry& entry) noexcept { return 0u - entry.accumulator; }

// The share of a group's packet; more than is missing means that somebody has sent more than its own.
inline Refusal check_share(const MetadataEntry& entry, std::uint32_t delta) noexcept {
  return delta != 0 && delta <= missing(entry) ? Refusal::none : Refusal::bad_share;
}

// Whether the entry takes the packet of that message as it is now; a group's has its share checked as well.
inline Refusal check_state(const MetadataEntry& entry, const Link& link, std::uint32_t message,
                           std::uint32_t delta) noexcept {
  const bool of_several = delta != 0;  // packets
  if (of_several && link.lost_messages.has_given_up(message)) return Refusal::stale_message;
  switch (entry.state) {
    case EntryState::armed:
      return of_several && link.lost_messages.has(message) ? Refusal::stale_message : Refusal::none;
    case EntryState::filling:
      return entry.message == message && entry.link == link.serial ? Refusal::none : Refusal::entry_busy;
    case EntryState::gathering:
      return check_share(entry, delta);
    case EntryState::readable:
      return Refusal::mode_forbids;
    default:
      return Refusal::entry_not_armed;
  }
}

// A packet for an entry, but for what the entry's state says of it.
inline Refusal check_counted(const SlotRecord& slot, const Packet& packet, std::uint64_t length) noexcept {
  const Refusal opened = check_entry(slot, packet.entry, packet.key);
  if (opened != Refusal::none) return opened;
  const MetadataEntry& entry = slot.entries[packet.entry];
  const Refusal bounds = check_bounds(slot, entry, packet.offset, length);
  return bounds != Refusal::none ? bounds : check_incarnation(entry, packet.word);
}

// A message that is to be acknowledged has an entry that is complete at some time, and of its own.
inline Refusal check_acknowledged(const Slots& slots, const Packet& packet) noexcept {
  const Refusal named = check_slot(slots, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  const bool grouped =
      has_entry(slot, packet.entry) && slot.entries[packet.entry].state == EntryState::gathering;
  return packet.entry == kNoEntry || grouped ? Refusal::mode_forbids : Refusal::none;
}

// A packet of a message to a posted buffer, but for the buffer.
inline Refusal check_posted(const SlotRecord& slot, const Packet& packet, const PostedPart& part) noexcept {
  if (slot.posted == nullptr) return Refusal::bad_entry;
  const bool some = part.length != 0 || part.total == 0;
  const bool formed = packet.lead.metadata_length == 0 && element_of(packet.lead) == 0 && some &&
                      inside(part.at, part.length, part.total);
  return formed ? Refusal::none : Refusal::malformed;
}

// Whether any buffer waits.
inline Refusal check_waiting(const Posted& posted) noexcept {
  if (posted.halted() != Refusal::none) return posted.halted();
  return posted.waiting() != 0 ? Refusal::none : Refusal::no_buffer;
}

// Whether a message to come has a buffer.
inline Refusal check_buffer(Posted& posted, const PostedPart& part) noexcept {
  const Refusal cause = check_waiting(posted);
  if (cause != Refusal::none) return cause;
  return part.total <= posted.buffer(posted.oldest()).length ? Refusal::none : Refusal::too_long;
}

// A sender gives up a message: it may spoil this entry if it has its ticket, unless another is filling it.
inline Refusal check_abandon(const Slots& slots, const Link& link, const Packet& packet) noexcept {
  const Refusal named = check_slot(slots, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  const Refusal opened = check_entry(slot, packet.entry, packet.key);
  if (opened != Refusal::none) return opened;
  const MetadataEntry& entry = slot.entries[packet.entry];
  if (check_incarnation(entry, packet.word) != Refusal::none) return Refusal::stale_message;
  switch (entry.state) {
    case EntryState::filling:
      return entry.message == message_of(packet.word) && entry.link == link.serial ? Refusal::none
                                                                                   : Refusal::entry_busy;
    case EntryState::armed:
    case EntryState::gathering:
      return Refusal::none;
    default:
      return Refusal::entry_not_armed;
  }
}

// --- data that does not come with the packet

// Where in an area that the peer has shown the data stands. `withdrawn`: the area is shown no more.
inline Refusal check_area(const Link& link, const AreaPart& part, bool& withdrawn) noexcept {
  if (link.shown == nullptr || part.number >= kAreaLimit || part.length > kAreaPacketLimit)
    return Refusal::bad_area;
  const ShownArea& area = (*link.shown)[masked_index(part.number, kAreaLimit)];
  withdrawn = area.data == nullptr || area.generation != part.generation;
  return withdrawn || inside(part.offset, part.length, area.size) ? Refusal::none : Refusal::bad_area;
}

// Data that the sender says it has stored through its mapping of the slot.
inline Refusal check_mapping(const SlotRecord& slot, const AreaPart& part) noexcept {
  const bool mapped = slot.mapping != nullptr && static_cast<std::uint16_t>(*slot.mapping) == part.generation;
  return mapped ? Refusal::none : Refusal::bad_area;
}

// --- openings and puts

// Why a link may have no places at the slot that it names.
inline Refusal check_open(const Slots& slots, const Link& link, const Packet& packet) noexcept {
  const Refusal named = check_slot(slots, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  if (check_key(slot, packet.key) != Refusal::none) return Refusal::bad_key;
  if (slot.rights(link.user) == 0) return Refusal::not_permitted;
  return slot.fast || slot.puts != nullptr ? Refusal::none : Refusal::mode_forbids;
}

inline constexpr std::uint32_t kDeadRecord = 0;  // matches no slot: where a freed place record's name leads

// The record of an opening, if it is the one that was granted under that name; otherwise the dead one.
inline std::uint32_t find_opening(const Slots& slots, const Records& records, const Link& link,
                                  const PutWord& word) noexcept {
  if (word.name >= link.places.size()) return kDeadRecord;
  const std::uint32_t record = link.places[word.name];
  const ReceiveCredit& places = records[record];
  if (places.slot == kNoEntry || places.over || places.serial != word.serial) return kDeadRecord;
  return check_slot(slots, places.slot, places.generation) == Refusal::none ? record : kDeadRecord;
}

// The checks of a short message by an opening of `slot`, whose key was checked when it was opened. Only
// within a host does nobody but the sender write into the link.
inline Refusal check_opened_write(const Link& link, const SlotRecord& slot, const PutWord& word) noexcept {
  if (link.local() == nullptr || word.notify || word.length > kOpenedInline) return Refusal::malformed;
  if (!takes_fast(slot, 0)) return Refusal::mode_forbids;
  return check_bounds(slot, word.offset, word.length);
}

// Whether an opening takes a put, or is told of a get, which needs the right to read instead.
inline Refusal check_opening(const ReceiveCredit& places, const Packet& packet) noexcept {
  const bool read = packet.lead.operation == Operation::put_block && packet.lead.length == 0 &&
                    packet.word == static_cast<std::uint64_t>(Touched::read);
  return (read ? places.gives_gets : places.takes_puts) ? Refusal::none : Refusal::not_permitted;
}

// The length of a put of one cell: more than the cell holds is none.
inline bool fits_cell(std::uint64_t length) noexcept { return length <= kPutInline; }

// All of a strided put, so that each packet of it is refused for the same reason.
inline Refusal check_strided(const Packet& packet, const PutWord& word, const SlotRecord& slot,
                             PutLanding& landing) noexcept {
  const std::uint64_t length = packet.lead.length;
  landing.strided = true;
  landing.first = packet.offset;
  landing.strides = strides_of(packet, word.offset);
  landing.at = high_half(word_at(packet, kEntryWord));
  const std::uint64_t whole = data_of(landing.strides);
  if (length == 0 || !inside(landing.at, length, whole)) return Refusal::malformed;
  const std::uint32_t element = element_of(packet.lead);
  if (element > 1 && landing.strides.chunk % element != 0) return Refusal::misaligned;
  if (!inside(landing.strides, packet.offset, slot.bound)) return Refusal::out_of_bounds;
  landing.length = length;
  landing.end = packet.offset + span_of(landing.strides);
  return Refusal::none;
}

// Which bytes a put touches, and how. `landing` is what the packet says of it.
inline Refusal check_put(const Packet& packet, const PutWord& word, const SlotRecord& slot,
                         PutLanding& landing) noexcept {
  HAMLYN_ASSERT(slot.live, "find_opening() has found the slot");
  if (slot.puts == nullptr) return Refusal::mode_forbids;
  std::uint64_t length = packet.lead.length;
  landing.begin = packet.offset;
  landing.part = packet.lead.operation != Operation::put && word.length == kAnnounced;
  if (packet.lead.operation == Operation::put_strided) return check_strided(packet, word, slot, landing);
  if (packet.lead.operation == Operation::put) {
    length = word.length;
    landing.begin = word.offset;
    if (!fits_cell(length)) return Refusal::malformed;
  } else if (length == 0 && word.notify) {
    landing.announcement = true;
    length = word_at(packet, kEntryWord);
    if (packet.word > static_cast<std::uint64_t>(Touched::swapped)) return Refusal::malformed;
    landing.touched = static_cast<Touched>(packet.word);
  }
  if (check_bounds(slot, landing.begin, length) != Refusal::none) return Refusal::out_of_bounds;
  if (packet.lead.operation == Operation::put_block && !landing.announcement && packet.word != 0) {
    const bool whole = length == sizeof(std::uint64_t) || length == sizeof(std::uint32_t);
    if (packet.word > static_cast<std::uint64_t>(Signal::add) || !whole) return Refusal::malformed;
    landing.signal = static_cast<Signal>(packet.word);
    landing.of = packet.key;
    if (landing.of != 0 && landing.of >> kOpeningBits != kSignalsOf >> kOpeningBits)
      return Refusal::malformed;
    if (reinterpret_cast<std::uintptr_t>(slot.base + landing.begin) % length != 0) return Refusal::misaligned;
  }
  HAMLYN_ASSERT(landing.begin <= slot.bound && length <= slot.bound - landing.begin,
                "check_bounds() was asked above");
  landing.length = length;
  landing.end = landing.begin + length;
  return Refusal::none;
}

// Whether what a signal says of another slot's puts by that opening holds: none of them was refused since the
// last fence, and none waits.
inline Refusal check_signalled(const Slots& slots, const Records& records, const Link& link,
                               std::uint64_t of) noexcept {
  if (of == 0) return Refusal::none;
  const std::uint32_t record = find_opening(slots, records, link, put_word_of(of));
  if (record == kDeadRecord) return Refusal::stale_generation;
  if (records[record].put_refused != Refusal::none) return records[record].put_refused;
  const Puts* const puts = slot_of(slots, records[record].slot).puts.get();
  return puts != nullptr && !puts->held.empty() ? Refusal::inhibited : Refusal::none;
}

// Whether data may land by an opening of which a posted buffer tells: none before it was refused since the
// last fence, and none waits. `record`: of the opening.
inline Refusal check_telling(const Slots& slots, const Records& records, const Link& link,
                             const PutWord& where, std::uint32_t& record) noexcept {
  if (where.notify) return Refusal::not_permitted;
  if (where.length != 0) return Refusal::malformed;
  record = find_opening(slots, records, link, where);
  if (record == kDeadRecord) return Refusal::stale_generation;
  const ReceiveCredit& places = records[record];
  if (!places.takes_puts) return Refusal::not_permitted;
  if (places.put_refused != Refusal::none) return places.put_refused;
  const Puts* const puts = slot_of(slots, places.slot).puts.get();
  HAMLYN_ASSERT(puts != nullptr, "an opening that takes puts is of a slot that does");
  return puts->careful() ? Refusal::inhibited : Refusal::none;
}

// How many requests of each level the other side takes: never fewer than any does.
inline Refusal check_taken(const Packet& packet) noexcept {
  const bool known = packet.delta >= kOutstanding && packet.delta <= kMostOutstanding;
  return known ? Refusal::none : Refusal::malformed;
}

// `record`: of the opening that the fence asks about; the dead one if it asks about none.
inline Refusal check_fence(const Slots& slots, const Records& records, const Link& link, const Packet& packet,
                           std::uint32_t& record) noexcept {
  record = kDeadRecord;
  const Refusal named = check_slot(slots, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  if (check_key(slot, packet.key) != Refusal::none) return Refusal::bad_key;
  if (slot.puts == nullptr && !only_looks(packet.delta)) return Refusal::mode_forbids;
  if (slot.rights(link.user) == 0) return Refusal::not_permitted;
  if (packet.delta == kNoOpening) return Refusal::none;
  record = find_opening(slots, records, link, put_word_of(packet.delta));
  const bool lasts =
      packet.delta != kLostOpening && record != kDeadRecord && records[record].slot == packet.slot;
  return lasts ? Refusal::none : Refusal::stale_generation;
}

// --- remote requests

// The slot, the key and the bytes that a request names.
inline Refusal check_target(const Slots& slots, const Packet& packet, std::uint64_t bytes) noexcept {
  const Refusal named = check_slot(slots, packet.slot, packet.generation);
  if (named != Refusal::none) return named;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  if (slot.mode == Mode::guarded) {
    const Refusal key = check_key(slot, packet.key);
    return key != Refusal::none ? key : check_bounds(slot, packet.offset, bytes);
  }
  const Refusal cause = check_counted(slot, packet, bytes);
  if (cause != Refusal::none) return cause;
  const EntryState state = slot.entries[packet.entry].state;
  const bool open = state == EntryState::armed || state == EntryState::filling ||
                    state == EntryState::gathering || state == EntryState::readable;
  return open ? Refusal::none : Refusal::entry_not_armed;
}

// From the first byte that a get touches to behind the last; what is inside no slot, if there is no such
// number.
inline std::uint64_t reach_of(const Packet& packet) noexcept {
  if (packet.lead.operation == Operation::get) return packet.delta;
  constexpr std::uint64_t kEverything = ~std::uint64_t{0};
  const Strides strides = gather_of(packet);
  return strides.y_chunks != 0 && inside(strides, 0, kEverything) ? span_of(strides) : kEverything;
}

inline Refusal check_get(const Slots& slots, const Link& link, const Packet& packet) noexcept {
  const bool strided = packet.lead.operation == Operation::get_strided;
  if (packet.delta == 0 || (strided && gather_of(packet).y_chunks == 0)) return Refusal::malformed;
  const std::uint64_t reach = reach_of(packet);
  const Refusal cause = check_target(slots, packet, reach);
  if (cause != Refusal::none) return cause;
  const std::uint32_t element = element_of(packet.lead);
  if (strided && element > 1 && gather_of(packet).chunk % element != 0) return Refusal::misaligned;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  if (slot.gets == 0) return Refusal::mode_forbids;
  if ((slot.rights(link.user) & Guests::kRead) == 0) return Refusal::not_permitted;
  if (slot.puts != nullptr && slot.puts->unpinned.any_in(packet.offset, packet.offset + reach))
    return Refusal::not_pinned;
  return packet.delta <= slot.gets ? Refusal::none : Refusal::too_long;
}

// A word that crosses a cache line would hold up every processor of the machine (apply_fetch).
inline bool aligned(const std::byte* place, std::uint32_t bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(place) % bytes == 0;
}

inline Refusal check_fetch(const Slots& slots, const Link& link, const Packet& packet) noexcept {
  const std::uint32_t op = packet.delta & 0xFF;
  const std::uint32_t bytes = packet.delta >> 8 & 0xFF;
  if (op < static_cast<std::uint32_t>(FetchOp::add) ||
      op > static_cast<std::uint32_t>(FetchOp::compare_and_swap) || (bytes != 4 && bytes != 8) ||
      packet.delta > (kUnanswered | 0xFFFF)) {
    return Refusal::malformed;
  }
  const Refusal cause = check_target(slots, packet, bytes);
  if (cause != Refusal::none) return cause;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  if (!slot.fetches) return Refusal::mode_forbids;
  if (slot.rights(link.user) != (Guests::kRead | Guests::kWrite)) return Refusal::not_permitted;
  if (slot.puts != nullptr && slot.puts->inhibited) return Refusal::inhibited;
  if (slot.puts != nullptr && slot.puts->unpinned.any_in(packet.offset, packet.offset + bytes))
    return Refusal::not_pinned;
  return aligned(slot.base + packet.offset, bytes) ? Refusal::none : Refusal::misaligned;
}

// A watch reads as a get does.
inline Refusal check_watch(const Slots& slots, const Link& link, const Packet& packet) noexcept {
  const std::uint32_t bytes = packet.delta;
  if (bytes != 4 && bytes != 8) return Refusal::malformed;
  const Refusal cause = check_target(slots, packet, bytes);
  if (cause != Refusal::none) return cause;
  const SlotRecord& slot = slot_of(slots, packet.slot);
  if (slot.gets < bytes || slot.puts == nullptr) return Refusal::mode_forbids;
  if ((slot.rights(link.user) & Guests::kRead) == 0) return Refusal::not_permitted;
  if (slot.puts->unpinned.any_in(packet.offset, packet.offset + bytes)) return Refusal::not_pinned;
  return aligned(slot.base + packet.offset, bytes) ? Refusal::none : Refusal::misaligned;
}

// The place record by which the requester of a get or a fetch is to be told of; the dead one: it does not
// ask, or it is none of its.
inline std::uint32_t record_to_tell(const Slots& slots, const Records& records, const Link& link,
                                    const Packet& packet) noexcept {
  if (!asks_to_tell(packet)) return kDeadRecord;
  const std::uint32_t record = find_opening(slots, records, link, put_word_of(packet.entry));
  return records[record].slot == packet.slot ? record : kDeadRecord;
}

// Whether the owner can be told of a request that may be done.
inline Refusal check_told(const Slots& slots, const Records& records, const Link& link,
                          const Packet& packet) noexcept {
  if (!asks_to_tell(packet)) return Refusal::none;
  if (slot_of(slots, packet.slot).puts == nullptr) return Refusal::mode_forbids;
  const std::uint32_t record = record_to_tell(slots, records, link, packet);
  if (record == kDeadRecord) return Refusal::stale_generation;
  return has_place(records[record]) ? Refusal::none : Refusal::no_place;
}

// --- answers

// The request that an answer names by its number; null: nothing was asked under it.
inline Asked* find_asked(Link& link, std::uint64_t named) noexcept {
  const auto id = static_cast<std::uint32_t>(named);
  Asked& asked = link.remote.named(id);
  return named == id && asked.busy && asked.id == id ? &asked : nullptr;
}

// The whole answer of a get, in one cell.
inline Refusal check_got(const Asked& asked) noexcept {
  const bool awaited =
      !asked.fetch && fits_cell(asked.length) && asked.landed == 0 && asked.cause == Refusal::none;
  return awaited ? Refusal::none : Refusal::unasked_reply;
}

// So many pieces of an answer a packet of it brings.
inline std::uint32_t pieces_in(std::uint32_t bytes) noexcept {
  return (bytes + static_cast<std::uint32_t>(kReplyPayload) - 1) / static_cast<std::uint32_t>(kReplyPayload);
}

// Each piece of a get once, whole, and where it belongs.
inline Refusal check_piece(const Asked& asked, const Packet& packet) noexcept {
  const std::uint32_t bytes = packet.lead.length;
  if (asked.fetch || packet.offset >= asked.until || packet.offset % kReplyPayload != 0 || bytes == 0)
    return Refusal::unasked_reply;
  const auto from = static_cast<std::uint32_t>(packet.offset);
  if (bytes > asked.length - from) return Refusal::unasked_reply;
  const bool whole = bytes % kReplyPayload == 0 || bytes == asked.length - from;
  const bool awaited = bytes <= asked.until - asked.landed &&
                       !asked.pieces.any(from / static_cast<std::uint32_t>(kReplyPayload), pieces_in(bytes));
  return whole && awaited ? Refusal::none : Refusal::unasked_reply;
}

// The other side has stopped behind so many bytes.
inline Refusal check_refused(const Asked& asked, const Packet& packet) noexcept {
  const bool known = packet.delta != 0 && packet.delta < static_cast<std::uint32_t>(Refusal::count);
  const bool awaited =
      asked.cause == Refusal::none && packet.offset <= asked.length && packet.offset >= asked.landed;
  return known && awaited ? Refusal::none : Refusal::unasked_reply;
}

// The question that a grant or a credit answers was asked by this link.
inline Refusal check_answered(const Link& link, std::uint64_t word) noexcept {
  const std::uint64_t question = word >> kOutletBits;
  const bool asked = question < kQuestions && word % Link::kPlacesLimit < link.credits.size() &&
                     (link.questions - question) % kQuestions < link.questions;
  return asked ? Refusal::none : Refusal::malformed;
}

// --- packets like one that passed. False: other checks have to be asked.

// Every check of deposit but for the place.
__attribute__((always_inline)) inline bool like(const CachedWrite& cached, const Words& words) noexcept {
  return kind_of(words) == cached.kind &&
         cached.opened_by(words.word[kSlotWord], words.word[kEntryWord], words.word[kKeyWord]) &&
         words.word[kOffsetWord] <= cached.last_offset;
}

// Compares a block, of any length, for that queue: the packets before it may be of another slot. Where
// nothing is remembered there is no queue.
__attribute__((always_inline)) inline bool like_block(const CachedWrite& cached, const Queue& queue,
                                                      const Words& words, std::uint64_t length) noexcept {
  return cached.queue == &queue &&
         cached.opened_by(words.word[kSlotWord], words.word[kEntryWord], words.word[kKeyWord]) &&
         inside(words.word[kOffsetWord], length, cached.bound);
}

// Compares a packet of one cell by an opening, of up to `most` bytes, with the one before.
template <class Cached>
__attribute__((always_inline)) inline bool like_by_opening(const Cached& cached, const PutWord& word,
                                                           std::size_t most) noexcept {
  return opening_word(word.name, word.serial) == cached.opening && !word.notify && word.length <= most &&
         inside(word.offset, word.length, cached.bound);
}

// Every check of a short message by an opening but for its place.
__attribute__((always_inline)) inline bool like(const CachedOpened& cached, const PutWord& word) noexcept {
  return like_by_opening(cached, word, kOpenedInline);
}

// Every check of a put of one cell that nobody is told of.
__attribute__((always_inline)) inline bool like(const CachedPut& cached, const PutWord& word) noexcept {
  return like_by_opening(cached, word, kPutInline);
}

// Every check of a get or a fetch but for the word's alignment.
__attribute__((always_inline)) inline bool like(const CachedRequest& cached, const Words& words) noexcept {
  return kind_of(words) == cached.kind && words.word[kSlotWord] == cached.slot_word &&
         words.word[kKeyWord] == cached.key && words.word[kEntryWord] == cached.entry_word &&
         words.word[kOffsetWord] <= cached.last_offset;
}

}  // namespace hamlyn::internal_::interface
