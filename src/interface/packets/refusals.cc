// Refused packets: counted by cause, reported at the receiving side, merged while the last report is not
// read.
#include <algorithm>

#include "interface/core.h"
#include "interface/packets/checks.h"

namespace hamlyn::internal_::interface {

namespace {
std::size_t place(Refusal cause) noexcept { return static_cast<std::size_t>(cause); }

// Paper 1, section 3.4, has an event for what has run out, and another for what is wrong.
Notification::Kind kind_of(Refusal cause) noexcept {
  return cause == Refusal::no_place || cause == Refusal::hold_full ? Notification::Kind::resource_exhausted
                                                                   : Notification::Kind::protocol_error;
}

// Whether honest peers may bring such again and again: requests, which are answered and of which only so many
// are under way; puts and fetches without an answer where memory is held; messages for which the receiver has
// posted no buffer, or too short a one, as nobody tells their sender. Nothing is held against their link.
bool may_be_honest(const Packet& packet, Refusal cause) noexcept {
  if (cause == Refusal::no_buffer || cause == Refusal::too_long) return true;
  const bool of_held_memory =
      cause == Refusal::hold_full || cause == Refusal::inhibited || cause == Refusal::not_pinned;
  const bool of_a_request = cause != Refusal::over_budget && cause != Refusal::malformed;
  switch (packet.lead.operation) {
    case Operation::get:
    case Operation::get_strided:
    case Operation::fence:
    case Operation::watch:
      return of_a_request;
    case Operation::fetch:
      return (packet.delta & kUnanswered) == 0 ? of_a_request : of_held_memory;
    case Operation::put:
    case Operation::put_block:
    case Operation::put_strided:
      return of_held_memory;
    default:
      return false;
  }
}
}  // namespace

void Core::refuse(Link& link, Refusal cause, const Packet& packet) noexcept {
  note_lost(link, cause, packet);
  if (!may_be_honest(packet, cause)) Sweep::refused(link);
  const Operation operation = packet.lead.operation;
  const bool put = operation >= Operation::put && operation <= Operation::put_strided;
  const std::uint32_t record =
      put ? find_opening(slots_, records_, link, put_word_of(word_at(packet, kSlotWord))) : kDeadRecord;
  refuse(link, cause, !put ? packet.slot : record != kDeadRecord ? records_[record].slot : kNoEntry);
}

void Core::refuse(Link& link, Refusal cause, std::uint32_t slot) noexcept {
  ++counters_.refused[place(cause)];
  ++link.counters->refused[place(cause)];
  ++link.refused[place(cause)];
  if (slot < std::min(slots_.size(), kCounterSlots) && slot_of(slots_, slot).live)
    ++counters_.slot_refused[slot].by_cause[place(cause)];
  // Merged: while one notification of this link and cause is not read, further ones are only counted.
  if ((link.told_causes >> place(cause) & 1) == 0) tell(link, cause, queue_for(slot));
}

Queue* Core::queue_for(std::uint32_t slot) noexcept {
  if (slot < slots_.size() && slot_of(slots_, slot).live) return slot_of(slots_, slot).queue;
  return queues_.empty() ? nullptr : queues_.front().get();
}

void Core::tell(Link& link, Refusal cause, Queue* queue) noexcept {
  if (queue == nullptr) return;
  Notification error;
  error.kind = kind_of(cause);
  error.cause = cause;
  error.peer = link.peer;
  error.word = link.refused[place(cause)];
  if (!queue->push_event(error)) {
    ++counters_.events_lost;
    return;
  }
  link.refused[place(cause)] = 0;
  link.told_causes |= 1u << place(cause);
  if (queue->event_wanted) surroundings_.signal(*queue);
}

// Tells this process that it could not have a link that others wanted. Merged: counted while that is not
// read.
void Core::note_lack(std::uint64_t peer, WhyNoLink why) noexcept {
  last_lack_ = why;
  lack_.kind = Notification::Kind::resource_exhausted;
  lack_.peer = peer;
  lack_.entry = static_cast<std::uint32_t>(why.reason);
  ++lack_.word;
  if (!lack_told_) tell_lack();
}

void Core::tell_lack() noexcept {
  if (lack_.word == 0 || queues_.empty()) return;
  Queue& queue = *queues_.front();
  if (!queue.push_event(lack_)) return;  // told with the next
  lack_.word = 0;
  lack_told_ = true;
  if (queue.event_wanted) surroundings_.signal(queue);
}

void Core::error_taken(const Notification& notification) noexcept {
  if (notification.cause == Refusal::none) {
    lack_told_ = false;
    return tell_lack();
  }
  Link* link = find_link(notification.peer);
  if (link == nullptr) return;
  link->told_causes &= ~(1u << place(notification.cause));
  if (link->refused[place(notification.cause)] != 0) tell(*link, notification.cause, queue_for(kNoEntry));
}

}  // namespace hamlyn::internal_::interface
