// Notification places that one interface keeps for another's fast-mode messages (paper 0, sections 2.6
// to 2.8: no queue is overrun): asked for, granted, given back as they are taken, and over when slot or link
// have gone; and the replies that tell of them.
#include <algorithm>

#include "base/assert.h"
#include "interface/core.h"
#include "interface/deposit.h"
#include "interface/packets/put_packet.h"

namespace hamlyn::internal_::interface {

void Core::end_places_at(std::uint32_t slot) noexcept {
  while (slots_[slot].first_record != 0) {
    ++looks_;
    end_places(slots_[slot].first_record);
  }
}

// Whether a link is to be told of these places yet. If so, its replies are due.
bool Core::link_waits_for(const ReceiveCredit& places) noexcept {
  Link* const link = link_of_serial(places.link);
  if (link == nullptr) return false;
  link->replies_due = replies_due_ = true;
  return true;
}

// Out of the list that the record is in: its slot's, or, when it is over, its queue's.
void Core::unchain_places(std::uint32_t index) noexcept {
  ReceiveCredit& places = records_[index];
  if (places.queue == nullptr) return;
  HAMLYN_ASSERT((places.over ? places.queue->over : slots_[places.slot].first_record) != 0,
                "a record with a queue is in one of the two lists");
  unchain<&ReceiveCredit::at_slot>(
      records_, places.over ? places.queue->over : slots_[places.slot].first_record, index);
}

void Core::end_places(std::uint32_t index) noexcept {
  ReceiveCredit& places = records_[index];
  if (!places.over && places.queue != nullptr) {
    HAMLYN_ASSERT(places.standing <= places.granted, "no more stand than were granted");
    places.queue->release(places.granted - places.standing);
    unchain_places(index);
    chain<&ReceiveCredit::at_slot>(records_, places.queue->over, index);
  }
  places.over = true;
  places.cause = Refusal::stale_generation;
  places.find_tell_at();
  places.slot = kNoEntry;  // nothing more comes by it, though the sender may not know yet
  if (Link* const link = link_of_serial(places.link)) link->cached.forget();
  // A sender that lives hears that there is nothing more to be had here.
  if (!link_waits_for(places) && places.standing == 0) release_record(index);
}

void Core::release_record(std::uint32_t index) noexcept {
  HAMLYN_ASSERT(index != kDeadRecord, "the dead record is nobody's to release");
  HAMLYN_ASSERT(records_[index].standing == 0, "what stands in a queue gives its place back to the record");
  HAMLYN_ASSERT(free_records_.size() < free_records_.capacity(), "grant_places has made the room");
  unchain_places(index);
  if (Link* const link = link_of_serial(records_[index].given_back_by))
    unchain<&ReceiveCredit::gave_back>(records_, link->gave_back, index);
  records_[index] = ReceiveCredit{};
  records_[index].slot = kNoEntry;
  free_records_.push_back(index);
}

void Core::tell_freed(std::uint32_t index) noexcept {
  ReceiveCredit& places = records_[index];
  if (places.over && places.queue != nullptr) places.queue->release(1);
  places.find_tell_at();
  if (!link_waits_for(places) && places.over && places.standing == 0) release_record(index);
}

// Where a link has so many standing for the first time: so who takes a packet asks one thing only, whether
// more than that would stand, and the mark costs it nothing.
bool Core::rise(ReceiveCredit& places) noexcept {
  if (!has_place(places)) return false;
  HAMLYN_ASSERT(slots_[places.slot].live, "places at a slot that is gone are over, and take nothing");
  places.most = places.standing + 1;
  SlotCounters& row = *slots_[places.slot].counters;
  row.most_places = std::max(row.most_places, places.most);
  return true;
}

// Tells the other side how many requests it may have under way here. False: there was no room.
bool Core::send_limit(Link& link) noexcept {
  Packet reply{};
  reply.lead.operation = Operation::taken_requests;
  reply.delta = link.remote.taken();
  if (link.put_reply(reply, nullptr) != Status::ok) return false;
  link.remote.taken_untold = false;
  return true;
}

Refusal Core::take_limit(Link& link, const Packet& packet) noexcept {
  const Refusal cause = check_taken(packet);
  if (cause == Refusal::none) link.remote.allow(packet.delta);
  return cause;
}

// True if an answer, or a part of one, has left.
bool Core::send_replies(Link& link) noexcept {
  close_run();  // what the sender is told of is not due any more
  link.replies_due = false;
  if (!send_acknowledgements(link)) {
    link.replies_due = replies_due_ = true;  // again when there is room
    return false;
  }
  if (link.remote.taken_untold && !send_limit(link)) {
    link.replies_due = replies_due_ = true;  // again when there is room
    return false;
  }
  for (std::uint32_t name = 0; name < link.places.size(); ++name) {
    const std::uint32_t index = link.places[name];
    if (index == kDeadRecord) continue;
    ReceiveCredit& places = records_[index];
    Packet reply{};
    HAMLYN_ASSERT(places.link == link.serial, "a link names records of its own");
    reply.word = places.credit;
    reply.entry = name;
    if (!places.answered || places.over) {
      reply.lead.operation = Operation::grant;
      reply.delta = places.over ? 0 : places.granted;
      reply.offset = places.over ? static_cast<std::uint64_t>(places.cause)
                                 : places.serial | (places.takes_puts ? kOpenForPuts : 0) |
                                       (places.gives_gets ? kOpenForGets : 0);
    } else if (places.credit_due()) {
      reply.lead.operation = Operation::credit;
      reply.delta = places.freed;
    } else {
      continue;
    }
    if (link.put_reply(reply, nullptr) != Status::ok) {
      link.replies_due = replies_due_ = true;  // again when there is room
      return false;
    }
    link.remote.left(Priority::normal);
    places.answered = true;
    places.told = places.freed;
    places.find_tell_at();
    if (places.over) {
      link.places[name] = kDeadRecord;
      places.link = 0;
      if (places.standing == 0) release_record(index);
    }
  }
  return link.remote.owes_replies() && send_owed(link);
}

// Reason for a slot that gives no place, though the peer may ask: with another protection it would.
Refusal Core::why_nothing(const Link& link, const Packet& packet) const noexcept {
  const bool all = slots_[packet.slot].rights(link.user) == (Guests::kRead | Guests::kWrite);
  return all ? Refusal::no_place : Refusal::not_permitted;
}

// Answers each peer that asks, also one that is refused: it may have come with a ticket that was good once.
Refusal Core::grant_places(Link& link, const Packet& packet) noexcept {
  const Refusal cause = check_open(slots_, link, packet);
  if (packet.word > 0xFFFFFFFFu) return Refusal::over_budget;
  take_back_earlier(link, packet, cause == Refusal::none);
  // A name that leads nowhere any more is used again; the sender knows that it is over. There is one for each
  // of the sender's credits, which have one record each.
  const auto dead = std::ranges::find(link.places, kDeadRecord);
  const auto name = static_cast<std::size_t>(dead - link.places.begin());
  try {
    if (name == link.places.size()) link.places.push_back(kDeadRecord);
    if (free_records_.empty()) {
      free_records_.reserve(records_.size() + 1);  // so that giving one back never allocates
      records_.emplace_back();
      forget_slots();  // the records may have moved
      free_records_.push_back(static_cast<std::uint32_t>(records_.size() - 1));
    }
  } catch (const std::bad_alloc&) {
    return Refusal::over_budget;
  }
  const std::uint32_t record = free_records_.back();
  free_records_.pop_back();
  HAMLYN_ASSERT(record != kDeadRecord, "free records are others than the dead one");
  ReceiveCredit& places = records_[record];
  places = ReceiveCredit{};
  places.link = link.serial;
  places.slot = kNoEntry;
  places.credit = static_cast<std::uint32_t>(packet.word);
  places.serial = link.openings++ % kSerials;
  if (cause == Refusal::none) {
    SlotRecord& slot = slots_[packet.slot];
    places.queue = slot.queue;
    places.slot = packet.slot;
    places.generation = slot.generation;
    const std::uint32_t rights = slot.rights(link.user);
    places.takes_puts = slot.puts != nullptr && (rights & Guests::kWrite) != 0;
    places.gives_gets = slot.gets != 0 && (rights & Guests::kRead) != 0;
    const std::uint32_t most = slot.places - std::min(slot.places, standing_of_earlier(link, packet));
    if (slot.fast || slot.puts != nullptr) places.granted = slot.queue->reserve(most);
  }
  places.over = places.granted == 0 && !places.takes_puts && !places.gives_gets;
  if (places.queue != nullptr)
    chain<&ReceiveCredit::at_slot>(
        records_, places.over ? places.queue->over : slots_[packet.slot].first_record, record);
  places.cause = cause != Refusal::none ? cause : why_nothing(link, packet);
  places.find_tell_at();
  HAMLYN_ASSERT(places.granted <= (places.queue != nullptr ? places.queue->capacity() : 0),
                "a queue grants no more than it has");
  link.places[name] = record;
  link.replies_due = replies_due_ = true;
  // The receiver is told of what its queue cannot give, too: only it can make the queue longer.
  return places.over && places.cause == Refusal::no_place ? Refusal::no_place : cause;
}

// Null: the question was never asked, which `cause` says, or what it opened has ended.
SendCredit* Core::answered_credit(Link& link, const Packet& packet, Refusal& cause) noexcept {
  cause = check_answered(link, packet.word);
  if (cause != Refusal::none) return nullptr;
  SendCredit& credit = *link.credits[packet.word % Link::kPlacesLimit];
  return credit.asked && credit.question == packet.word >> kOutletBits ? &credit : nullptr;
}

Refusal Core::take_grant(Link& link, const Packet& packet) noexcept {
  Refusal cause;
  SendCredit* const answered = answered_credit(link, packet, cause);
  if (answered == nullptr) return cause;
  SendCredit& credit = *answered;
  if (credit.refused) return Refusal::none;  // the end of the grant has overtaken it
  if (packet.delta == 0 && packet.offset == 0) {
    reopen(credit);
    return Refusal::none;
  }
  credit.granted = credit.left = packet.delta;
  credit.record = packet.entry;
  credit.opening =
      opening_word(packet.entry % Link::kPlacesLimit, static_cast<std::uint32_t>(packet.offset) % kSerials);
  credit.takes_puts = (packet.offset & kOpenForPuts) != 0;
  credit.gives_gets = (packet.offset & kOpenForGets) != 0;
  credit.refused = packet.delta == 0 && !credit.takes_puts && !credit.gives_gets;
  if (credit.refused && packet.offset < static_cast<std::uint64_t>(Refusal::count))
    credit.cause = static_cast<Refusal>(packet.offset);
  credit.target = {std::uint64_t{credit.generation} << 32 | credit.slot, credit.key,
                   std::uint64_t{credit.record} << 32 | kNoEntry};
  return Refusal::none;
}

// Asks for the opening again when it is next used. Puts by it may be lost.
void Core::reopen(SendCredit& credit) noexcept {
  SendCredit anew;
  anew.slot = credit.slot;
  anew.generation = credit.generation;
  anew.key = credit.key;
  anew.lost = credit.lost | credit.unfenced;
  anew.lost_with_link = credit.lost_with_link;
  anew.lost_by = credit.lost_by;
  anew.untold = credit.untold;
  anew.untold_cause = credit.untold_cause;
  anew.put_mark = credit.put_mark;
  anew.levels = credit.levels;
  credit = anew;
}

// Puts by its credits since a fence may be lost: a fence by the next link there must say so.
void Core::remember_lost(Link& link, WhyNoLink why) noexcept {
  std::erase_if(link.credits, [&](const auto& credit) {
    credit->lose_with_link(credit->unfenced & ~credit->lost, why);
    credit->unfenced = 0;
    reopen(*credit);
    return credit->amiss() == 0;
  });
  lost_puts_.remember(link.peer, std::move(link.credits));
}

Refusal Core::take_credit(Link& link, const Packet& packet) noexcept {
  Refusal cause;
  SendCredit* const answered = answered_credit(link, packet, cause);
  if (answered == nullptr) return cause;
  SendCredit& credit = *answered;
  if (packet.delta - credit.freed <= credit.granted - credit.left) {
    credit.left += packet.delta - credit.freed;
    HAMLYN_ASSERT(credit.left <= credit.granted, "a credit gives back no more than was used");
    credit.freed = packet.delta;
    return Refusal::none;
  }
  if (credit.refused) return Refusal::none;  // the end of the grant has overtaken it
  // Overtaken by later ones, of which there may be many where few places were granted: it says nothing new.
  // More than was used is a lie.
  const bool overtaken = static_cast<std::int32_t>(credit.freed - packet.delta) >= 0;
  return overtaken ? Refusal::none : Refusal::malformed;
}

SendCredit* Core::find_credit(const Link& link, const Ticket& ticket) noexcept {
  for (const auto& credit : link.credits) {
    if (credit->is_of(ticket)) return credit.get();
  }
  return nullptr;
}

SendCredit* Core::credit(Link& link, const Ticket& ticket) noexcept {
  if (SendCredit* const found = find_credit(link, ticket)) return found;
  SendCredit* reusable = nullptr;
  if (link.credits.size() == Link::kPlacesLimit) {
    const auto free =
        std::ranges::find_if(link.credits, [&](const auto& each) { return is_free(link, *each); });
    reusable = free != link.credits.end() ? free->get() : find_to_give_back(link);
    if (reusable == nullptr) return nullptr;
    SendCredit anew;
    anew.former_levels = reusable->former_levels;
    anew.former_mark = reusable->former_mark;
    *reusable = anew;
    forget_links();  // whoever remembers it for another ticket looks again
  } else {
    try {
      link.credits.push_back(std::make_unique<SendCredit>());
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    reusable = link.credits.back().get();
  }
  HAMLYN_ASSERT(link.credits.size() <= Link::kPlacesLimit, "the peer keeps no more records for one link");
  reusable->slot = ticket.slot;
  reusable->generation = ticket.generation;
  reusable->key = ticket.key;
  reusable->lose_with_link(link.lost_before, {});
  return reusable;
}

void Core::ask_for_places(Link& link, SendCredit& credit, Priority level) noexcept {
  if (credit.asked) return;
  if (!behind_former(link, credit, level)) return;
  std::uint64_t name = 0;
  while (link.credits[name].get() != &credit) ++name;
  HAMLYN_ASSERT(name < Link::kPlacesLimit, "the credit's number fits the question's word");
  Packet packet{};
  packet.lead.operation = Operation::open;
  packet.slot = credit.slot;
  packet.generation = credit.generation;
  packet.key = credit.key;
  packet.word = credit_word(name, link.questions + 1);
  if (link.put(packet, nullptr, nullptr, level) != Status::ok) return;
  credit.asked = true;
  credit.question = static_cast<std::uint32_t>(++link.questions % kQuestions);
}

}  // namespace hamlyn::internal_::interface
