// Messages in fast mode: where the last one went, and what is in the way of the next.
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

Status Terminus::send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                           std::uint64_t offset) noexcept {
  refused_bytes_ = 0;
  const Status found = recall(ticket);
  if (found != Status::ok) return found;
  const Last& last = last_of_level();
  if (last.credit->left == 0) return without_place();
  Link& link = *last.link;
  if ((pending_ != 0 && destination_of(link.peer) != nullptr) || link.others_first(priority_))
    return Status::queue_full;
  if (data.size() > link.payload_limit(priority_)) return too_long(link, data.size());
  if (offset > ticket.bound || data.size() > ticket.bound - offset) return Status::out_of_bounds;
  const Status status = put_fast(link, *last.credit, ticket.base + offset, word, data);
  if (status == Status::ok) --last.credit->left;
  return status;
}

// Sends more than 16 and up to 40 bytes within a host in one cell, by the opening.
Status Terminus::put_fast(Link& link, const SendCredit& credit, std::uint64_t at, std::uint64_t word,
                          std::span<const std::byte> data) noexcept {
  const bool opened = link.local() != nullptr && priority_ == Priority::normal && data.size() > kInlineData &&
                      data.size() <= kOpenedInline && at < kPutSpan;
  if (!opened) return link.put_fast(credit.target, at, word, data.data(), data.size(), priority_);
  Words words{};
  words.word[kLeadWord] = opened_lead();
  words.word[kSlotWord] = put_word(credit.opening, data.size(), false, at);
  std::memcpy(words.word + kKeyWord, data.data(), data.size());
  words.word[kOpenedUserWord] = word;
  const Packet packet = packet_of(words);
  return link.put(packet, packet.data, nullptr, priority_);
}

Status Terminus::remember(const Ticket& ticket) noexcept {
  last_of_level() = {};
  if (invalid(ticket) != nullptr || !ticket.fast()) return Status::invalid;
  Link* link = core_.find_link(ticket.interface);
  if (link == nullptr) return ask_for_link(ticket.interface);
  core_.warm(*link);
  fast_peer_ = link->peer;
  if (gone_peer_ == link->peer) gone_peer_ = 0;
  end_untold_ = false;
  SendCredit* credit = core_.credit(*link, ticket);
  if (credit == nullptr)
    return core_.ask_whether_gone(*link, priority_) ? Status::connecting : Status::no_place;
  credit->levels |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(priority_));
  level_last_ = priority_ == Priority::normal && link->local() != nullptr ? &last_ : &last_in_level_;
  *level_last_ = {ticket.interface, slot_word(ticket), ticket.key, link, link->local(), credit};
  return Status::ok;
}

Status Terminus::without_place() noexcept {
  const Last& last = last_of_level();
  if (last.link == nullptr) return Status::invalid;  // a ticket of zeros leads nowhere
  Link& link = *last.link;
  SendCredit& credit = *last.credit;
  if (credit.refused) return Status::refused;
  if (!credit.asked) core_.ask_for_places(link, credit, priority_);
  if (!credit.open()) return Status::connecting;
  if (credit.granted == 0) return Status::refused;  // it takes puts or gives gets, and never tells of them
  ++counters_.no_place;
  return Status::no_place;
}

Status Terminus::too_long(Link& link, std::size_t bytes) noexcept {
  if (priority_ != Priority::normal) return Status::too_long;
  link.want_room();
  if (bytes > link.payload_limit_ever()) return Status::too_long;
  // A longer ring that is there is gone on in when the one before has room: then the peer is to ring.
  static_cast<void>(link.has_room(priority_));
  refused_bytes_ = bytes;
  refused_at_ = last_of_level().credit;
  return Status::queue_full;
}

Status Terminus::ready(const Ticket& ticket) noexcept {
  if (invalid(ticket) != nullptr) return Status::invalid;
  if (!ticket.fast()) {
    return core_.find_link(ticket.interface) != nullptr ? Status::ok : ask_for_link(ticket.interface);
  }
  const Status found = remember(ticket);
  if (found != Status::ok) return found;
  return last_of_level().credit->open() ? Status::ok : without_place();
}

// A longer ring is on its way, or it becomes known that there will be none: both wake those who wait.
bool Terminus::awaits_longer_ring(Link& link) noexcept {
  const auto too_short = [&] {
    return last_of_level().credit == refused_at_ && refused_bytes_ > link.payload_limit(priority_) &&
           refused_bytes_ <= link.payload_limit_ever() && !link.broken;
  };
  if (!too_short()) return false;
  link.want_room();
  return too_short();
}

Status Terminus::place_free(const Ticket& ticket) noexcept {
  const Status status = ready(ticket);
  if (status != Status::ok || !ticket.fast()) return status;
  const Last& last = last_of_level();
  if (last.credit->left == 0) return last.credit->granted == 0 ? Status::refused : Status::no_place;
  const bool room = last.link->has_room(priority_);
  return room && !awaits_longer_ring(*last.link) ? Status::ok : Status::queue_full;
}

}  // namespace hamlyn::internal_::interface
