#include "interface/remote/requests.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "base/link_reasons.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"
#include "interface/packets/put_packet.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

Requests::Requests(Core& core, Terminus& terminus, std::size_t entries)
    : core_(core), terminus_(terminus), entries_(entries), records_(std::bit_ceil(entries)) {}

// Replies that are still to come are taken and dropped: their landing is nobody's any more.
Requests::~Requests() {
  for (Link* link : core_.links()) {
    for (Asked& asked : link->remote.asked) {
      if (asked.owner != this) continue;
      if (asked.busy && asked.watch) core_.take_back_watch(*link, asked.id);
      if (records_[asked.record].queue != nullptr) records_[asked.record].queue->release(1);
      asked.owner = nullptr;
    }
  }
}

Status Requests::link_for(const Ticket& ticket, std::uint64_t offset, std::uint64_t length,
                          Link*& link) noexcept {
  if (invalid(ticket) != nullptr) return Status::invalid;
  if (!inside(offset, length, ticket.bound)) return Status::out_of_bounds;
  link = core_.find_link(ticket.interface);
  if (link == nullptr) return terminus_.ask_for_link(ticket.interface);
  core_.warm(*link);  // it will answer
  // Behind what this terminus has sent there before, and those who wait for room have their turns first.
  if (terminus_.messages_wait_for(*link) || link->others_first(terminus_.priority()))
    return Status::queue_full;
  return Status::ok;
}

Status Requests::fetch(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options, Queue* queue,
                       RemoteHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  if (fetch.bytes != 4 && fetch.bytes != 8) return Status::invalid;
  if (fetch.op < FetchOp::add || fetch.op > FetchOp::compare_and_swap) return Status::invalid;
  Link* link = nullptr;
  const Status found = link_for(ticket, options.offset, fetch.bytes, link);
  if (found != Status::ok) return found;
  SendCredit* fenced = nullptr;
  if (options.fenced) {
    if (options.answered) return Status::invalid;
    const Status way = terminus_.find_way(ticket, fenced);
    if (way != Status::ok) return way;
  }
  Telling telling;
  const Status place = find_place(ticket, options, telling);
  if (place != Status::ok) return place;
  if (fenced != nullptr && telling.credit == nullptr) telling.entry = counting_entry(fenced->opening);
  Packet packet;
  set_lead(packet, Operation::fetch, kInlineData, 0);
  set_entry(packet, telling.entry,
            fetch_delta(static_cast<std::uint32_t>(fetch.op), fetch.bytes, options.answered));
  const std::uint64_t operands[2] = {fetch.operand, fetch.compare};
  const auto* const data = reinterpret_cast<const std::byte*>(operands);
  if (options.answered)
    return telling.asked(put(*link, ticket, packet, data, options, queue, nullptr, handle, telling.credit));
  set_slot(packet, ticket);
  packet.offset = ticket.base + options.offset;
  packet.word = message_word(0, ticket.incarnation);
  const Status left = telling.asked(link->put(packet, data, nullptr, terminus_.priority()));
  if (left == Status::ok && fenced != nullptr) terminus_.put_left(*link, *fenced);
  return left;
}

// If the owner is to be told: how the packet says it, and the place that it takes.
Status Requests::find_place(const Ticket& ticket, const RemoteOptions& options, Telling& telling) noexcept {
  telling.entry = ticket.entry;
  if (!options.notify) return Status::ok;
  const Status status = terminus_.find_place(ticket, telling.credit);
  if (status == Status::ok) telling.entry = telling_entry(telling.credit->opening);
  return status;
}

Status Requests::get(const Ticket& ticket, const Landing& landing, const RemoteOptions& options, Queue* queue,
                     RemoteHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  if (landing.length > kGetLimit) return Status::too_long;
  const bool fits =
      landing.to != nullptr || inside(landing.offset, landing.length, core_.slot(landing.slot).bound);
  if (landing.length == 0 || !fits) return Status::invalid;
  if (!is_element(options.element)) return Status::invalid;
  const Strides* const strides = options.strides;
  if (strides != nullptr) {
    const Status wrong = check_strides(*strides, landing.length, options.offset, ticket.bound);
    if (wrong != Status::ok) return wrong;
  }
  const std::uint64_t run = strides != nullptr ? strides->chunk : landing.length;
  if (!element_divides(options.element, run, ticket.base + options.offset)) return Status::misaligned;
  Link* link = nullptr;
  const std::uint64_t reach = strides != nullptr ? span_of(*strides) : landing.length;
  const Status found = link_for(ticket, options.offset, reach, link);
  if (found != Status::ok) return found;
  Telling telling;
  const Status place = find_place(ticket, options, telling);
  if (place != Status::ok) return place;
  Packet packet;
  set_lead(packet, Operation::get, 0, 0, options.element);
  set_entry(packet, telling.entry, static_cast<std::uint32_t>(landing.length));
  if (strides != nullptr) {
    set_lead(packet, Operation::get_strided, kInlineData, 0, options.element);
    set_gather(packet, *strides);
    return telling.asked(
        put(*link, ticket, packet, packet.data, options, queue, &landing, handle, telling.credit));
  }
  return telling.asked(put(*link, ticket, packet, nullptr, options, queue, &landing, handle, telling.credit));
}

Status Requests::fence(const Ticket& ticket, const RemoteOptions& options, Queue* queue, RemoteHandle* handle,
                       Mark* mark) noexcept {
  if (handle != nullptr) *handle = {};
  Link* link = nullptr;
  const Status found = link_for(ticket, 0, 0, link);
  if (found != Status::ok) return found;
  if (!link->in_order) {
    if (mark == nullptr) mark = &mark_;
    if (mark->link != link->serial) *mark = {link->serial, link->put_count()};
    if (!link->comes_behind(mark->count)) return Status::queue_full;
  }
  SendCredit* const credit = terminus_.credit_of(ticket);
  if (credit != nullptr && awaits_given_up(*link, *credit)) [[unlikely]]
    return Status::queue_full;
  Packet packet;
  set_lead(packet, Operation::fence, 0, 0);
  set_entry(packet, kNoEntry, terminus_.opening_of(credit));
  const Priority level = terminus_.priority();
  if (!link->remote.may_ask(level)) return Status::queue_full;
  Asked& asked = link->remote.next(level);
  const Status status = put(*link, ticket, packet, nullptr, options, queue, nullptr, handle);
  if (status != Status::pending) return status;
  static_cast<void>(link->departed());  // whoever asks for a fence waits for it, not for company
  if (credit != nullptr) {
    asked.credit = credit;
    asked.fenced_by = (credit->amiss() | credit->unfenced) & terminus_.bit();
    asked.given_up = false;
    asked.untold = credit->take_untold(terminus_.bit());
    asked.by_slot = (credit->lost & terminus_.bit()) != 0;
    asked.lost_by = credit->take_lost_with_link(terminus_.bit());
    credit->lost &= ~terminus_.bit();
    // The fence says nothing of puts of another thread since it began to wait.
    if (link->in_order || credit->put_mark <= mark->count || mark == &mark_)
      credit->unfenced &= ~terminus_.bit();
  }
  mark_ = {};
  return status;
}

Status Requests::watch(const Ticket& ticket, std::uint32_t bytes, std::uint64_t seen,
                       const RemoteOptions& options, RemoteHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  // The packet that takes a watch back leaves by the normal level, behind it.
  if ((bytes != 4 && bytes != 8) || terminus_.priority() != Priority::normal) return Status::invalid;
  Link* link = nullptr;
  const Status found = link_for(ticket, options.offset, bytes, link);
  if (found != Status::ok) return found;
  const auto is_watch = [](const Asked& asked) { return asked.busy && asked.watch; };
  if (std::ranges::count_if(link->remote.asked, is_watch) >= kMostWatches) return Status::queue_full;
  Packet packet;
  set_lead(packet, Operation::watch, kInlineData, 0);
  set_entry(packet, ticket.entry, bytes);
  const std::uint64_t data[2] = {seen, 0};
  if (!link->remote.may_ask(Priority::normal)) return Status::queue_full;
  Asked& asked = link->remote.next(Priority::normal);
  const Status status =
      put(*link, ticket, packet, reinterpret_cast<const std::byte*>(data), options, nullptr, nullptr, handle);
  if (status == Status::pending) asked.watch = true;
  return status;
}

Status Requests::look(const Ticket& ticket, RemoteHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  Link* link = nullptr;
  const Status found = link_for(ticket, 0, 0, link);
  if (found != Status::ok) return found;
  const SendCredit* const credit = terminus_.credit_of(ticket);
  if (credit == nullptr || !credit->open()) return Status::connecting;
  Packet packet;
  set_lead(packet, Operation::fence, 0, 0);
  set_entry(packet, kNoEntry, low_half(credit->opening) | kLooks);
  return put(*link, ticket, packet, nullptr, {}, nullptr, nullptr, handle);
}

// A record whose operation is over, and that nobody waits for, the longest unused first; kNobody: there is
// none.
std::uint32_t Requests::free_record() noexcept {
  for (std::size_t i = 0; i < entries_; ++i) {
    const std::size_t at = next_;
    next_ = next_ + 1 == entries_ ? 0 : next_ + 1;
    if (records_[at].outcome.status != Status::pending && !records_[at].held)
      return static_cast<std::uint32_t>(at);
  }
  return kNobody;
}

Status Requests::put(Link& link, const Ticket& ticket, Packet& packet, const std::byte* data,
                     const RemoteOptions& options, Queue* queue, const Landing* landing, RemoteHandle* handle,
                     SendCredit* told_by) noexcept {
  RemoteWork& work = link.remote;
  const Priority level = terminus_.priority();
  if (!work.may_ask(level)) return Status::queue_full;
  const std::uint32_t index = free_record();
  if (index == kNobody) return Status::queue_full;
  // Its notification has its place from now on (design, section 4).
  if (queue != nullptr && queue->reserve(1) == 0) {
    next_ = index;
    return Status::no_place;
  }
  Asked& asked = work.next(level);
  set_slot(packet, ticket);
  packet.offset = ticket.base + options.offset;
  packet.word = message_word(asked.id, ticket.incarnation);
  const Status status = link.put(packet, data, nullptr, level);
  if (status != Status::ok) {
    if (queue != nullptr) queue->release(1);
    next_ = index;  // a try that found no room costs nobody the outcome that stands there
    return status;
  }
  HAMLYN_ASSERT(!asked.busy, "a request has a place of its own");
  work.use(asked);
  asked.fetch = landing == nullptr;
  asked.watch = false;
  asked.credit = told_by;
  asked.fenced_by = 0;
  asked.cause = Refusal::none;
  asked.owner = this;
  asked.record = index;
  asked.to = nullptr;
  if (landing != nullptr) {
    asked.lost = false;
    asked.length = asked.until = static_cast<std::uint32_t>(landing->length);
    asked.landed = 0;
    asked.offset = landing->offset;
    asked.pieces = {};
    if (landing->to != nullptr) {
      asked.slot = kNoEntry;
      asked.to = landing->to;
    } else {
      const SlotRecord& slot = core_.slot(landing->slot);
      asked.slot = landing->slot;
      asked.generation = slot.generation;
      asked.key = slot.key;
    }
  } else {
    asked.length = asked.until = asked.landed = 0;
    asked.slot = kNoEntry;
    asked.offset = 0;
  }
  Record& record = records_[index];
  HAMLYN_ASSERT(record.outcome.status != Status::pending && !record.held, "free_record has found it free");
  record.link = &link;
  record.sequence += record.sequence == 0 ? records_.size() + index : records_.size();
  record.outcome = {Status::pending, Refusal::none, 0};
  record.queue = queue;
  record.word = options.word;
  if (handle != nullptr) handle->sequence = record.sequence;
  return Status::pending;
}

void Requests::give_up(Place place) noexcept {
  Link* const asked_over = link(place);
  if (asked_over == nullptr) return;
  for (Asked& asked : asked_over->remote.asked) {
    if (!asked.busy || asked.owner != this || asked.record != place.index) continue;
    asked.to = nullptr;
    if (asked.fenced_by != 0) asked.given_up = true;
    if (asked.watch) core_.take_back_watch(*asked_over, asked.id);
  }
}

bool Requests::awaits_given_up(const Link& link, const SendCredit& credit) const noexcept {
  return std::ranges::any_of(link.remote.asked, [&](const Asked& asked) {
    return asked.busy && asked.owner == this && asked.fenced_by != 0 && asked.given_up &&
           asked.credit == &credit;
  });
}

Status Requests::settle_fence(Asked& asked, Status status, std::uint64_t& value) noexcept {
  if (asked.owner == nullptr) return status;
  const bool answered = status != Status::link_ended;
  if (answered && asked.untold != Refusal::none) {
    status = Status::refused;
    asked.cause = asked.untold;
  }
  const Refusal unheard = answered ? asked.cause : asked.untold;
  if (unheard != Refusal::none && (asked.given_up || !answered))
    asked.credit->tell_later(asked.fenced_by, unheard);
  if (!answered || asked.lost_by.reason == LinkReason::none) return status;
  if (asked.given_up) asked.credit->lose_with_link(asked.fenced_by, asked.lost_by);
  if (asked.given_up || status != Status::ok) return status;
  value = base::word_of(asked.lost_by);
  return Status::link_ended;
}

Outcome Requests::outcome(RemoteHandle handle) const noexcept { return outcome(find(handle)); }

// The queue that was named hears of it.
void Requests::tell(Record& record, const Asked& asked, std::uint64_t peer) noexcept {
  Queue* const queue = std::exchange(record.queue, nullptr);
  Notification notification;
  notification.kind = record.outcome.status == Status::ok ? Notification::Kind::remote_done
                                                          : Notification::Kind::remote_failed;
  notification.cause = asked.cause;
  notification.slot =
      asked.slot == kNoEntry ? kNoEntry : number_of(std::uint64_t{asked.generation} << 32 | asked.slot);
  notification.entry = kNoEntry;
  notification.offset = asked.offset;
  notification.length = asked.length;
  notification.word = record.word;
  notification.peer = peer;
  HAMLYN_ASSERT(queue != nullptr && queue->reserved() != 0, "the place was reserved when it was asked for");
  queue->release(1);  // makes the room that the next line takes
  queue->push(notification, 0);
  if (queue->event_wanted) core_.surroundings().signal(*queue);
}

void Requests::forget_queue(const Asked& asked, const Queue* queue) noexcept {
  Record& record = records_[asked.record];
  if (record.queue == queue) record.queue = nullptr;
}

}  // namespace hamlyn::internal_::interface
