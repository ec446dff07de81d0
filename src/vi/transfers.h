#pragma once
// How a machine's sends, writes and reads leave and end (vi/machine.h).
//
// Work leaves in the order of posting: what has no room holds back what is behind it. A write that somebody
// is to be told of, and every write of a reliable VI, is over when the other side has said that it has
// landed.
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
  Work& work = vi.send.next();
  if (!vi.outlet->send_at_once(vi.other.inbox, send.data, word_of({send.immediate, send.has_immediate})))
    return false;
  vi.send.add_finished(work, descriptor, kOfSend);
  vi.started = vi.send.posted();
  announce(vi, Side::send);
  return true;
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
  const auto grant = vi.other.grants.find(handle);
  if (grant != vi.other.grants.end()) {
    const bool may = work.operation() == kRdmaWrite ? grant->second.write : grant->second.read;
    if (may && grant->second.covers(work.remote.address, work.length)) return &grant->second;
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
  vi.other.denied = 0;
  // A sender on an unreliable VI hears nothing.
  const bool told = vi.reliable() || work.operation() == kRdmaRead;
  finish(vi, Side::send, number, told ? kRdmaProtectionError : 0, told ? 0 : work.length);
  step = vi.state == State::connected ? Step::left : Step::broke;
  return nullptr;
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::put(Vi& vi, Work& work, std::uint64_t number,
                                                const Grant& grant) {
  const std::span<const std::byte> data = gathered(work);
  if (!data.empty()) {
    const Status status =
        vi.outlet->put(grant.ticket, data, work.remote.address - grant.address, work.handle);
    if (status == Status::ok) work.handle = {};
    if (status == Status::refused) {  // the news that the right is over is on its way, or was lost
      vi.other.grants.erase(work.remote.handle);
      finish(vi, Side::send, number, vi.reliable() ? kRdmaProtectionError : 0, 0);
      return vi.state == State::connected ? Step::left : Step::broke;
    }
    if (status != Status::ok && status != Status::pending) return refused(vi, number, status);
    if (status == Status::ok && !vi.reliable() && !work.has_immediate()) {
      finish(vi, Side::send, number, 0, work.length);
      return Step::left;
    }
  }
  work.phase = data.empty() ? Work::Phase::landed : Work::Phase::written;
  return Step::left;
}

template <class Port>
typename Machine<Port>::Step Machine<Port>::write(Vi& vi, Work& work, std::uint64_t number) {
  using Phase = Work::Phase;
  if (work.phase == Phase::posted || work.phase == Phase::written) {
    Step step = Step::left;
    const Grant* const grant = right_for(vi, work, number, step);
    if (grant == nullptr) return step;
    if (work.phase == Phase::posted) {
      step = put(vi, work, number, *grant);
      if (step != Step::left || work.phase == Phase::finished) return step;
    }
    if (work.phase == Phase::written) {
      const Status status = vi.outlet->fence(grant->ticket, token(vi, number));
      if (status != Status::pending) return refused(vi, number, status);
      work.phase = Phase::landing;
    }
  }
  if (work.phase == Phase::landing && work.has_immediate()) return Step::waits;
  if (work.phase == Phase::landed && work.has_immediate())
    return send(vi, work, number, {}, {work.immediate, true, true, work.length});
  if (work.phase == Phase::landed) finish(vi, Side::send, number, 0, work.length);
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
  if (failed && (end.cause == Refusal::bad_key || end.cause == Refusal::stale_generation) &&
      (work.operation() == kRdmaRead || work.phase == Work::Phase::landing))
    vi->other.grants.erase(work.remote.handle);  // whoever wants the right asks anew
  if (work.operation() == kRdmaWrite && work.phase == Work::Phase::landing) {
    if (!vi->reliable()) errors = 0;  // what was dropped is dropped
    if (errors == 0 && work.has_immediate() && !failed) {
      work.phase = Work::Phase::landed;
      return wait_for_room(*vi);
    }
    // A write that tells is still the first: it goes on behind it.
    if (number == vi->started) ++vi->started;
  } else if (work.operation() == kRdmaRead) {
    --work.parts;
  } else if (work.operation() == kRdmaWrite && failed) {
    errors = kRemoteDescriptorError;  // it has landed, and there was no descriptor for its immediate data
  }
  work.handle = {};
  end_part(*vi, work, number, errors);
  wait_for_room(*vi);
}

}  // namespace hamlyn::internal_::vi
