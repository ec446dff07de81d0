// Control moves with gets and fetch-ops, too, if their requester or the slot's owner wants it (paper 4,
// section 3.4.5): who did it, what, and where.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "interface/core.h"

namespace hamlyn::internal_::interface {

namespace {

constexpr Notification::Kind kKindsTold[] = {Notification::Kind::put, Notification::Kind::put_held,
                                             Notification::Kind::got, Notification::Kind::fetched};
static_assert(std::size(kKindsTold) == Puts::kKinds);

}  // namespace

// One that was done. A requester that has more under way than places is told of as far as they go.
void Core::tell_of(const Link& link, const Packet& packet, Puts::Kind kind, std::uint64_t length) noexcept {
  SlotRecord& slot = slots_[packet.slot];
  if (slot.puts == nullptr) return;
  const std::uint32_t record = record_to_tell(slots_, records_, link, packet);
  if (record == kDeadRecord || !has_place(records_[record])) {
    if (slot.puts->control == Control::always)
      tell_puts(slot, packet.slot, kind, packet.offset, packet.offset + length, link.peer);
  } else if (slot.puts->control == Control::never) {
    forgo_place(link, packet);
  } else {
    push_told(record, kind, packet.offset, length, link.peer);
  }
}

// The place that its requester holds for it goes back unused.
void Core::forgo_place(const Link& link, const Packet& packet) noexcept {
  const std::uint32_t record = record_to_tell(slots_, records_, link, packet);
  if (record == kDeadRecord || !has_place(records_[record])) return;
  ++records_[record].standing;
  give_back(record);
}

// There is a place.
void Core::push_told(std::uint32_t record, Puts::Kind kind, std::uint64_t begin, std::uint64_t length,
                     std::uint64_t peer) noexcept {
  const std::uint32_t index = records_[record].slot;
  const SlotRecord& slot = slots_[index];
  ReceiveCredit& places = records_[record];
  if (!below_mark(places)) rise(places);
  HAMLYN_ASSERT(places.standing < places.granted, "the requester holds a place");
  ++places.standing;
  slot.queue->push_told(record, kKindsTold[kind], slot.number(index), begin, length, peer);
  if (slot.queue->event_wanted) surroundings_.signal(*slot.queue);
}

// One notification stands for all of a kind until it is read.
void Core::tell_puts(SlotRecord& slot, std::uint32_t index, Puts::Kind kind, std::uint64_t begin,
                     std::uint64_t end, std::uint64_t peer) noexcept {
  Puts::Told& told = slot.puts->told[kind];
  ++told.count;
  if (told.standing) {
    told.begin = std::min(told.begin, begin);
    told.end = std::max(told.end, end);
    if (told.peer != peer) told.peer = 0;
    return;
  }
  told = {true, begin, end, 1, peer};
  Notification notification;
  notification.kind = kKindsTold[kind];
  notification.slot = slot.number(index);
  slot.queue->push(notification, slot.generation);
  if (slot.queue->event_wanted) surroundings_.signal(*slot.queue);
}

void Core::puts_taken(Notification& notification, std::uint32_t generation) noexcept {
  SlotRecord& slot = slots_[index_of(notification.slot)];
  if (!slot.live || slot.generation != generation || slot.puts == nullptr) return;
  const auto* const kind = std::ranges::find(kKindsTold, notification.kind);
  HAMLYN_ASSERT(kind != std::end(kKindsTold), "is_of_puts() has said so");
  const Puts::Told told = std::exchange(slot.puts->told[kind - kKindsTold], {});
  notification.offset = told.begin;
  notification.length = told.end - told.begin;
  HAMLYN_ASSERT(told.standing && told.count != 0, "one notification stands for all of a kind");
  notification.word = told.count;
  notification.peer = told.peer;
}

}  // namespace hamlyn::internal_::interface
