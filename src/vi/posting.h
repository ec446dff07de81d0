#pragma once
// How descriptors are posted (vi/machine.h), and a VI's inbox, whose buffers its receives are.
#include "vi/machine.h"

namespace hamlyn::internal_::vi {

template <class Port>
inline Result Machine<Port>::post_send(std::uint32_t number, Descriptor* descriptor, MemoryHandle handle) {
  Vi* const vi = vis_.find(number);
  if (vi == nullptr || descriptor == nullptr) return Result::invalid_parameter;
  if (vi->state == State::idle || vi->state == State::connect_pending) return Result::invalid_state;
  if (vi->send.full()) return Result::error_resource;
  if (send_at_once(*vi, descriptor, handle)) return Result::success;
  Work& work = vi->send.next();
  if (!read_descriptor(regions_, vi->attributes.tag, vi->attributes.max_transfer, Side::send, descriptor,
                       handle, work))
    return misplaced(*vi, descriptor, kOfSend);
  vi->send.post();
  if (vi->state == State::error)
    flush(*vi, Side::send);
  else
    pump_or_wait(*vi);
  return Result::success;
}

template <class Port>
inline Result Machine<Port>::post_receive(std::uint32_t number, Descriptor* descriptor, MemoryHandle handle) {
  Vi* const vi = vis_.find(number);
  if (vi == nullptr || descriptor == nullptr) return Result::invalid_parameter;
  if (vi->receive.full()) return Result::error_resource;
  if (post_plain_receive(*vi, descriptor, handle)) [[likely]]
    return Result::success;
  Work& work = vi->receive.next();
  if (!read_descriptor(regions_, vi->attributes.tag, vi->attributes.max_transfer, Side::receive, descriptor,
                       handle, work))
    return misplaced(*vi, descriptor, kOfReceive);
  if (vi->state != State::error && (work.status & kErrors) == 0 && !post_as(*vi, work, vi->receive.posted()))
    return Result::error_resource;
  const std::uint64_t posted = vi->receive.post();
  if (vi->state == State::error)
    flush(*vi, Side::receive);
  else if ((work.status & kErrors) != 0)
    finish(*vi, Side::receive, posted, 0, 0);
  return Result::success;
}

// --- inboxes

template <class Port>
void Machine<Port>::open_inbox(Vi& vi) {
  vi.inbox = port_.make_inbox(kMostDescriptors, vi.reliable());
  const std::size_t index = Port::index_of(vi.inbox->number());
  if (by_inbox_.size() <= index) by_inbox_.resize(index + 1);
  by_inbox_[index] = {vi.inbox->number(), vi.number};
}

template <class Port>
void Machine<Port>::close_inbox(Vi& vi) noexcept {
  if (vi.inbox == nullptr) return;
  by_inbox_[Port::index_of(vi.inbox->number())] = {};
  vi.inbox.reset();
}

template <class Port>
bool Machine<Port>::reopen_inbox(Vi& vi) noexcept {
  close_inbox(vi);
  try {
    open_inbox(vi);
    if (post_again(vi)) return true;
  } catch (const std::exception&) {  // as if a buffer could not be posted
  }
  close_inbox(vi);
  return false;
}

template <class Port>
bool Machine<Port>::post_again(Vi& vi) {
  for (std::uint64_t number = vi.receive.completed(); number != vi.receive.posted(); ++number) {
    Work& work = vi.receive.at(number);
    if (work.phase != Work::Phase::finished && !post_as(vi, work, number)) return false;
  }
  return true;
}

template <class Port>
bool Machine<Port>::post_as(Vi& vi, Work& work, std::uint64_t number) {
  if (vi.inbox == nullptr) return false;
  std::array<std::span<std::byte>, Port::kMostPieces> pieces;
  if (work.segments.size() <= pieces.size()) {
    std::ranges::transform(work.segments, pieces.begin(), bytes_of);
    return vi.inbox->post(std::span(pieces).first(work.segments.size()), number) == Status::ok;
  }
  work.buffer.resize(work.length);
  pieces[0] = work.buffer;
  return vi.inbox->post(std::span(pieces).first(1), number) == Status::ok;
}

template <class Port>
__attribute__((always_inline)) inline bool Machine<Port>::post_plain_receive(Vi& vi, Descriptor* descriptor,
                                                                             MemoryHandle handle) {
  std::uint16_t control = 0;
  Segment segment;
  if (vi.state == State::error || vi.inbox == nullptr ||
      !read_plain(regions_, vi.attributes.tag, vi.attributes.max_transfer, descriptor, handle, control,
                  segment))
    return false;
  Work& work = vi.receive.next();
  const std::span<std::byte> bytes = bytes_of(segment);
  if (vi.inbox->post({&bytes, 1}, vi.receive.posted()) != Status::ok) return false;
  work.descriptor = descriptor;
  work.own = handle;
  work.control = control;
  work.status = 0;
  work.length = segment.length;
  work.segments.clear();
  work.segments.add(segment);
  vi.receive.post();
  return true;
}

}  // namespace hamlyn::internal_::vi
