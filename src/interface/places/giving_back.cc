// A link holds places at 256 slots at a time. Who has so many and wants another gives one back: its question
// has the credit of the one that goes, so that the receiver knows. Nothing that has left by that is
// overtaken.
#include <algorithm>

#include "interface/core.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

// --- sender's side

// Whether somebody may still hear by it of something: a fence of puts that were refused, which is to be asked
// by that opening, or are lost; and whoever waits for what is under way.
bool Core::would_be_missed(const Link& link, const SendCredit& credit) const noexcept {
  // (Of a slot that has gone a fence says so, whatever has become of the puts.)
  if (!credit.gone() && ((credit.unfenced | credit.amiss()) & terminus_bits()) != 0) return true;
  const auto asks = [&](const Asked& asked) { return asked.busy && asked.credit == &credit; };
  if (std::ranges::any_of(link.remote.asked, asks)) return true;
  return std::ranges::any_of(termini_, [&](const Terminus* each) { return each->puts_by(credit); });
}

// Whether it leads nowhere, and nobody would miss it.
bool Core::is_free(const Link& link, const SendCredit& credit) const noexcept {
  return (!credit.asked || credit.refused) && !would_be_missed(link, credit);
}

// An opening that is used again is asked for again, which takes a round trip.
bool Core::may_give_back(const Link& link, const SendCredit& credit) const noexcept {
  if (!credit.asked || !credit.open() || credit.refused) return false;
  // The receiver has been told this much of an opening that is not in use: one that has more standing there
  // gets no place anew.
  if (credit.left < credit.granted - credit.granted / 2) return false;
  return !would_be_missed(link, credit);
}

// The one that was asked for longest ago, ended as if its receiver had; null: each is in use.
SendCredit* Core::find_to_give_back(Link& link) noexcept {
  SendCredit* oldest = nullptr;
  const auto age = [&](const SendCredit& credit) { return (link.questions - credit.question) % kQuestions; };
  for (const auto& credit : link.credits) {
    if (may_give_back(link, *credit) && (oldest == nullptr || age(*credit) > age(*oldest)))
      oldest = credit.get();
  }
  if (oldest == nullptr) return nullptr;
  oldest->former_levels = oldest->levels;
  oldest->former_mark = link.put_count();
  return oldest;
}

// Whether a question that leaves now, by `level`, comes behind all that has left by the opening that it gives
// back: of one level of a link that keeps the order it does, and of all that was taken. (Of two it is to be
// the urgent one: what is counted are the normal ones, and where urgent ones have a way of their own, those
// alone.)
bool Core::behind_former(Link& link, const SendCredit& credit, Priority& level) noexcept {
  if (credit.former_levels == 0) return true;
  const bool one = std::popcount(credit.former_levels) == 1;
  if (link.in_order)
    level = one ? static_cast<Priority>(std::countr_zero(credit.former_levels)) : Priority::urgent;
  if ((link.in_order && one) || link.taken_count() >= credit.former_mark) return true;
  link.wait_for_taken(credit.former_mark);
  return false;
}

// All are in use. Of some nobody may ask any more what has become of their puts: whether their slots are
// there is asked now, since those of slots that have gone are free. True: there is an answer to come.
bool Core::ask_whether_gone(Link& link, Priority level) noexcept {
  bool to_come = false;
  for (const auto& credit : link.credits) {
    if (credit->open() || credit->refused) continue;
    ask_for_places(link, *credit, level);
    to_come = true;
  }
  return to_come;
}

// --- receiver's side

// The sender has one opening by each of its credits, and one at each slot. (More at one slot, and it could
// reserve what others need of the queue.) What stands of an earlier one is told; its places go back as that
// is taken.
void Core::take_back_earlier(Link& link, const Packet& packet, bool may) noexcept {
  for (std::uint32_t& name : link.places) {
    if (name == kDeadRecord) continue;
    ReceiveCredit& places = records_[name];
    const bool same_credit = (places.credit ^ packet.word) % Link::kPlacesLimit == 0;
    const bool same_slot = may && !places.over && places.slot == packet.slot;
    if (!same_credit && !same_slot) continue;
    if (!places.over) {
      if (places.queue != nullptr) {
        places.queue->release(places.granted - places.standing);
        unchain_places(name);
        chain<&ReceiveCredit::at_slot>(records_, places.queue->over, name);
      }
      places.over = true;
      places.given_back_by = link.serial;
      places.given_back_at = places.slot;
      places.slot = kNoEntry;
      places.find_tell_at();
      chain<&ReceiveCredit::gave_back>(records_, link.gave_back, name);
      link.cached.forget();
    }
    places.link = 0;  // there is nothing to be told of it
    if (places.standing == 0) release_record(name);
    name = kDeadRecord;
  }
}

std::uint32_t Core::standing_of_earlier(const Link& link, const Packet& packet) noexcept {
  std::uint32_t standing = 0;
  for (std::uint32_t record = link.gave_back; record != 0; record = records_[record].gave_back.next) {
    const ReceiveCredit& places = records_[record];
    ++looks_;
    if (places.given_back_at == packet.slot && places.generation == packet.generation)
      standing += places.standing;
  }
  return standing;
}

}  // namespace hamlyn::internal_::interface
