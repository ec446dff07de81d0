#include "interface/terminus.h"

#include <algorithm>

#include "interface/gathering.h"

namespace hamlyn::interface {

namespace {
constexpr int kPassesPerRun = 8;  // so that a run comes back to the arrivals soon
}

Outlet Terminus::nowhere;

Terminus::Terminus(Core& core, std::size_t entries) : core_(core), work_(entries) {
  seen_.reserve(entries);
  for (Work& work : work_) append(free_, work);
  core_.add_terminus(*this);
}

Terminus::~Terminus() {
  while (waiting_.first != kNobody) finish(work_[waiting_.first], Status::cancelled);
  while (lent_.first != kNobody) finish(work_[lent_.first], Status::ok);
  core_.drop_terminus(*this);
}

void Terminus::append(Row& row, Work& work) noexcept {
  const std::uint32_t index = index_of(work);
  work.previous = row.last;
  work.next = kNobody;
  (row.last == kNobody ? row.first : work_[row.last].next) = index;
  row.last = index;
}

void Terminus::remove(Row& row, Work& work) noexcept {
  (work.previous == kNobody ? row.first : work_[work.previous].next) = work.next;
  (work.next == kNobody ? row.last : work_[work.next].previous) = work.previous;
}

// --- counted messages

Status Terminus::send(const Share& share, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  if (invalid(share) != nullptr) return Status::invalid;
  // So a share is never less than the number of its packets, whatever links they go by.
  if (packets_at_most(data.size()) > share.count) return Status::share_too_small;
  return send(share.ticket, share.count, data, options, handle);
}

Status Terminus::send(const Ticket& ticket, std::uint32_t count, std::span<const std::byte> data,
                      const SendOptions& options, SendHandle* handle) noexcept {
  if (handle != nullptr) *handle = {};
  const Status wrong = check(ticket, data.size(), options);
  if (wrong != Status::ok) return wrong;
  Work& work = work_[free_.first];
  work.data = data.data();
  work.parts = 0;
  // What is stored in place has landed before anybody could ask, and is told of by one packet: to be asked
  // for an acknowledgement it goes as packets.
  work.in_place = !options.acknowledged && store_in_place(work, ticket, data, options.offset);
  work.from_area = false;
  return post(work, ticket, count, data.size(), options, handle);
}

Status Terminus::check(const Ticket& ticket, std::uint64_t length,
                       const SendOptions& options) const noexcept {
  if (invalid(ticket) != nullptr || ticket.fast()) return Status::invalid;
  if (options.metadata.size() > kMetadataLimit || length > 0xFFFFFFFFu) return Status::too_long;
  if (options.offset > ticket.bound || length > ticket.bound - options.offset) return Status::out_of_bounds;
  return free_.first == kNobody ? Status::queue_full : Status::ok;
}

// Puts the first free entry, which has its data, to work.
Status Terminus::post(Work& work, const Ticket& ticket, std::uint32_t count, std::uint64_t length,
                      const SendOptions& options, SendHandle* handle) noexcept {
  work.ticket = ticket;
  work.length = length;
  work.sent = 0;
  work.lent = false;
  work.packets_sent = 0;
  work.offset = ticket.base + options.offset;
  work.link = nullptr;
  work.status = Status::pending;
  work.message = core_.next_message();
  work.count = count;
  work.packets_left = 0;
  work.packet_size = 0;
  work.acknowledged = options.acknowledged;
  work.left = false;
  work.metadata_length = static_cast<std::uint8_t>(options.metadata.size());
  std::copy(options.metadata.begin(), options.metadata.end(), work.metadata.begin());
  // Names the entry, and how many messages it has had.
  work.sequence += work.sequence == 0 ? work_.size() + index_of(work) : work_.size();
  if (handle != nullptr) handle->sequence = work.sequence;
  Link* const link = core_.find_link(ticket.interface);
  const bool behind_others = link != nullptr && pending_ != 0 && waits_for(*link);
  ++pending_;
  remove(free_, work);
  append(waiting_, work);
  core_.count_departure(1);
  if (!take_link(work)) return Status::pending;
  // Direct I/O: straight into the link, unless earlier messages wait for the same destination.
  while (!behind_others && work.status == Status::pending && !work.lent && !work.left &&
         put_one_packet(work)) {
  }
  return work.status;
}

// A message that is to be acknowledged has its link only once there is room to await it: until then others
// may overtake it, and it keeps nobody awake.
bool Terminus::take_link(Work& work) noexcept {
  Link* const link = core_.find_link(work.ticket.interface);
  if (link == nullptr) {
    core_.surroundings().want_link(work.ticket.interface);
    return false;
  }
  if (work.acknowledged && !link->acknowledgements.await(work.message)) return false;
  work.link = link;
  ++link->departures;
  return true;
}

bool Terminus::waits_for(const Link& link) const noexcept {
  for (std::uint32_t i = waiting_.first; i != kNobody; i = work_[i].next) {
    const Work& work = work_[i];
    // Also what waits since before there was this link.
    if (work.link == &link || (work.link == nullptr && work.ticket.interface == link.peer)) return true;
  }
  return false;
}

// The first packet's delta is what the others, one each, leave of the message's count: 0, or a share of a
// group's (paper 0, section 2.5).
void Terminus::start(Work& work) noexcept {
  if (work.length > work.link->payload_limit()) work.link->want_room();
  work.packet_size = work.link->payload_limit();
  work.packets_left =
      work.length == 0 ? 1
                       : static_cast<std::uint32_t>((work.length + work.packet_size - 1) / work.packet_size);
}

bool Terminus::put_one_packet(Work& work) noexcept {
  if (work.parts != 0) return put_gathered(work);
  if (work.in_place) return put_in_place(work);
  const bool first = work.packets_left == 0;
  const bool asks = first && work.acknowledged;
  if (first) start(work);
  const std::size_t bytes = std::min(work.packet_size, work.length - work.sent);
  Packet packet;
  set_lead(packet, asks ? Operation::write_acknowledged : Operation::write, bytes,
           first ? work.metadata_length : 0);
  set_slot(packet, work.ticket);
  packet.offset = work.offset + work.sent;
  set_entry(packet, work.ticket.entry, first ? work.count + 1 - work.packets_left : 1);
  packet.word = message_word(work.message, work.ticket.incarnation);
  const Status status = work.link->put(packet, work.data + work.sent, work.metadata.data());
  if (status != Status::ok) {
    if (first) work.packets_left = 0;
    if (status == Status::link_ended) finish(work, status);
    return false;
  }
  work.sent += bytes;
  if (--work.packets_left == 0) {
    if (work.acknowledged) {
      await_delivery(work);
    } else {
      finish(work, Status::ok);
    }
  }
  return true;
}

void Terminus::finish(Work& work, Status status) noexcept {
  const bool begun = work.packets_left != 0 || work.packets_sent != 0;
  // Half of it has left: its receiver would wait for the rest. (What has left whole may have arrived, and its
  // entry may be armed for another.)
  if (status == Status::cancelled && begun && !work.lent && !work.left)
    core_.abandon(*work.link, work.ticket, work.message);
  work.status = status;
  if (work.left) {
    remove(left_, work);
  } else if (work.lent) {
    core_.count_departure(-1);
    --work.link->lent;
    remove(lent_, work);
  } else {
    core_.count_departure(-1);
    --pending_;
    if (work.link != nullptr) {
      --work.link->departures;
      if (work.acknowledged && !begun) work.link->acknowledgements.await_no_more(work.message);
    }
    remove(waiting_, work);
  }
  work.link = nullptr;
  append(free_, work);
}

// --- messages that have left, and wait to be acknowledged

void Terminus::await_delivery(Work& work) noexcept {
  work.left = true;
  --pending_;
  core_.count_departure(-1);
  --work.link->departures;
  remove(waiting_, work);
  append(left_, work);
}

void Terminus::delivered(const Link& link, std::uint32_t message, Status status) noexcept {
  for (std::uint32_t i = left_.first; i != kNobody; i = work_[i].next) {
    Work& work = work_[i];
    if (work.link == &link && work.message == message) return finish(work, status);
  }
  // A receiver may refuse the first packet while the rest is still here: that cannot be of use any more.
  for (std::uint32_t i = waiting_.first; i != kNobody; i = work_[i].next) {
    Work& work = work_[i];
    if (work.link == &link && work.message == message && (work.packets_left != 0 || work.packets_sent != 0))
      return finish(work, status);
  }
}

bool Terminus::depart() noexcept {
  bool moved = lent_.first != kNobody && take_back();
  for (int pass = 0; pass < kPassesPerRun && pending_ != 0 && depart_once(); ++pass) moved = true;
  return moved;
}

bool Terminus::depart_once() noexcept {
  bool moved = false;
  seen_.clear();
  for (std::uint32_t i = waiting_.first, next = kNobody; i != kNobody; i = next) {
    Work& work = work_[i];
    next = work.next;  // it may be finished here
    if (work.link == nullptr && !take_link(work)) continue;
    if (std::find(seen_.begin(), seen_.end(), work.link) != seen_.end()) continue;
    seen_.push_back(work.link);
    moved |= put_one_packet(work);
  }
  return moved;
}

Status Terminus::status(SendHandle handle) const noexcept {
  if (handle.sequence == 0) return Status::ok;
  const Work& work = work_[handle.sequence % work_.size()];
  if (handle.sequence > work.sequence) return Status::invalid;
  return handle.sequence == work.sequence ? work.status : Status::ok;  // or long over
}

Status Terminus::cancel(SendHandle handle) noexcept {
  const Status now = status(handle);
  if (now != Status::pending) return now;
  Work& work = work_[handle.sequence % work_.size()];
  // The other side may still read its buffers; it will say that it has not done so for ever.
  if (work.left && work.from_area && work.link->taken_seen < work.mark) return Status::pending;
  finish(work, Status::cancelled);
  return Status::ok;
}

void Terminus::link_ended(const Link& link) noexcept {
  for (std::uint32_t i = waiting_.first, next = kNobody; i != kNobody; i = next) {
    next = work_[i].next;
    if (work_[i].link == &link) finish(work_[i], Status::link_ended);
  }
  for (const Row* row : {&lent_, &left_}) {
    for (std::uint32_t i = row->first, next = kNobody; i != kNobody; i = next) {
      next = work_[i].next;
      if (work_[i].link == &link) finish(work_[i], Status::link_ended);
    }
  }
}

void Terminus::link_refused(std::uint64_t peer) noexcept {
  for (std::uint32_t i = waiting_.first, next = kNobody; i != kNobody; i = next) {
    Work& work = work_[i];
    next = work.next;
    if (work.link == nullptr && work.ticket.interface == peer) finish(work, Status::refused);
  }
  for (LinkWait* wait = link_waits_; wait != nullptr; wait = wait->next) {
    if (wait->peer == peer) wait->refused = true;
  }
}

void Terminus::add(LinkWait& wait) noexcept {
  wait.next = link_waits_;
  link_waits_ = &wait;
}

void Terminus::remove(LinkWait& wait) noexcept {
  LinkWait** at = &link_waits_;
  while (*at != &wait) at = &(*at)->next;
  *at = wait.next;
}

// --- fast mode

Status Terminus::send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                           std::uint64_t offset) noexcept {
  if (last_.peer != ticket.interface || last_.slot_word != slot_word(ticket) || last_.key != ticket.key ||
      !ticket.fast()) {
    const Status found = remember(ticket);
    if (found != Status::ok) return found;
  }
  if (last_.outlet->left == 0) return without_place();
  Link& link = *last_.link;
  if (pending_ != 0 && waits_for(link)) return Status::queue_full;
  if (data.size() > link.payload_limit()) return too_long(link, data.size());
  if (offset > ticket.bound || data.size() > ticket.bound - offset) return Status::out_of_bounds;
  const Status status =
      link.put_fast(last_.outlet->target, ticket.base + offset, word, data.data(), data.size());
  if (status == Status::ok) --last_.outlet->left;
  return status;
}

Status Terminus::remember(const Ticket& ticket) noexcept {
  last_ = {};
  if (invalid(ticket) != nullptr || !ticket.fast()) return Status::invalid;
  Link* link = core_.find_link(ticket.interface);
  if (link == nullptr) {
    core_.surroundings().want_link(ticket.interface);
    return Status::connecting;
  }
  Outlet* outlet = core_.outlet(*link, ticket.slot, ticket.generation, ticket.key);
  if (outlet == nullptr) return Status::no_place;
  last_ = {ticket.interface, slot_word(ticket), ticket.key, link, outlet};
  return Status::ok;
}

Status Terminus::without_place() noexcept {
  if (last_.link == nullptr) return Status::invalid;  // a ticket of zeros leads nowhere
  Link& link = *last_.link;
  Outlet& outlet = *last_.outlet;
  if (outlet.refused) return Status::refused;
  if (!outlet.asked) core_.ask_for_places(link, outlet);
  return outlet.open() ? Status::no_place : Status::connecting;
}

Status Terminus::too_long(Link& link, std::size_t bytes) noexcept {
  link.want_room();
  return bytes > link.payload_limit_ever() ? Status::too_long : Status::queue_full;
}

Status Terminus::ready(const Ticket& ticket) noexcept {
  if (invalid(ticket) != nullptr) return Status::invalid;
  if (!ticket.fast()) {
    if (core_.find_link(ticket.interface) != nullptr) return Status::ok;
    core_.surroundings().want_link(ticket.interface);
    return Status::connecting;
  }
  const Status found = remember(ticket);
  if (found != Status::ok) return found;
  return last_.outlet->open() ? Status::ok : without_place();
}

Status Terminus::place_free(const Ticket& ticket) noexcept {
  const Status status = ready(ticket);
  if (status != Status::ok || !ticket.fast()) return status;
  if (last_.outlet->left == 0) return Status::no_place;
  return last_.link->has_room() ? Status::ok : Status::queue_full;
}

}  // namespace hamlyn::interface
