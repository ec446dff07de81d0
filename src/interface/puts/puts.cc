// The core's part of puts (paper 4, sections 3.3 and 3.4): they are checked like any packet (design, section
// 4), land word by word, and are told of as the slot's owner and the sender want it. What may not land now
// waits in memory that is bounded, or is refused.
#include "interface/puts/puts.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"

namespace hamlyn::internal_::interface {

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

// Words at one moment each. What is added was a word, of 4 or 8 bytes and aligned, when it came.
void land(std::byte* to, const std::byte* data, std::uint64_t bytes, bool add) noexcept {
  if (!add) return base::copy_to_shared(to, data, bytes);
  std::uint32_t narrow = 0;
  std::uint64_t value = 0;
  if (bytes == sizeof narrow) {
    std::memcpy(&narrow, data, sizeof narrow);
    value = narrow;
  } else {
    std::memcpy(&value, data, sizeof value);
  }
  apply_fetch({.op = FetchOp::add, .bytes = static_cast<std::uint32_t>(bytes), .operand = value}, to);
}

}  // namespace

Refusal Core::take_put(Link& link, const Packet& packet, const Payload& payload) noexcept {
  const PutWord word = put_word_of(word_at(packet, kSlotWord));
  const std::uint32_t record = find_opening(slots_, records_, link, word);
  if (record == kDeadRecord) return Refusal::stale_generation;
  ReceiveCredit& places = records_[record];
  Refusal cause = check_opening(places, packet);
  if (cause == Refusal::none) cause = land_put(link, packet, payload, word, record);
  if (cause == Refusal::none) return cause;
  if (places.put_refused == Refusal::none) places.put_refused = cause;
  if (word.notify && has_place(places)) {  // the sender holds a place for it
    ++places.standing;
    give_back(record);
  }
  return cause;
}

Refusal Core::land_put(Link& link, const Packet& packet, const Payload& payload, const PutWord& word,
                       std::uint32_t record) noexcept {
  SlotRecord& slot = slots_[records_[record].slot];
  PutLanding landing;
  const Refusal cause = check_put(packet, word, slot, landing);
  if (cause != Refusal::none) return cause;
  Puts& puts = *slot.puts;
  const bool tells = word.notify && puts.control != Control::never;
  if (word.notify && !has_place(records_[record])) return Refusal::no_place;
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
  if (landing.length == 0 && !landing.announcement && !word.notify) {  // says that something was stored
    slot_changed(records_[record].slot);
    return Refusal::none;
  }
  // A lost put is not reported, and not signalled.
  ReceiveCredit& places = records_[record];
  if (landing.announcement && places.lost.take(landing.begin, landing.end)) return Refusal::hold_full;
  if (landing.signal != Signal::none) [[unlikely]] {
    if (places.put_refused != Refusal::none) return places.put_refused;
    const Refusal untrue = check_signalled(slots_, records_, link, landing.of);
    if (untrue != Refusal::none) return untrue;
  }
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
    slot_changed(records_[record].slot);
    if (tells) {
      push_told(record, Puts::landed, landing.begin, landing.end - landing.begin, link.peer);
      return Refusal::none;
    }
    if (puts.control == Control::always && !landing.announcement) {
      if (!landing.part)
        tell_puts(slot, records_[record].slot, Puts::landed, landing.begin, landing.end, link.peer);
    } else if (!puts.careful() && !word.notify && slot.watches == 0) {
      link.cached.put = {opening_word(word.name, word.serial), slot.base, slot.bound, slot.counters};
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
bool Core::hold(SlotRecord& slot, const PutLanding& landing, std::uint64_t peer, bool notify) noexcept {
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
  slot_changed(slot);  // what is not pinned is not watched
  if (pinned && !slots_[slot].puts->inhibited) settle_held(slot);
}

// Lands puts that waited, in their order; those that still may not stay.
void Core::settle_held(std::uint32_t index) noexcept {
  SlotRecord& slot = slots_[index];
  Puts& puts = *slot.puts;
  slot_changed(index);
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

// Tells the fence, once, what was refused before by the opening.
Refusal Core::why_no_fence(Link& link, const Packet& packet) noexcept {
  std::uint32_t record = kDeadRecord;
  const Refusal cause = check_fence(slots_, records_, link, packet, record);
  if (cause != Refusal::none || record == kDeadRecord || only_looks(packet.delta)) return cause;
  return std::exchange(records_[record].put_refused, Refusal::none);
}

}  // namespace hamlyn::internal_::interface
