// The core's part of puts (paper 4, sections 3.3 and 3.4): they are checked like any packet (design, section
// 4), land word by word, and are told of as the slot's owner and the sender want it. What may not land now
// waits in memory that is bounded, or is refused.
#include "interface/puts.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "interface/deposit.h"
#include "interface/element.h"

namespace hamlyn::internal_::interface {

// A put that was checked: its data, in one run, and where it belongs.
struct Core::Landing {
  std::uint64_t begin = 0;  // of all that it touches, from the slot's base
  std::uint64_t end = 0;
  const std::byte* data = nullptr;
  std::uint64_t length = 0;
  Signal signal = Signal::none;
  bool announcement = false;  // of what was done before: a put of several packets, or through a mapping
  bool part = false;          // of what will be announced
  Touched touched = Touched::written;
  bool strided = false;
  Strides strides;
  std::uint64_t first = 0;  // of the whole put
  std::uint64_t at = 0;     // and where in its data this packet begins

  // Calls what(offset, data, bytes) for each run of bytes.
  template <class What>
  void each_run(What what) const noexcept {
    if (!strided) return what(begin, data, length);
    for (std::uint64_t done = 0; done != length;) {
      const std::uint64_t from = at + done;
      const std::uint64_t bytes = std::min(strides.chunk - from % strides.chunk, length - done);
      what(first + place_of(strides, from), data + done, bytes);
      done += bytes;
    }
  }
};

namespace {

// The data of a packet that brings it behind itself. Where a ring wraps it stands in two runs: put together
// first, so that no word that lies across is torn.
const std::byte* in_one_run(const Packet& packet, const Payload& payload, std::byte* room) noexcept {
  const std::size_t length = packet.lead.length;
  if (length <= kInlineData) return packet.data;
  if (payload.first_length >= length) return payload.first;
  move_bytes(room, packet, payload);
  return room;
}

// Words at one moment each. What is added was a word, and aligned, when it came.
void land(std::byte* to, const std::byte* data, std::uint64_t bytes, bool add) noexcept {
  if (!add) return base::copy_to_shared(to, data, bytes);
  std::uint64_t value;
  std::memcpy(&value, data, sizeof value);
  apply_fetch({.op = FetchOp::add, .operand = value}, to);
}

}  // namespace

// The record of it, if it is the one that was granted under that name.
std::uint32_t Core::opening(const Link& link, const PutWord& word) const noexcept {
  if (word.name >= link.places.size()) return kDeadRecord;
  const std::uint32_t record = link.places[word.name];
  const Places& places = records_[record];
  if (places.slot == kNoEntry || places.over || places.serial != word.serial) return kDeadRecord;
  const SlotRecord& slot = slots_[places.slot];
  return slot.live && slot.generation == places.generation ? record : kDeadRecord;
}

Refusal Core::take_put(Link& link, const Packet& packet, const Payload& payload) noexcept {
  const PutWord word = put_word_of(word_at(packet, kSlotWord));
  const std::uint32_t record = opening(link, word);
  if (record == kDeadRecord) return Refusal::stale_generation;
  const bool read = packet.lead.operation == Operation::put_block && packet.lead.length == 0 &&
                    packet.word == static_cast<std::uint64_t>(Touched::read);
  const bool may = read ? records_[record].gives_gets : records_[record].takes_puts;
  const Refusal cause = may ? land_put(link, packet, payload, word, record) : Refusal::not_permitted;
  if (cause == Refusal::none) return cause;
  Places& places = records_[record];
  if (places.put_refused == Refusal::none) places.put_refused = cause;
  if (word.notify && places.standing < places.granted) {  // the sender holds a place for it
    ++places.standing;
    give_back(record);
  }
  return cause;
}

Refusal Core::check_put(const Packet& packet, const PutWord& word, const SlotRecord& slot,
                        Landing& landing) noexcept {
  HAMLYN_ASSERT(slot.live, "opening() has found the slot");
  if (slot.puts == nullptr) return Refusal::mode_forbids;
  std::uint64_t length = packet.lead.length;
  landing.begin = packet.offset;
  landing.part = packet.lead.operation != Operation::put && word.length == kAnnounced;
  if (packet.lead.operation == Operation::put) {
    length = word.length;
    landing.begin = word.offset;
    if (length > kPutInline) return Refusal::malformed;
  } else if (packet.lead.operation == Operation::put_strided) {
    landing.strided = true;
    landing.first = packet.offset;
    landing.strides = strides_of(packet, word.offset);
    landing.at = high_half(word_at(packet, kEntryWord));
    const std::uint64_t whole = data_of(landing.strides);
    if (length == 0 || !interface::inside(landing.at, length, whole)) return Refusal::malformed;
    const std::uint32_t element = element_of(packet.lead);
    if (element > 1 && landing.strides.chunk % element != 0) return Refusal::misaligned;
    // The whole of it, so that each packet of a put is refused for the same reason.
    if (!inside(landing.strides, packet.offset, slot.bound)) return Refusal::out_of_bounds;
    landing.length = length;
    landing.end = packet.offset + span_of(landing.strides);
    return Refusal::none;
  } else if (length == 0 && word.notify) {
    landing.announcement = true;
    length = word_at(packet, kEntryWord);
    if (packet.word > static_cast<std::uint64_t>(Touched::swapped)) return Refusal::malformed;
    landing.touched = static_cast<Touched>(packet.word);
  }
  if (!interface::inside(landing.begin, length, slot.bound)) return Refusal::out_of_bounds;
  if (packet.lead.operation == Operation::put_block && !landing.announcement && packet.word != 0) {
    if (packet.word > static_cast<std::uint64_t>(Signal::add) || length != sizeof(std::uint64_t))
      return Refusal::malformed;
    landing.signal = static_cast<Signal>(packet.word);
    if (reinterpret_cast<std::uintptr_t>(slot.base + landing.begin) % length != 0) return Refusal::misaligned;
  }
  HAMLYN_ASSERT(landing.begin <= slot.bound && length <= slot.bound - landing.begin,
                "inside() was asked above");
  landing.length = length;
  landing.end = landing.begin + length;
  return Refusal::none;
}

Refusal Core::land_put(Link& link, const Packet& packet, const Payload& payload, const PutWord& word,
                       std::uint32_t record) noexcept {
  SlotRecord& slot = slots_[records_[record].slot];
  Landing landing;
  const Refusal cause = check_put(packet, word, slot, landing);
  if (cause != Refusal::none) return cause;
  Puts& puts = *slot.puts;
  const bool tells = word.notify && puts.control != Control::never;
  if (word.notify && records_[record].standing >= records_[record].granted) return Refusal::no_place;
  if (landing.touched != Touched::written) {
    const Puts::Kind kind = landing.touched == Touched::read ? Puts::got : Puts::fetched;
    if (tells) {
      push_told(record, kind, landing.begin, landing.length, link.peer);
    } else {
      ++records_[record].standing;
      give_back(record);
    }
    return Refusal::none;
  }
  // A lost put is not reported, and not signalled.
  Places& places = records_[record];
  if (landing.announcement && places.lost.take(landing.begin, landing.end)) return Refusal::hold_full;
  if (landing.signal != Signal::none && places.put_refused != Refusal::none) return places.put_refused;
  alignas(8) std::byte room[kPacketLimit];
  if (packet.lead.operation == Operation::put) {
    tight_data(packet, reinterpret_cast<std::byte(&)[kPutInline]>(room));
    landing.data = room;
  } else if (!landing.announcement) {
    landing.data = in_one_run(packet, payload, room);
  }
  ++slot.counters->messages;
  const bool behind = landing.signal != Signal::none && !puts.held.empty();
  if (puts.careful() && (behind || puts.must_wait(landing.begin, landing.end))) [[unlikely]] {
    if (!hold(slot, landing, link.peer, word.notify)) {
      const bool whole = packet.lead.operation == Operation::put || landing.signal != Signal::none;
      if (!word.notify && !whole) places.lost.add(landing.begin, landing.end);
      return Refusal::hold_full;
    }
    tell_puts(slot, records_[record].slot, Puts::waiting, landing.begin, landing.end, link.peer);
  } else {
    if (!landing.announcement) {
      HAMLYN_ASSERT(landing.data != nullptr, "a put that lands has data");
      landing.each_run([&](std::uint64_t offset, const std::byte* data, std::uint64_t bytes) {
        land(slot.base + offset, data, bytes, landing.signal == Signal::add);
      });
      HAMLYN_ASSERT(landing.end <= slot.bound, "what landed was checked");
      slot.counters->bytes += landing.length;
    }
    if (tells) {
      push_told(record, Puts::landed, landing.begin, landing.end - landing.begin, link.peer);
      return Refusal::none;
    }
    if (puts.control == Control::always && !landing.announcement) {
      if (!landing.part)
        tell_puts(slot, records_[record].slot, Puts::landed, landing.begin, landing.end, link.peer);
    } else if (!puts.careful() && !word.notify) {
      link.same_put = {opening_word(word.name, word.serial), slot.base, slot.bound, slot.counters};
    }
  }
  if (word.notify) {  // it needs its place no longer
    ++records_[record].standing;
    give_back(record);
  }
  return Refusal::none;
}

// All of it, or nothing. What is in several runs is told of by a record behind them, as what came in several
// packets is.
bool Core::hold(SlotRecord& slot, const Landing& landing, std::uint64_t peer, bool notify) noexcept {
  HeldPuts& held = slot.puts->held;
  std::uint64_t runs = 0;
  if (!landing.announcement)
    landing.each_run([&](std::uint64_t, const std::byte*, std::uint64_t) { ++runs; });
  const bool apart = landing.announcement || (notify && runs > 1);
  if (!held.has_room(runs + (apart ? 1 : 0), landing.announcement ? 0 : landing.length)) return false;
  if (!landing.announcement) {
    landing.each_run([&](std::uint64_t offset, const std::byte* data, std::uint64_t bytes) {
      Waiting waiting;
      static_cast<HeldPut&>(waiting) = {offset, bytes, peer, notify};
      waiting.apart = apart || landing.part;
      waiting.what = landing.signal == Signal::add ? Waiting::What::add : Waiting::What::store;
      waiting.signal = landing.signal != Signal::none;
      waiting.span = bytes;
      std::memcpy(held.add(waiting), data, bytes);
    });
  }
  if (!apart) return true;
  Waiting told;
  static_cast<HeldPut&>(told) = {landing.begin, 0, peer, true};
  told.what = Waiting::What::announce;
  told.span = landing.end - landing.begin;
  held.add(told);
  return true;
}

// --- the owner's side

void Core::set_control(std::uint32_t slot, Control control) noexcept {
  HAMLYN_ASSERT(slots_[slot].live && slots_[slot].puts != nullptr, "the slot's handle has asked");
  slots_[slot].puts->control = control;
  forget_slots();
}

void Core::inhibit_puts(std::uint32_t slot) noexcept {
  HAMLYN_ASSERT(slots_[slot].live && slots_[slot].puts != nullptr, "the slot's handle has asked");
  slots_[slot].puts->inhibited = true;
  forget_slots();
}

void Core::release_puts(std::uint32_t slot) noexcept {
  HAMLYN_ASSERT(slots_[slot].live && slots_[slot].puts != nullptr, "the slot's handle has asked");
  slots_[slot].puts->inhibited = false;
  settle_held(slot);
}

void Core::pin_puts(std::uint32_t slot, std::uint64_t begin, std::uint64_t end, bool pinned) noexcept {
  slots_[slot].puts->unpinned.set(begin, end, !pinned);
  forget_slots();
  if (pinned && !slots_[slot].puts->inhibited) settle_held(slot);
}

// Lands puts that waited, in their order; those that still may not stay.
void Core::settle_held(std::uint32_t index) noexcept {
  SlotRecord& slot = slots_[index];
  Puts& puts = *slot.puts;
  puts.held.settle([&](const Waiting& record, const std::byte* data) {
    const std::uint64_t end = record.offset + record.span;
    HAMLYN_ASSERT(end <= slot.bound && record.offset <= end, "what is held was checked when it came");
    const bool behind = record.signal && puts.held.overlaps(0, ~std::uint64_t{0});
    if (behind || puts.held.overlaps(record.offset, end) || puts.unpinned.any_in(record.offset, end))
      return false;
    if (record.what != Waiting::What::announce)
      land(slot.base + record.offset, data, record.length, record.what == Waiting::What::add);
    slot.counters->bytes += record.length;
    const bool tells = puts.control == Control::always || (record.notify && puts.control != Control::never);
    if (tells && !record.apart) tell_puts(slot, index, Puts::landed, record.offset, end, record.peer);
    return true;
  });
}

Status Core::take_held(std::uint32_t slot, HeldPut& record, std::span<std::byte> into) noexcept {
  HeldPuts& held = slots_[slot].puts->held;
  if (held.empty()) return Status::not_ready;
  record = held.front();
  if (record.length > into.size()) return Status::too_long;
  if (record.length != 0) std::memcpy(into.data(), held.front_data(), record.length);
  held.pop();
  return Status::ok;
}

// --- fences

Refusal Core::why_no_fence(Link& link, const Packet& packet) noexcept {
  const std::uint32_t index = masked_index(packet.slot, slots_.size());
  const SlotRecord& slot = slots_[index];
  if (packet.slot != index || slot.generation == 0) return Refusal::bad_slot;
  if (slot.generation != packet.generation || !slot.live) return Refusal::stale_generation;
  if (packet.key != slot.key) return Refusal::bad_key;
  const bool looks = only_looks(packet.delta);
  if (slot.puts == nullptr && !looks) return Refusal::mode_forbids;
  if (slot.rights(link.user) == 0) return Refusal::not_permitted;
  if (packet.delta == kNoOpening) return Refusal::none;
  const std::uint32_t record = opening(link, put_word_of(packet.delta));
  if (packet.delta == kLostOpening || record == kDeadRecord || records_[record].slot != index)
    return Refusal::stale_generation;
  return looks ? Refusal::none : std::exchange(records_[record].put_refused, Refusal::none);
}

}  // namespace hamlyn::internal_::interface
