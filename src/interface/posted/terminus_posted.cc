// Messages to posted buffers, as they leave: a terminus names the slot, and the receiving interface the
// buffer.
#include "base/assert.h"
#include "interface/packets/posted_packet.h"
#include "interface/terminus.h"

namespace hamlyn::internal_::interface {

Status Terminus::send_posted(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                             const SendOptions& options, SendHandle* handle, Queue* queue) noexcept {
  if (handle != nullptr) *handle = {};
  if (invalid(ticket) != nullptr || !ticket.posted() || !options.metadata.empty() || options.offset != 0 ||
      options.element != 0)
    return Status::invalid;
  if (data.size() > 0xFFFFFFFFu) return Status::too_long;
  if (free_.empty()) {
    ++counters_.no_entry;
    return Status::queue_full;
  }
  const Status tried = posted_at_once(ticket, data, word, options, handle);
  if (tried == Status::ok) return tried;
  if (queue != nullptr && queue->reserve(1) == 0) return Status::no_place;
  Work& work = *free_.first();
  work.data = data.data();
  work.parts = 0;
  work.in_place = work.from_area = work.area_gone = false;
  work.kind = Work::Kind::posted;
  work.telling = false;
  work.posted_word = word;
  return post(work, ticket, 0, data.size(), options, handle, tried == Status::queue_full, queue);
}

// A message of one packet that waits for nothing and nobody, as send_at_once.
Status Terminus::posted_at_once(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                                const SendOptions& options, SendHandle* handle) noexcept {
  Link* const link = core_.find_link(ticket.interface);
  if (link == nullptr || options.acknowledged || !link->in_order ||
      link->way(priority_).state != LinkLevel::State::idle || messages_wait_for(*link) ||
      data.size() > link->payload_limit(priority_)) {
    return Status::pending;
  }
  const auto length = static_cast<std::uint32_t>(data.size());
  Packet packet;
  set_lead(packet, Operation::write, length, 0);
  set_slot(packet, ticket);
  set_posted(packet,
             {.at = 0, .length = length, .total = length, .message = core_.next_message(), .word = word});
  const Status status = link->put(packet, data.data(), nullptr, priority_);
  if (status != Status::ok) [[unlikely]]
    return status;
  left_at_once(*link, length, handle);
  if (priority_ == Priority::normal)
    last_posted_ = {ticket.interface, slot_word(ticket), ticket.key, link->local()};
  return Status::ok;
}

Status Terminus::put_posted(Work& work) noexcept {
  if (work.telling) return put_telling(work);
  const bool first = work.packets_left == 0;
  if (first) start(work);
  std::uint32_t& under_way = posted_under_way(*work.link);
  if (first && of_several(work) && under_way == kPostedOfLevel) {
    work.packets_left = 0;
    return Status::pending;  // others have their turns first
  }
  HAMLYN_ASSERT(work.sent <= work.length && work.packet_size != 0, "no more leaves than the message has");
  const auto bytes = static_cast<std::uint32_t>(std::min(work.packet_size, work.length - work.sent));
  Packet packet;
  set_lead(packet, first && work.acknowledged ? Operation::write_acknowledged : Operation::write, bytes, 0);
  set_slot(packet, work.ticket);
  set_posted(packet, {.at = static_cast<std::uint32_t>(work.sent),
                      .length = bytes,
                      .total = static_cast<std::uint32_t>(work.length),
                      .message = work.message,
                      .word = work.posted_word});
  const Status status = work.link->put(packet, work.data + work.sent, nullptr, priority_);
  if (status == Status::ok && of_several(work)) {
    if (first) ++under_way;
    if (work.packets_left == 1) --under_way;
  }
  return packet_left(work, status, bytes, first);
}

}  // namespace hamlyn::internal_::interface
