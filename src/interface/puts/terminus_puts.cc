// Puts leave (paper 4, section 3.3): short ones as one cell, others in packets that take their turns with
// those of everybody else. No word of 8 bytes where the data lands is cut in two by the end of a packet.
#include <algorithm>
#include <utility>

#include "interface/packets/element.h"
#include "interface/packets/put_packet.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

Status Terminus::check_put(const Ticket& ticket, std::span<const std::byte> data,
                           const PutOptions& options) noexcept {
  const std::uint64_t room = options.offset <= ticket.bound ? ticket.bound - options.offset : 0;
  if (options.offset > ticket.bound || data.size() > room) return Status::out_of_bounds;
  if (!is_element(options.element)) return Status::invalid;
  if (options.signal != Signal::none) {
    if (data.size() != sizeof(std::uint64_t) && data.size() != sizeof(std::uint32_t)) return Status::invalid;
    if ((ticket.base + options.offset) % data.size() != 0) return Status::misaligned;
    if (options.signal > Signal::add || options.strides != nullptr || options.stored != 0)
      return Status::invalid;
  }
  if (options.touched > Touched::swapped || (options.touched != Touched::written && options.stored == 0))
    return Status::invalid;
  if (options.stored != 0) {
    if (!data.empty() || !options.notify || options.strides != nullptr) return Status::invalid;
    return options.stored <= room ? Status::ok : Status::out_of_bounds;
  }
  const std::uint64_t first = ticket.base + options.offset;
  if (first >= kPutSpan) return Status::out_of_bounds;
  if (options.strides == nullptr)
    return element_divides(options.element, data.size(), first) ? Status::ok : Status::misaligned;
  const Strides& strides = *options.strides;
  const Status shape = check_strides(strides, data.size(), options.offset, ticket.bound);
  if (shape != Status::ok) return shape;
  return element_divides(options.element, strides.chunk, first) ? Status::ok : Status::misaligned;
}

// ok: last_of_level() leads there, and puts may go.
Status Terminus::way_of(const Ticket& ticket) noexcept {
  const Status found = recall(ticket);
  if (found != Status::ok) return found;
  const Last& last = last_of_level();
  if (last.link == nullptr) return Status::invalid;  // a ticket of zeros leads nowhere
  const SendCredit& credit = *last.credit;
  if (credit.refused) return credit.gone() ? Status::stale : Status::refused;
  if (!credit.open()) return without_place();
  return credit.takes_puts ? Status::ok : Status::refused;
}

Status Terminus::find_place(const Ticket& ticket, SendCredit*& credit) noexcept {
  const Status way = way_of(ticket);
  const bool may = way == Status::ok || (way == Status::refused && last_of_level().credit->gives_gets);
  if (!may) return way;
  if (last_of_level().credit->left == 0) return without_place();
  credit = last_of_level().credit;
  return Status::ok;
}

Status Terminus::find_way(const Ticket& ticket, SendCredit*& credit) noexcept {
  const Status way = way_of(ticket);
  if (way == Status::ok) credit = last_of_level().credit;
  return way;
}

void Terminus::ask_again(const Ticket& ticket) noexcept {
  Link* const link = core_.find_link(ticket.interface);
  SendCredit* const credit = link != nullptr ? Core::find_credit(*link, ticket) : nullptr;
  if (credit != nullptr && credit->refused && credit->cause == Refusal::not_permitted) Core::reopen(*credit);
}

std::uint64_t Terminus::asked_last(const Ticket& ticket) const noexcept {
  const Link* const link = core_.find_link(ticket.interface);
  const SendCredit* const credit = link != nullptr ? Core::find_credit(*link, ticket) : nullptr;
  return credit != nullptr && credit->asked ? std::uint64_t{credit->question} + 1 : 0;
}

Opened Terminus::opened(const Ticket& ticket) noexcept {
  static_cast<void>(way_of(ticket));  // the credit that it finds says what may be done there
  const SendCredit& credit = *last_of_level().credit;
  return {.puts = credit.takes_puts, .gets = credit.gives_gets, .told = credit.granted != 0};
}

SendCredit* Terminus::credit_of(const Ticket& ticket) noexcept {
  static_cast<void>(way_of(ticket));  // the credit that it finds says what may be done there
  return last_of_level().link != nullptr ? last_of_level().credit : nullptr;
}

std::uint32_t Terminus::opening_of(const SendCredit* credit) const noexcept {
  if (credit == nullptr) return kNoOpening;
  if ((credit->lost & bit_) != 0) return kLostOpening;
  return credit->open() && !credit->refused ? low_half(credit->opening) : kNoOpening;
}

// No fence that has left before says anything of it.
void Terminus::put_left(Link& link, SendCredit& credit) noexcept {
  credit.unfenced |= bit_;
  credit.put_mark = link.put_count();
  requests_.forget_mark();
}

Status Terminus::put_now(const Ticket& ticket, std::span<const std::byte> data,
                         std::uint64_t offset) noexcept {
  if (data.size() > kPutInline) return Status::too_long;
  const PutOptions options{.offset = offset};
  const Status wrong = check_put(ticket, data, options);
  if (wrong != Status::ok) return wrong;
  const Status way = way_of(ticket);
  if (way != Status::ok) return way;
  Link& link = *last_of_level().link;
  if (messages_wait_for(link) || link.others_first(priority_)) return Status::queue_full;
  return left_at_once(put_at_once(ticket, data, options), options);
}

Status Terminus::call_owner(const Ticket& ticket) noexcept {
  const Status way = way_of(ticket);
  if (way != Status::ok) return way;
  Packet packet{};
  set_lead(packet, Operation::put, kInlineData, 0);
  set_word(packet, kSlotWord, put_word(last_of_level().credit->opening, 0, false, 0));
  core_.say_at_last(*last_of_level().link, packet);
  return Status::ok;
}

Status Terminus::put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                     SendHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  const Status wrong = check_put(ticket, data, options);
  if (wrong != Status::ok) return wrong;
  const Status way = way_of(ticket);
  const bool told_of_read = options.touched == Touched::read && way == Status::refused;
  if (way != Status::ok && !(told_of_read && last_of_level().credit->gives_gets)) return way;
  SendCredit& credit = *last_of_level().credit;
  Link& link = *last_of_level().link;
  if (options.notify && credit.left == 0) return without_place();
  const bool alone = !messages_wait_for(link) && !link.others_first(priority_);
  Status status = Status::queue_full;
  if (options.stored != 0) {
    if (alone)
      status = announce(link, credit.opening, ticket.base + options.offset, options.stored, options.touched);
    return left_at_once(status, options);
  }
  if (options.signal != Signal::none) {
    if ((credit.amiss() & bit_) != 0) return Status::refused;  // what it would signal
    if (alone && link.comes_behind(credit.put_mark)) status = put_signal(ticket, data, options, 0);
    return left_at_once(status, options);
  }
  if (alone && data.size() <= kPutInline && options.strides == nullptr && options.element == 0)
    return left_at_once(put_at_once(ticket, data, options), options);
  if (free_.empty()) {
    ++counters_.no_entry;
    return Status::queue_full;
  }
  if (options.notify) --credit.left;
  Work& work = *free_.first();
  work.data = data.data();
  work.parts = 0;
  work.in_place = work.from_area = false;
  work.kind = Work::Kind::put;
  work.credit = &credit;
  work.opening = credit.opening;
  work.notify = options.notify;
  work.strided = options.strides != nullptr;
  if (work.strided) work.strides = without_idle(*options.strides);
  const SendOptions as_message{.offset = options.offset, .element = options.element};
  return post(work, ticket, 0, data.size(), as_message, handle, false);
}

// Packets of one level that go to one owner arrive in their order, whatever slots they are for; where a link
// keeps none, the signal waits until all of them have.
Status Terminus::put_signal_of(const Ticket& ticket, std::span<const std::byte> value,
                               const PutOptions& signal, Terminus& before, const Ticket& of) noexcept {
  HAMLYN_ASSERT(signal.signal != Signal::none && before.priority_ == priority_, "a signal, in its level");
  const Status wrong = check_put(ticket, value, signal);
  if (wrong != Status::ok) return wrong;
  SendCredit* data = nullptr;
  Status way = before.find_way(of, data);
  if (way != Status::ok) return way;
  if ((data->amiss() & before.bit_) != 0) return Status::refused;  // what it would signal
  way = way_of(ticket);
  if (way != Status::ok) return way;
  Link& link = *last_of_level().link;
  SendCredit& credit = *last_of_level().credit;
  if (link.peer != of.interface) return Status::invalid;
  if ((credit.amiss() & bit_) != 0) return Status::refused;
  const bool alone = !messages_wait_for(link) && !before.messages_wait_for(link);
  if (!alone || !link.comes_behind(std::max(credit.put_mark, data->put_mark)) || link.others_first(priority_))
    return Status::queue_full;
  return left_at_once(put_signal(ticket, value, signal, signals_of(data->opening)), signal);
}

Status Terminus::put_with_signal(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
                                 std::span<const std::byte> value, const PutOptions& signal,
                                 bool& left) noexcept {
  HAMLYN_ASSERT(data.size() <= kPutInline, "data that leaves at once or not at all");
  left = false;
  const Status way = way_of(ticket);
  if (way != Status::ok) return way;
  Link& link = *last_of_level().link;
  link.gather(true);
  Status status = put_now(ticket, data, offset);
  left = status == Status::ok;
  if (left) status = put(ticket, value, signal, nullptr);
  link.gather(false);
  return status;
}

Status Terminus::put_and_fence(const Ticket& ticket, std::span<const std::byte> data,
                               const PutOptions& options, SendHandle* sent, RemoteHandle* fence,
                               Requests::Mark& mark, std::uint64_t& by) noexcept {
  by = 0;
  const Status way = way_of(ticket);
  if (way != Status::ok) return way;
  Link& link = *last_of_level().link;
  link.gather(true);
  Status status = put(ticket, data, options, sent);
  if (status == Status::ok || status == Status::pending) {
    by = link.serial;
    status = requests_.fence(ticket, {}, nullptr, fence, &mark);
  }
  link.gather(false);
  return status;
}

Status Terminus::fence_behind(const Ticket& ticket, std::uint64_t by, Requests::Mark& mark,
                              RemoteHandle* fence) noexcept {
  const Link* const link = core_.find_link(ticket.interface);
  if (link == nullptr || link->serial != by) return Status::link_ended;
  return requests_.fence(ticket, {}, nullptr, fence, &mark);
}

// By last_of_level(), if `status` is ok.
Status Terminus::left_at_once(Status status, const PutOptions& options) noexcept {
  if (status != Status::ok) return status;
  if (options.notify) --last_of_level().credit->left;
  put_left(*last_of_level().link, *last_of_level().credit);
  return status;
}

// One cell.
Status Terminus::put_at_once(const Ticket& ticket, std::span<const std::byte> data,
                             const PutOptions& options) noexcept {
  const Last& last = last_of_level();
  Packet packet;
  set_lead(packet, Operation::put, kInlineData, 0);
  set_word(packet, kSlotWord,
           put_word(last.credit->opening, data.size(), options.notify, ticket.base + options.offset));
  set_tight_data(packet, data.data(), data.size());
  const Status status = last.link->put(packet, packet.data, nullptr, priority_);
  if (status != Status::ok) return status;
  ++counters_.messages;
  counters_.bytes += data.size();
  return Status::ok;
}

Status Terminus::put_signal(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                            std::uint64_t of) noexcept {
  const Last& last = last_of_level();
  Packet packet{};
  set_lead(packet, Operation::put_block, data.size(), 0, static_cast<std::uint32_t>(data.size()));
  packet.key = of;
  set_word(packet, kSlotWord, put_word(last.credit->opening, 0, options.notify, 0));
  packet.offset = ticket.base + options.offset;
  packet.word = static_cast<std::uint64_t>(options.signal);
  return last.link->put(packet, data.data(), nullptr, priority_);
}

// How much of it the next packet has.
std::size_t Terminus::next_put(const Work& work) const noexcept {
  const std::size_t limit = work.link->payload_limit(priority_) & ~std::size_t{7};
  const std::size_t rest = work.length - work.sent;
  if (!work.strided) return std::min(rest, limit - (work.offset + work.sent) % 8);
  const std::size_t chunk = work.strides.chunk;
  if (chunk <= limit) return std::min(rest, limit - limit % chunk);
  const std::size_t done = work.sent % chunk;
  return std::min(chunk - done, limit - (work.offset + place_of(work.strides, work.sent)) % 8);
}

// Follows a put of several packets, if the owner is to be told of it. On a link that does not keep the order
// it may overtake none of them.
Status Terminus::put_announcement(Work& work) noexcept {
  Link& link = *work.link;
  if (!link.comes_behind(work.mark)) return Status::queue_full;
  return announce(link, work.opening, work.offset, work.strided ? span_of(work.strides) : work.length,
                  Touched::written);
}

Status Terminus::announce(Link& link, std::uint64_t opening, std::uint64_t offset, std::uint64_t length,
                          Touched touched) noexcept {
  Packet packet{};
  set_lead(packet, Operation::put_block, 0, 0);
  set_word(packet, kSlotWord, put_word(opening, 0, true, 0));
  packet.offset = offset;
  set_word(packet, kEntryWord, length);
  packet.word = static_cast<std::uint64_t>(touched);
  return link.put(packet, nullptr, nullptr, priority_);
}

bool Terminus::still_open(const Work& work) noexcept {
  const SendCredit& credit = *work.credit;
  return credit.is_of(work.ticket) && credit.open() && credit.opening == work.opening;
}

bool Terminus::puts_by(const SendCredit& credit) const noexcept {
  for (const Work* work = waiting_.first(); work != nullptr; work = waiting_.next(*work)) {
    const bool puts = work->kind == Work::Kind::put || (work->kind == Work::Kind::posted && work->telling);
    if (puts && work->credit == &credit) return true;
  }
  return false;
}

// The place that it would have taken at the receiver.
void Terminus::give_place_back(const Work& work) noexcept {
  if (still_open(work) && work.credit->left < work.credit->granted) ++work.credit->left;
}

Status Terminus::put_next(Work& work) noexcept {
  Link& link = *work.link;
  Status status;
  std::size_t bytes = 0;
  bool whole = true;
  if (work.sent == work.length && work.packets_sent != 0) {
    status = put_announcement(work);
  } else {
    if (priority_ == Priority::normal && work.length > link.payload_limit()) link.want_room();
    bytes = next_put(work);
    whole = work.packets_sent == 0 && bytes == work.length;
    Packet packet{};
    set_lead(packet, work.strided ? Operation::put_strided : Operation::put_block, bytes, 0, work.element);
    set_word(packet, kSlotWord,
             put_word(work.opening, work.notify && !whole ? kAnnounced : 0, work.notify && whole,
                      work.strided ? work.strides.x_stride : 0));
    packet.offset = work.offset + (work.strided ? 0 : work.sent);
    if (work.strided) set_strides(packet, work.strides, work.offset, static_cast<std::uint32_t>(work.sent));
    status = link.put(packet, work.data + work.sent, nullptr, priority_);
  }
  if (status == Status::link_ended) finish(work, status);
  if (status != Status::ok) return status;
  if (work.credit->is_of(work.ticket)) {
    put_left(link, *work.credit);
    if (!still_open(work)) work.credit->lost |= bit_;  // it will be refused
  }
  work.sent += bytes;
  ++work.packets_sent;
  work.mark = link.put_count();
  const bool announced = whole || !work.notify;
  if (work.sent == work.length && (bytes == 0 || announced)) finish(work, Status::ok);
  return Status::ok;
}

}  // namespace hamlyn::internal_::interface
