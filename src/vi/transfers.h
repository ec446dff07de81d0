#pragma once
// How a machine's sends, writes and reads leave and end (vi/machine.h).
//
// Work leaves in the order of posting: what has no room holds back what is behind it. A send, and an RDMA
// write with immediate data, is over when it has left, or at reliable reception when the other side has said
// that it stands there. Another write of a reliable VI is over when that has said that it has landed.
#include "vi/machine.h"

namespace hamlyn::internal_::vi {

inline constexpr std::uint32_t kPiece = 65536;  // of an RDMA read, at most

template <class Port>
__attribute__((always_inline)) inline void Machine<Port>::pump(Vi& vi) {
  while (vi.state == State::connected && vi.started != vi.send.posted()) {
    const std::uint64_t number = vi.started;
    const Step step = advance(vi, vi.send.at(number), number);
    if (step == Step::broke) return;
    if (step == Step::waits) return wait_for_room(vi);
    // A break has all come back that was posted, this one too.
    if (vi.started == number) ++vi.started;
  }
}

template <class Port>
__attribute__((always_inline)) inline bool Machine<Port>::send_at_once(Vi& vi, Descriptor* descriptor,
                                                                       MemoryHandle handle) {
  PlainSend send;
  if (vi.state != State::connected || !vi.send.rests() ||
      vi.attributes.reliability == Reliability::reception ||
      !read_plain_send(regions_, vi.attributes.tag, vi.attributes.max_transfer, descriptor, handle, send))
    return false;
  vi.send.make_room();
  const bool left = send.writes ? write_at_once(vi, send)
                                : vi.outlet->send_at_once(vi.other.inbox, send.data,
                                                          word_of({send.immediate, send.has_immediate}));
  if (!left) return false;
  vi.send.add_finished(descriptor, send.writes ? kOfWrite : kOfSend);
  vi.started = vi.send.posted();
  announce(vi, Side::send);
  return true;
}

// False: nothing was done.
template <class Port>
bool Machine<Port>::write_at_once(Vi& vi, const PlainSend& write) {
  const Grant* const grant = vi.other.grants.find(write.remote.handle);
  if (grant == nullptr || !grant->write || !grant->covers(write.remote.address, write.data.size()))
    return false;
  const auto length = static_cast<std::uint32_t>(write.data.size());
  return vi.outlet->tell_at_once(vi.other.inbox, word_of({write.immediate, true, true, length}),
                                 grant->ticket, write.data, write.remote.address - grant->address);
}

template <class Port>
void Machine<Port>::pump_or_wait(Vi& vi) {
  try {
    pump(vi);
  } catch (const std::exception&) {
    vi.started = std::max(vi.started, vi.send.completed());
    wait_for_room(vi);
  }
}

template <class Port>
void Machine<Port>::wait_for_room(Vi& vi) {
  if (vi.restless || vi.state != State::connected) return;
  restless_.push_back(vi.number);
  vi.restless = true;
}

template <class Port>
__attribute__((always_inline)) inline typename Machine<Port>::Step Machine<Port>::advance(
    Vi& vi, Work& work, std::uint64_t number) {
  if ((work.status & kErrors) != 0) [[unlikely]] {
    // Earlier work ends first, and so do pieces that were asked for.
    if (vi.send.completed() != number || work.parts != 0) return Step::waits;
    finish(vi, Side::send, number, 0, 0);
    return vi.state == State::connected ? Step::left : Step::broke;
  }
  if ((work.control & kQueueFence) != 0 && vi.send.reads_before(number)) return Step::waits;
  switch (work.operation()) {
    case kRdmaWrite:
      return write(vi, work, number);
    case kRdmaRead:
      return read(vi, work, number);
    default:
      return send(vi, work, number, gathered(work),
                  {work.has_immediate() ? work.immediate : 0, work.has_immediate()});
  }
}

template <class Port>
__attribute__((always_inline)) inline typename Machine<Port>::Step Machine<Port>::send(
    Vi& vi, Work& work, std::uint64_t number, std::span<const std::byte> data, const SendWord& word) {
  const bool acknowledged = vi.attributes.reliability == Reliability::reception;
  const Status status =
      vi.outlet->send(vi.other.inbox, data, word_of(word), acknowledged, token(vi, number), work.handle);
  return taken(vi, work, number, status);
}

// Notes that work has left, is under way, or cannot be taken now, as `status` says.
template <class Port>
__attribute__((always_inline)) inline typename Machine<Port>::Step Machine<Port>::taken(Vi& vi, Work& work,
                                                                                        std::uint64_t number,
                                                                                        Status status) {
  if (status == Status::ok) [[likely]] {
    work.handle = {};
    finish_here(vi, Side::send, work, 0, work.length);
    return Step::left;
  }
  if (status == Status::pending) {
    work.phase = Work::Phase::under_way;
    return Step::left;
  }
  return refused(vi, number, status);
}

// Nothing was taken.
template <class Port>
typename Machine<Port>::Step Machine<Port>::refused(Vi& vi, std::uint64_t number, Status status) {
  switch (status) {
    case Status::queue_full:
    case Status::connecting:
    case Status::no_place:
      return Step::waits;
    default:
      finish(vi, Side::send, number, kTransportError, 0);
      if (vi.state == State::connected) break_off(vi, Reason::broken);
      return Step::broke;
  }
}

template <class Port>
const Grant* Machine<Port>::right_for(Vi& vi, Work& work, std::uint64_t number, Step& step) {
  const MemoryHandle handle = work.remote.handle;
  const Grant* const grant = vi.other.grants.find(handle);
  if (grant != nullptr) {
    const bool may = work.operation() == kRdmaWrite ? grant->write : grant->read;
    if (may && grant->covers(work.remote.address, work.length)) return grant;
  } else if (vi.other.denied != handle) {
    step = Step::waits;
    if (vi.other.asked == handle) return nullptr;
    Message message = to_other(vi, Say::ask);
    message.handle = handle;
    outbox_.add(vi.other.door, message);
    vi.other.asked = handle;
    return nullptr;
  }
  step = Step::waits;
  if (vi.send.completed() != number || work.parts != 0) return nullptr;  // what was asked for ends first
  if (vi.reliable() || work.operation() == kRdmaRead) {
    finish(vi, Side::send, number, kRdmaProtectionError, 0);
    step = vi.state == State::connected ? Step::left : Step::broke;
  } else {
    step = drop(vi, work, number);
  }
  if (step != Step::waits) vi.other.denied = 0;
  return nullptr;
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::drop(Vi& vi, Work& work, std::uint64_t number) {
  cancel(vi, work);
  const Status status = vi.outlet->tell(vi.other.inbox, 0, {}, {}, 0, false, token(vi, number), work.handle);
  if (status != Status::ok && status != Status::pending) return refused(vi, number, status);
  work.handle = {};
  finish(vi, Side::send, number, 0, work.length);
  return Step::left;
}

// The news that it is over, or of another in its place, is on its way, or was lost: it is asked for.
template <class Port>
typename Machine<Port>::Step Machine<Port>::right_is_over(Vi& vi, const Work& work) {
  vi.other.grants.erase(work.remote.handle);
  return Step::waits;
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::put(Vi& vi, Work& work, std::uint64_t number,
                                                const Grant& grant) {
  const std::span<const std::byte> data = gathered(work);
  if (data.empty()) {
    finish(vi, Side::send, number, 0, 0);
    return Step::left;
  }
  const Status status = vi.outlet->put(grant.ticket, data, work.remote.address - grant.address, work.handle);
  if (status == Status::ok) work.handle = {};
  if (status == Status::refused || status == Status::stale) return right_is_over(vi, work);
  if (status != Status::ok && status != Status::pending) return refused(vi, number, status);
  if (status == Status::ok && !vi.reliable())
    finish(vi, Side::send, number, 0, work.length);
  else
    work.phase = Work::Phase::written;
  return Step::left;
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::write_and_tell(Vi& vi, Work& work, std::uint64_t number,
                                                           const Grant& grant) {
  const bool acknowledged = vi.attributes.reliability == Reliability::reception;
  const SendWord word{work.immediate, true, true, work.length};
  const Status status =
      vi.outlet->tell(vi.other.inbox, word_of(word), grant.ticket, gathered(work),
                      work.remote.address - grant.address, acknowledged, token(vi, number), work.handle);
  return status == Status::refused ? right_is_over(vi, work) : taken(vi, work, number, status);
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::write(Vi& vi, Work& work, std::uint64_t number) {
  Step step = Step::left;
  const Grant* const grant = right_for(vi, work, number, step);
  if (grant == nullptr) return step;
  if (work.has_immediate()) return write_and_tell(vi, work, number, *grant);
  if (work.phase == Work::Phase::posted) {
    step = put(vi, work, number, *grant);
    if (step != Step::left || work.phase == Work::Phase::finished) return step;
  }
  const Status status = vi.outlet->fence(grant->ticket, token(vi, number));
  if (status != Status::pending) return refused(vi, number, status);
  work.phase = Work::Phase::landing;
  return Step::left;
}

template <class Port>
typename Port::Window* Machine<Port>::landing_for(Vi& vi, const Segment& segment) {
  Memory& region = *regions_.find(segment.handle);
  auto& landing = vi.other.landings[segment.handle];
  if (landing == nullptr && open_to_others(region))
    landing = port_.make_window(*region.area, {region.address, region.length}, false, false);
  return landing.get();
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::get_piece(Vi& vi, Work& work, std::uint64_t number,
                                                      const Grant& grant) {
  std::uint32_t before = 0;
  const Segment* segment = work.segments.begin();
  for (; before + segment->length <= work.asked; ++segment) before += segment->length;
  const std::uint32_t inside = work.asked - before;
  const std::uint32_t length = std::min(segment->length - inside, kPiece);
  auto* const landing = landing_for(vi, *segment);
  if (landing == nullptr) return refused(vi, number, Status::no_buffer);
  const auto base = reinterpret_cast<std::uintptr_t>(regions_.find(segment->handle)->address);
  const Status status = vi.outlet->get(grant.ticket, work.remote.address - grant.address + work.asked,
                                       *landing, segment->address + inside - base, length, token(vi, number));
  if (status != Status::pending) return refused(vi, number, status);
  work.asked += length;
  ++work.parts;
  return Step::left;
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::read(Vi& vi, Work& work, std::uint64_t number) {
  Step step = Step::left;
  const Grant* const grant = right_for(vi, work, number, step);
  if (grant == nullptr) return step;
  while (work.asked != work.length) {
    step = get_piece(vi, work, number, *grant);
    if (step != Step::left) return step;
  }
  if (work.length == 0)
    finish(vi, Side::send, number, 0, 0);
  else if (work.parts == 0)
    end_part(vi, work, number, 0);
  else
    work.phase = Work::Phase::under_way;
  return Step::left;
}

// A part of what was under way is over.
template <class Port>
void Machine<Port>::end_part(Vi& vi, Work& work, std::uint64_t number, std::uint32_t errors) {
  work.status |= errors;
  if (work.operation() == kRdmaRead && (work.parts != 0 || work.asked != work.length)) return;
  const bool failed = (work.status & kErrors) != 0;
  finish(vi, Side::send, number, 0, failed ? 0 : work.length);
}

// Errors of a part that has failed, of what is under way.
constexpr std::uint32_t errors_of(std::uint16_t operation, Refusal cause) noexcept {
  if (cause == Refusal::none) return kTransportError;
  if (cause == Refusal::no_buffer) return kRemoteDescriptorError;
  if (operation != 0) return kRdmaProtectionError;
  return cause == Refusal::too_long ? kLengthError : kRemoteDescriptorError;
}

template <class Port>
void Machine<Port>::hear_end(const Notification& end) {
  Vi* const vi = vis_.find(static_cast<std::uint32_t>(end.word >> 31));
  if (vi == nullptr) return;
  const std::uint64_t low = end.word & kTokenNumber;
  const std::uint64_t number = vi->send.completed() + ((low - vi->send.completed()) & kTokenNumber);
  if (!vi->send.goes_on(number)) return;
  Work& work = vi->send.at(number);
  const bool failed =
      end.kind == Notification::Kind::send_failed || end.kind == Notification::Kind::remote_failed;
  std::uint32_t errors = failed ? errors_of(work.operation(), end.cause) : 0;
  const bool over = end.cause == Refusal::bad_key || end.cause == Refusal::stale_generation;
  if (failed && over && work.operation() != 0)
    vi->other.grants.erase(work.remote.handle);  // whoever wants the right asks anew
  if (work.operation() == kRdmaRead) --work.parts;
  if (work.operation() == kRdmaWrite && !vi->reliable()) errors = 0;  // what was dropped is dropped
  work.handle = {};
  end_part(*vi, work, number, errors);
  wait_for_room(*vi);
}

}  // namespace hamlyn::internal_::vi
