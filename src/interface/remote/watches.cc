// Watches: a peer that would wait for a word of a slot asks to be told once the word is not what it was. Its
// work entry keeps the question (paper 4, section 3.4.5: control moves only when asked for); the answer is
// that of a fetch. Whoever changes the word without a packet says so: `slot_changed`.
#include <atomic>
#include <utility>

#include "base/assert.h"
#include "interface/core.h"
#include "interface/remote/answers.h"
#include "interface/remote/call_word.h"

namespace hamlyn::internal_::interface {

namespace {

std::uint64_t load_word(const std::byte* place, std::uint32_t bytes) noexcept {
  auto* const at = const_cast<std::byte*>(place);
  // Pairs with whoever changes the word: the requester finds what was stored before.
  if (bytes == 4)
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(at)).load(std::memory_order_acquire);
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).load(std::memory_order_acquire);
}

// Whether the word is another than its requester has seen.
bool changed(const SlotRecord& slot, const Packet& watch, std::uint64_t& now) noexcept {
  std::uint64_t seen;
  std::memcpy(&seen, watch.data, sizeof seen);
  now = load_word(slot.base + watch.offset, watch.delta);
  return now != seen;
}

template <class What>
void each_place(std::uint64_t places, What what) {
  for (; places != 0; places &= places - 1) what(static_cast<std::uint32_t>(std::countr_zero(places)));
}

}  // namespace

Refusal Core::serve_watch(Link& link, const Packet& packet) noexcept {
  if (packet.delta == kWatchNoMore) {
    give_up_watch(link, message_of(packet.word));
    return Refusal::none;
  }
  if (link.arriving != Priority::normal) return Refusal::malformed;
  const bool many = static_cast<std::uint32_t>(std::popcount(link.remote.held())) >= kMostWatches;
  if (many || !link.remote.may_owe(link.arriving)) return Refusal::over_budget;
  const Refusal cause = check_watch(slots_, link, packet);
  if (cause != Refusal::none) {
    answer(link, refused(packet, cause, 0));
    return cause;
  }
  hold_watch(link, packet);
  return Refusal::none;
}

// Others are told to call from before the last look on: a change is either seen there, or heard of. One whose
// word is another already costs nobody anything.
void Core::hold_watch(Link& link, const Packet& packet) noexcept {
  std::uint64_t now = 0;
  if (changed(slots_[packet.slot], packet, now) || link.remote.was_taken_back(message_of(packet.word)))
    return answer(link, fetched(packet, now));
  begin_watch(packet.slot);
  if (!changed(slots_[packet.slot], packet, now)) return link.remote.hold(packet);
  end_watch(packet);
  answer(link, fetched(packet, now));
}

// Short ways that lead to the slot do not look for watches.
void Core::begin_watch(std::uint32_t index) noexcept {
  SlotRecord& slot = slots_[index];
  if (slot.watches++ == 0) {
    for (Link* link : links()) link->cached.forget_memory(slot.base);
  }
  if (slot.call != nullptr) slot.call->begin();
}

void Core::end_watch(std::uint32_t index) noexcept {
  SlotRecord& slot = slots_[index];
  HAMLYN_ASSERT(slot.watches != 0, "each watch was counted when it came");
  --slot.watches;
  if (slot.call != nullptr) slot.call->end();
}

// The slot goes: those of peers are refused by the next departure.
void Core::drop_watches(SlotRecord& slot) noexcept {
  ++changes_;
  for (; slot.watches != 0; --slot.watches) {
    if (slot.call != nullptr) slot.call->end();
  }
}

void Core::end_watch(const Packet& watch) noexcept {
  if (check_slot(slots_, watch.slot, watch.generation) == Refusal::none) end_watch(watch.slot);
}

// Nobody waits for it any more. The answer frees the requester's place. A number that is not held was
// answered, or is still to come: some links keep no order.
void Core::give_up_watch(Link& link, std::uint32_t id) noexcept {
  bool held = false;
  each_place(link.remote.held(), [&](std::uint32_t place) {
    const Packet watch = packet_of(link.remote.owed_at(Priority::normal, place).packet);
    if (message_of(watch.word) != id) return;
    held = true;
    answer_held(link, place, fetched(watch, 0));
  });
  if (!held) link.remote.note_taken_back(id);
}

void Core::answer_held(Link& link, std::uint32_t place, const Packet& answer) noexcept {
  end_watch(packet_of(link.remote.owed_at(Priority::normal, place).packet));
  link.remote.release(place, answer);
  link.replies_due = replies_due_ = true;
}

void Core::slot_changed(std::uint32_t index) noexcept {
  SlotRecord& slot = slots_[index];
  if (slot.watches == 0) return;
  slot.changed_at = ++changes_;  // the next departure answers
  if (slot.call != nullptr) slot.call->renew();
}

void Core::answer_watches() noexcept {
  for (Link* link : links()) {
    if (link->remote.held() != 0) answer_watches(*link);
  }
  answered_changes_ = changes_;
}

// A key that was changed, or a slot that went, ends a watch.
void Core::answer_watches(Link& link) noexcept {
  each_place(link.remote.held(), [&](std::uint32_t place) {
    const Packet watch = packet_of(link.remote.owed_at(Priority::normal, place).packet);
    const bool there = check_slot(slots_, watch.slot, watch.generation) == Refusal::none;
    if (there && slots_[watch.slot].changed_at <= answered_changes_) return;
    const Refusal cause = check_watch(slots_, link, watch);
    if (cause != Refusal::none) return answer_held(link, place, refused(watch, cause, 0));
    std::uint64_t now = 0;
    if (changed(slots_[watch.slot], watch, now)) answer_held(link, place, fetched(watch, now));
  });
}

void Core::forget_watches(Link& link) noexcept {
  each_place(link.remote.held(), [&](std::uint32_t place) {
    end_watch(packet_of(link.remote.owed_at(Priority::normal, place).packet));
  });
}

// --- the requester's side

void Core::take_back_watch(Link& link, std::uint32_t id) noexcept {
  Packet packet{};
  set_lead(packet, Operation::watch, kInlineData, 0);
  set_entry(packet, kNoEntry, kWatchNoMore);
  packet.word = id;
  say_at_last(link, packet);
}

}  // namespace hamlyn::internal_::interface
