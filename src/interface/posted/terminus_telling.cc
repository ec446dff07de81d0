// Puts of which a posted buffer tells, as they leave (telling.cc has how they come). The last packet tells;
// those before it are puts, as of any longer one. Nothing need be heard of them before it leaves: what was
// refused of them has it refused, too.
#include <algorithm>

#include "interface/packets/posted_packet.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

Status Terminus::put_telling(const Ticket& to, std::uint64_t word, const Ticket& at,
                             std::span<const std::byte> data, std::uint64_t offset,
                             const SendOptions& options, SendHandle* handle, Queue* queue) noexcept {
  if (handle != nullptr) *handle = {};
  const bool without_right = at.interface == 0;
  if (invalid(to) != nullptr || !to.posted() || !options.metadata.empty() ||
      (without_right ? !data.empty() : at.interface != to.interface))
    return Status::invalid;
  if (data.size() > 0xFFFFFFFFu) return Status::too_long;
  SendCredit* credit = nullptr;
  if (!without_right) {
    const Status wrong = check_put(at, data, {.offset = offset});
    if (wrong != Status::ok) return wrong;
    if (data.size() > kPutSpan - (at.base + offset)) return Status::out_of_bounds;
    const Status way = find_way(at, credit);
    if (way != Status::ok) return way == Status::stale ? Status::refused : way;
  }
  if (free_.empty()) {
    ++counters_.no_entry;
    return Status::queue_full;
  }
  const std::uint64_t opening = without_right ? kNoRight : credit->opening;
  const std::uint64_t place = without_right ? 0 : at.base + offset;
  const Status tried = telling_at_once(to, word, telling_where(opening, place), data, options, handle);
  if (tried == Status::ok) return tried;
  if (queue != nullptr && queue->reserve(1) == 0) return Status::no_place;
  Work& work = *free_.first();
  work.data = data.data();
  work.parts = 0;
  work.in_place = work.from_area = work.area_gone = false;
  work.kind = Work::Kind::posted;
  work.telling = true;
  work.posted_word = word;
  work.credit = credit;
  work.opening = opening;
  work.strided = false;
  SendOptions as_message = options;
  as_message.offset = place - to.base;
  return post(work, to, 0, data.size(), as_message, handle, tried == Status::queue_full, queue);
}

// One packet that waits for nothing and nobody, as posted_at_once.
Status Terminus::telling_at_once(const Ticket& to, std::uint64_t word, std::uint64_t where,
                                 std::span<const std::byte> data, const SendOptions& options,
                                 SendHandle* handle) noexcept {
  Link* const link = core_.find_link(to.interface);
  if (link == nullptr || options.acknowledged || !link->in_order ||
      link->way(priority_).state != LinkLevel::State::idle || messages_wait_for(*link) ||
      data.size() > link->payload_limit(priority_)) {
    return Status::pending;
  }
  Packet packet;
  set_lead(packet, Operation::write, data.size(), 0);
  set_slot(packet, to);
  packet.offset = where;
  set_word(packet, kEntryWord, telling_entry_word(word));
  packet.word = telling_user_word(core_.next_message(), word);
  const Status status = link->put(packet, data.data(), nullptr, priority_);
  if (status != Status::ok) return status;
  left_at_once(*link, data.size(), handle);
  if (priority_ == Priority::normal) last_posted_ = {to.interface, slot_word(to), to.key, link->local()};
  return Status::ok;
}

// A packet of data that one more is to follow.
Status Terminus::put_before_telling(Work& work) noexcept {
  Link& link = *work.link;
  if (priority_ == Priority::normal) link.want_room();
  const std::size_t bytes = next_put(work);
  Packet packet{};
  set_lead(packet, Operation::put_block, bytes, 0);
  set_word(packet, kSlotWord, put_word(work.opening, kAnnounced, false, 0));
  packet.offset = work.offset + work.sent;
  const Status status = link.put(packet, work.data + work.sent, nullptr, priority_);
  if (status == Status::link_ended) finish(work, status);
  if (status != Status::ok) return status;
  work.sent += bytes;
  work.mark = link.put_count();
  return Status::ok;
}

// Until its last packet leaves a telling put has asked for no acknowledgement, and nothing is to be abandoned
// of it: for its receiver it has not begun.
Status Terminus::put_telling(Work& work) noexcept {
  Link& link = *work.link;
  const std::size_t rest = work.length - work.sent;
  if (rest > link.payload_limit(priority_)) return put_before_telling(work);
  if (work.sent != 0 && !link.comes_behind(work.mark)) return Status::queue_full;
  Packet packet;
  set_lead(packet, work.acknowledged ? Operation::write_acknowledged : Operation::write, rest, 0);
  set_slot(packet, work.ticket);
  packet.offset = telling_where(work.opening, work.offset + work.sent);
  set_word(packet, kEntryWord, telling_entry_word(work.posted_word));
  packet.word = telling_user_word(work.message, work.posted_word);
  const Status status = link.put(packet, work.data + work.sent, nullptr, priority_);
  if (status == Status::link_ended) finish(work, status);
  if (status != Status::ok) return status;
  work.sent = work.length;
  if (work.acknowledged)
    await_delivery(work);
  else
    finish(work, Status::ok);
  return Status::ok;
}

}  // namespace hamlyn::internal_::interface
