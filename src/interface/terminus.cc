#include "interface/terminus.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "base/link_reasons.h"
#include "interface/areas/gathering.h"
#include "interface/packets/element.h"

namespace hamlyn::internal_::interface {

namespace {
constexpr std::size_t kBucketsLimit = 256;

// Whether a receiver may remember the message of which it has said so (Core::note_lost).
bool is_remembered(Refusal cause) noexcept {
  return cause == Refusal::entry_not_armed || cause == Refusal::entry_busy ||
         cause == Refusal::stale_message || cause == Refusal::no_buffer || cause == Refusal::too_long;
}
}  // namespace

SendCredit Terminus::nowhere;

Terminus::Terminus(Core& core, std::size_t entries, Priority priority)
    : core_(core),
      priority_(priority),
      bit_(core.next_terminus_bit()),
      counters_(core.row_for_terminus()),
      work_(entries),
      destinations_(entries),
      buckets_(std::bit_ceil(std::min<std::size_t>(entries, kBucketsLimit))),
      level_last_(priority == Priority::normal ? &last_ : &last_in_level_),
      requests_(core, *this, entries) {
  for (Work& work : work_) free_.append(work);
  for (DestinationQueue& destination : destinations_) {
    destination.terminus = this;
    destination.next = std::exchange(free_destination_, &destination);
  }
  core_.add_terminus(*this);  // last: a terminus without the memory that it needs is known to nobody
  counters_.entries = static_cast<std::uint32_t>(entries);
  counters_.level = static_cast<std::uint32_t>(priority);
}

Terminus::~Terminus() {
  while (Work* work = waiting_.first()) finish(*work, work->lent ? Status::ok : Status::cancelled);
  core_.drop_terminus(*this);
  counters_ = {};
}

// --- a sub-queue for each destination

Terminus::DestinationQueue* Terminus::destination_of(std::uint64_t peer) noexcept {
  DestinationQueue* destination = bucket(peer);
  while (destination != nullptr && destination->peer != peer) destination = destination->next;
  return destination;
}

// There is one for each entry at least.
Terminus::DestinationQueue& Terminus::open_destination(std::uint64_t peer, Link* link) noexcept {
  HAMLYN_ASSERT(free_destination_ != nullptr, "there is a destination for each entry");
  HAMLYN_ASSERT(destination_of(peer) == nullptr, "one for each peer");
  DestinationQueue& destination = *std::exchange(free_destination_, free_destination_->next);
  destination.peer = peer;
  destination.link = link;
  destination.next = std::exchange(bucket(peer), &destination);
  return destination;
}

void Terminus::close_destination(DestinationQueue& destination) noexcept {
  core_.departures().stop(destination);
  forget_destination(destination);
}

void Terminus::forget_destination(DestinationQueue& destination) noexcept {
  HAMLYN_ASSERT(destination.works.empty(), "nothing waits in a destination that goes");
  DestinationQueue** at = &bucket(destination.peer);
  while (*at != &destination) at = &(*at)->next;
  *at = destination.next;
  destination.next = std::exchange(free_destination_, &destination);
}

bool Terminus::link_made(Destination& destination, Link& link) noexcept {
  HAMLYN_ASSERT(destination.link == nullptr && destination.peer == link.peer, "it has waited for this link");
  auto& destination_queue = static_cast<DestinationQueue&>(destination);
  auto& works = destination_queue.works;
  base::Chain<Work, &Work::in_destination> kept;
  for (Work *work = works.first(), *next; work != nullptr; work = next) {
    next = works.next(*work);
    works.remove(*work);
    if (!await_room(*work, link)) {
      work->destination = nullptr;
      continue;
    }
    work->link = &link;
    ++link.departures;
    kept.append(*work);
  }
  works = kept;
  if (works.empty()) {
    forget_destination(destination_queue);
    return false;
  }
  destination.link = &link;
  return true;
}

void Terminus::fail(Destination& destination, Status status) noexcept {
  auto& works = static_cast<DestinationQueue&>(destination).works;
  for (Work *work = works.first(), *next; work != nullptr; work = next) {
    next = works.next(*work);
    finish(*work, status);
  }
}

Status Terminus::depart_one(Destination& destination, std::size_t& bytes) noexcept {
  HAMLYN_ASSERT(!static_cast<DestinationQueue&>(destination).works.empty(),
                "a destination has its turn while something waits");
  Work& work = *static_cast<DestinationQueue&>(destination).works.first();
  const std::size_t before = work.sent;
  const Status status = put_one_packet(work);
  bytes += std::min(work.sent - before, kPacketLimit);  // of an area only its name leaves
  return status;
}

// --- counted messages

Status Terminus::send(const Share& share, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle, Queue* queue) noexcept {
  if (handle != nullptr) *handle = {};
  const Status wrong = check(share, data.size(), options);
  return wrong != Status::ok ? wrong : send(share.ticket, share.count, data, options, handle, queue);
}

Status Terminus::check(const Share& share, std::uint64_t length, const SendOptions& options) noexcept {
  // No message of a member of a group lands whole by itself.
  if (invalid(share) != nullptr || options.acknowledged) return Status::invalid;
  // So a share is never less than the number of its packets, whatever links they go by.
  return packets_at_most(length) > share.count ? Status::share_too_small : Status::ok;
}

Status Terminus::send(const Ticket& ticket, std::uint32_t count, std::span<const std::byte> data,
                      const SendOptions& options, SendHandle* handle, Queue* queue) noexcept {
  if (handle != nullptr) *handle = {};
  const Status wrong = check(ticket, data.size(), options);
  if (wrong != Status::ok) return wrong;
  const Status tried = send_at_once(ticket, count, data, options, handle);
  if (tried == Status::ok) return tried;
  if (queue != nullptr && queue->reserve(1) == 0) return Status::no_place;
  Work& work = *free_.first();
  work.data = data.data();
  work.parts = 0;
  // A message that is stored in place has landed before anybody could ask, and one packet tells of it: to be
  // asked for an acknowledgement it goes as packets.
  work.in_place = !options.acknowledged && store_in_place(work, ticket, data, options.offset);
  work.from_area = work.area_gone = false;
  work.kind = Work::Kind::message;
  return post(work, ticket, count, data.size(), options, handle, tried == Status::queue_full, queue);
}

// A message of one packet that waits for nothing and nobody: straight into the link. No entry works for it;
// the one that is free for longest lends the handle its number. Otherwise nothing was done; queue_full: the
// link has no room, and need not be asked again.
Status Terminus::send_at_once(const Ticket& ticket, std::uint32_t count, std::span<const std::byte> data,
                              const SendOptions& options, SendHandle* handle) noexcept {
  Link* const link = core_.find_link(ticket.interface);
  if (link == nullptr || options.acknowledged || options.element != 0 || !link->mapped.empty() ||
      link->way(priority_).state != LinkLevel::State::idle || messages_wait_for(*link) ||
      data.size() > link->payload_limit(priority_)) {
    return Status::pending;
  }
  Packet packet;
  set_lead(packet, Operation::write, data.size(), options.metadata.size());
  set_slot(packet, ticket);
  packet.offset = ticket.base + options.offset;
  set_entry(packet, ticket.entry, count);
  packet.word = message_word(core_.next_message(), ticket.incarnation);
  const Status status = link->put(packet, data.data(), options.metadata.data(), priority_);
  if (status != Status::ok) [[unlikely]]
    return status;
  left_at_once(*link, data.size(), handle);
  return Status::ok;
}

Status Terminus::check(const Ticket& ticket, std::uint64_t length,
                       const SendOptions& options) const noexcept {
  if (invalid(ticket) != nullptr || ticket.entry >= Ticket::kPosted) return Status::invalid;
  if (options.metadata.size() > kMetadataLimit || length > 0xFFFFFFFFu) return Status::too_long;
  if (options.offset > ticket.bound || length > ticket.bound - options.offset) return Status::out_of_bounds;
  if (!is_element(options.element)) return Status::invalid;
  if (!element_divides(options.element, length, ticket.base + options.offset)) return Status::misaligned;
  if (!free_.empty()) return Status::ok;
  ++counters_.no_entry;
  return Status::queue_full;
}

// Puts the first free entry, which has its data, to work. Only what is pending when the sender hears of it is
// told of in `queue`.
Status Terminus::post(Work& work, const Ticket& ticket, std::uint32_t count, std::uint64_t length,
                      const SendOptions& options, SendHandle* handle, bool full, Queue* queue) noexcept {
  work.queue = nullptr;
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
  work.element = static_cast<std::uint8_t>(options.element);
  work.left = false;
  work.metadata_length = static_cast<std::uint8_t>(options.metadata.size());
  std::copy(options.metadata.begin(), options.metadata.end(), work.metadata.begin());
  work.held = false;
  work.sequence = ++sent_;
  if (handle != nullptr) *handle = {work.sequence, index_of(work)};
  ++pending_;
  ++counters_.messages;
  counters_.bytes += length;
  counters_.most_pending = std::max<std::uint64_t>(counters_.most_pending, pending_);
  HAMLYN_ASSERT(&work == free_.first(), "the entry that check() has seen free");
  free_.remove(work);
  waiting_.append(work);
  core_.departures().count(1);
  core_.leave_run();
  const Status status = place(work, full);
  if (queue == nullptr) return status;
  if (status != Status::pending) {
    queue->release(1);
  } else {
    work.queue = queue;
    work.word = options.word;
  }
  return status;
}

// In the place that was reserved.
void Terminus::tell(Work& work) noexcept {
  Queue& queue = *std::exchange(work.queue, nullptr);
  Notification notification;
  notification.kind = work.status == Status::ok ? Notification::Kind::sent : Notification::Kind::send_failed;
  notification.cause = work.status == Status::refused ? work.refusal : Refusal::none;
  notification.slot = notification.entry = kNoEntry;
  notification.length = work.length;
  notification.word = work.word;
  notification.peer = work.ticket.interface;
  HAMLYN_ASSERT(queue.reserved() != 0, "the place was reserved when it was posted");
  queue.release(1);  // makes the room that the next line takes
  queue.push(notification, 0);
  if (queue.event_wanted) core_.surroundings().signal(queue);
  core_.surroundings().settled();  // it may be told by a thread that runs nothing
}

void Terminus::forget_queue(const Queue* queue) noexcept {
  for (Work* work = waiting_.first(); work != nullptr; work = waiting_.next(*work)) {
    if (work->queue == queue) work->queue = nullptr;
  }
}

// A message that is to be acknowledged goes on only once there is room to await it: until then others may
// overtake it, and it keeps nobody awake. Those to posted buffers stay in their order: none goes on before
// one that is held, nor, on a link that keeps no order, before all that has left there was taken.
bool Terminus::await_room(Work& work, Link& link) noexcept {
  HAMLYN_ASSERT(!work.held, "what is held waits in a list of its own");
  const auto one_before_is_held = [&] {
    for (const Work* held = held_.first(); held != nullptr; held = held_.next(*held))
      if (held->kind == Work::Kind::posted && held->ticket.interface == work.ticket.interface &&
          held->sequence < work.sequence)
        return true;
    return false;
  };
  bool turn = true;
  if (work.kind == Work::Kind::posted && !link.in_order)
    turn =
        destination_of(link.peer) == nullptr && !one_before_is_held() && link.comes_behind(link.put_count());
  else if (work.kind == Work::Kind::posted && work.acknowledged)
    turn = !one_before_is_held();
  if (turn && (!work.acknowledged || link.acknowledgements.await(work.message))) return true;
  work.held = true;
  held_.append(work);
  core_.count_held(1);
  ++counters_.no_acknowledgement;
  return false;
}

// Sends it, or has it wait for its turn. `full`: its link has just been found to have no room.
Status Terminus::place(Work& work, bool full) noexcept {
  const std::uint64_t peer = work.ticket.interface;
  DestinationQueue* destination = destination_of(peer);
  Link* const link = destination != nullptr ? destination->link : core_.find_link(peer);
  if (link != nullptr && !await_room(work, *link)) return Status::pending;
  work.link = link;
  if (link != nullptr) {
    ++link->departures;
    core_.warm(*link);  // who is sent something may well answer
  }
  LinkLevel* const way = link == nullptr ? nullptr : &link->way(priority_);
  // Direct I/O: straight into the link, unless earlier messages wait there.
  const bool direct = way != nullptr && way->state == LinkLevel::State::idle;
  Status last = full ? Status::queue_full : Status::ok;
  while (direct && last == Status::ok && work.status == Status::pending && !work.lent && !work.left &&
         (work.parts != 0 || work.sent < kDirectBytes))
    last = put_one_packet(work);
  if (work.status != Status::pending || work.lent || work.left) return work.status;
  if (destination == nullptr) {
    destination = &open_destination(peer, link);
    if (way == nullptr) {
      ++counters_.no_link;
      core_.departures().start_without_link(*destination);
    } else {
      counters_.no_room += last == Status::queue_full;
      core_.departures().start(*destination,
                               last == Status::queue_full ? LinkLevel::State::full : LinkLevel::State::ready);
    }
  }
  work.destination = destination;
  destination->works.append(work);
  if (!direct && way != nullptr) core_.departures().run(*way);
  return work.status;
}

// The first packet's delta is what the others, one each, leave of the message's count: 0, or a share of a
// group's (paper 0, section 2.5).
void Terminus::start(Work& work) noexcept {
  if (priority_ == Priority::normal && work.length > work.link->payload_limit()) work.link->want_room();
  HAMLYN_ASSERT(work.link != nullptr && work.packets_left == 0, "a message starts once, on its link");
  work.packet_size = work.link->payload_limit(priority_);
  work.packets_left =
      work.length == 0 ? 1
                       : static_cast<std::uint32_t>((work.length + work.packet_size - 1) / work.packet_size);
}

Status Terminus::put_one_packet(Work& work) noexcept {
  if (work.kind != Work::Kind::message)
    return work.kind == Work::Kind::put ? put_next(work) : put_posted(work);
  if (work.parts != 0) return put_gathered(work);
  if (work.in_place) return put_in_place(work);
  const bool first = work.packets_left == 0;
  const bool asks = first && work.acknowledged;
  if (first) start(work);
  HAMLYN_ASSERT(work.sent <= work.length && work.packet_size != 0, "no more leaves than the message has");
  const std::size_t bytes = std::min(work.packet_size, work.length - work.sent);
  Packet packet;
  set_lead(packet, asks ? Operation::write_acknowledged : Operation::write, bytes,
           first ? work.metadata_length : 0, work.element);
  set_slot(packet, work.ticket);
  packet.offset = work.offset + work.sent;
  set_entry(packet, work.ticket.entry, first ? work.count + 1 - work.packets_left : 1);
  packet.word = message_word(work.message, work.ticket.incarnation);
  const Status status = work.link->put(packet, work.data + work.sent, work.metadata.data(), priority_);
  return packet_left(work, status, bytes, first);
}

// A packet of so many bytes has left, or has not, as `status` says.
Status Terminus::packet_left(Work& work, Status status, std::size_t bytes, bool first) noexcept {
  if (status != Status::ok) {
    if (first) work.packets_left = 0;
    if (status == Status::link_ended) finish(work, status);
    return status;
  }
  work.sent += bytes;
  if (--work.packets_left == 0) {
    if (work.acknowledged) {
      await_delivery(work);
    } else {
      finish(work, Status::ok);
    }
  }
  return Status::ok;
}

void Terminus::finish(Work& work, Status status) noexcept {
  HAMLYN_ASSERT(work.status == Status::pending || work.lent || work.left, "a message is over once");
  HAMLYN_ASSERT(status != Status::pending, "a message that is over says how");
  const bool begun = work.packets_left != 0 || work.packets_sent != 0;
  const bool is_put = work.kind == Work::Kind::put;
  // Half of it has left: its receiver would wait for the rest, or go on remembering that it may come. (What
  // has left whole may have arrived, and its entry may be armed for another.)
  if (begun && !work.lent && !work.left && !is_put &&
      (status == Status::cancelled || (status == Status::refused && is_remembered(work.refusal))))
    abandon(work);
  if (work.kind == Work::Kind::posted && work.packets_left != 0 && of_several(work))
    --posted_under_way(*work.link);
  if (is_put && work.notify && status != Status::ok && work.link != nullptr) give_place_back(work);
  work.status = status;
  if (!work.left) core_.departures().count(-1);
  if (work.left) {
    left_.remove(work);
  } else if (work.lent) {
    HAMLYN_ASSERT(work.link != nullptr && work.link->lent != 0, "a lent buffer is its link's");
    --work.link->lent;
    core_.count_lent(-1);
    lent_.remove(work);
  } else {
    if (work.link != nullptr && work.acknowledged && !begun)
      work.link->acknowledgements.await_no_more(work.message);
    leave_destination(work);
  }
  work.link = nullptr;
  waiting_.remove(work);
  free_.append(work);
  SequenceWord<>::tell(sequence_, waiting_.empty() ? sent_ : waiting_.first()->sequence - 1);
  if (work.queue != nullptr) tell(work);
}

// Says that the rest of a message will not come: of a counted one the sum that its deltas lack, of one to a
// posted buffer the bytes.
void Terminus::abandon(const Work& work) noexcept {
  const bool posted = work.kind == Work::Kind::posted;
  const std::uint32_t rest = posted            ? static_cast<std::uint32_t>(work.length - work.sent)
                             : work.parts == 0 ? work.packets_left
                                               : work.count - work.packets_sent;
  const std::uint64_t whole = posted ? work.length : 0;
  core_.abandon(*work.link, work.ticket, work.message, rest, whole << 32);
}

// --- messages that have left, and wait to be acknowledged

void Terminus::await_delivery(Work& work) noexcept {
  HAMLYN_ASSERT(work.acknowledged && !work.left, "it has left, and once");
  leave_destination(work);
  core_.departures().count(-1);
  work.left = true;
  left_.append(work);
}

void Terminus::delivered(const Link& link, std::uint32_t message, Refusal cause) noexcept {
  const Status status = cause == Refusal::none          ? Status::ok
                        : cause == Refusal::not_durable ? Status::not_durable
                                                        : Status::refused;
  for (Work* work = left_.first(); work != nullptr; work = left_.next(*work)) {
    if (work->link != &link || work->message != message) continue;
    work->refusal = cause;
    return finish(*work, status == Status::refused && work->area_gone ? Status::cancelled : status);
  }
  // A receiver may refuse the first packet while the rest is still here: that cannot be of use any more.
  for (Work* work = waiting_.first(); work != nullptr; work = waiting_.next(*work)) {
    if (work->link == &link && work->message == message &&
        (work->packets_left != 0 || work->packets_sent != 0)) {
      work->refusal = cause;
      return finish(*work, status);
    }
  }
}

bool Terminus::go_on_with_held() noexcept {
  bool moved = false;
  for (Work *work = held_.first(), *next, *const last = held_.last(); work != nullptr; work = next) {
    next = work == last ? nullptr : held_.next(*work);
    held_.remove(*work);
    work->held = false;
    core_.count_held(-1);
    static_cast<void>(place(*work, false));  // its handle says how it ends
    moved |= !work->held;
  }
  return moved;
}

void Terminus::leave_destination(Work& work) noexcept {
  HAMLYN_ASSERT(pending_ != 0, "each message that was posted was counted");
  HAMLYN_ASSERT(work.link == nullptr || work.link->departures != 0, "and at its link");
  --pending_;
  if (work.link != nullptr) --work.link->departures;
  if (std::exchange(work.held, false)) {
    held_.remove(work);
    core_.count_held(-1);
  }
  if (DestinationQueue* destination = std::exchange(work.destination, nullptr)) {
    destination->works.remove(work);
    if (destination->works.empty()) close_destination(*destination);
  }
}

Status Terminus::status(SendHandle handle) const noexcept {
  if (handle.sequence == 0) return Status::ok;
  if (handle.sequence > sent_ || handle.entry >= work_.size()) return Status::invalid;
  const Work& work = work_[handle.entry];
  return handle.sequence == work.sequence ? work.status : Status::ok;  // or long over
}

Refusal Terminus::refusal(SendHandle handle) const noexcept {
  if (handle.sequence == 0 || handle.entry >= work_.size()) return Refusal::none;
  const Work& work = work_[handle.entry];
  return handle.sequence == work.sequence && work.status == Status::refused ? work.refusal : Refusal::none;
}

Status Terminus::cancel(SendHandle handle) noexcept {
  const Status now = status(handle);
  if (now != Status::pending) return now;
  Work& work = work_[handle.entry];
  if (still_read(work)) return Status::pending;
  finish(work, Status::cancelled);
  return Status::ok;
}

void Terminus::link_ended(const Link& link, WhyNoLink why) noexcept {
  for (auto* const works : {&lent_, &left_}) {
    for (Work *work = works->first(), *next; work != nullptr; work = next) {
      next = works->next(*work);
      if (work->link == &link) finish(*work, Status::link_ended);
    }
  }
  end_untold_ |= link.peer == fast_peer_;
  note_no_link(link.peer, why);
  for (LinkWait* wait = link_waits_; wait != nullptr; wait = wait->next)
    wait->ended |= link.peer == wait->peer;
}

bool Terminus::take_end(std::uint64_t peer) noexcept {
  return fast_peer_ == peer && core_.find_link(peer) == nullptr && std::exchange(end_untold_, false);
}

Status Terminus::ask_for_link(std::uint64_t peer) noexcept {
  if (gone_peer_ == peer && peer != 0) return Status::link_ended;
  if (refused_peer_ == peer && peer != 0) {
    refused_peer_ = 0;
    return refused_answer_;
  }
  asked_peer_ = peer;
  core_.surroundings().want_link(peer);
  return Status::connecting;
}

void Terminus::note_no_link(std::uint64_t peer, WhyNoLink why) noexcept {
  if (last_without_link_ != peer || !base::says_less(why, why_no_link_)) why_no_link_ = why;
  last_without_link_ = peer;
  if (peer == fast_peer_ && base::has_gone(why.reason)) gone_peer_ = peer;
}

WhyNoLink Terminus::why_no_link(std::uint64_t peer) const noexcept {
  return last_without_link_ == peer ? why_no_link_ : WhyNoLink{LinkReason::ended, false};
}

void Terminus::link_refused(std::uint64_t peer, WhyNoLink why) noexcept {
  const Status status = base::status_of(why.reason);
  note_no_link(peer, why);
  if (asked_peer_ == peer) {
    refused_peer_ = std::exchange(asked_peer_, 0);
    refused_answer_ = status;
  }
  for (LinkWait* wait = link_waits_; wait != nullptr; wait = wait->next) {
    if (wait->peer != peer) continue;
    wait->refused = true;
    wait->answer = status;
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
  if (wait.refused) forget_answer();  // it was told
}

}  // namespace hamlyn::internal_::interface
