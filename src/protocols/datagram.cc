#include "hamlyn/protocols/datagram.h"

#include <array>
#include <cstring>

#include "library/with_memory.h"
#include "protocols/datagram_wire.h"
#include "protocols/dispatcher.h"
#include "protocols/seeds.h"

namespace hamlyn {

using protocols::DatagramReply;
using protocols::Dispatcher;

DatagramReceiver::DatagramReceiver(Manager& manager, std::size_t bytes) try
    : Receiver(manager),
      area_(manager.interface(), bytes),
      slot_(area_, manager.queue(), {.entries = 1, .fast = false}) {
  attach(slot_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a receiver of datagrams");
}

DatagramReceiver::~DatagramReceiver() { retire(); }

Seed DatagramReceiver::make_seed() const { return protocols::make_seed(slot_.ticket(0), SeedKind::datagram); }

bool DatagramReceiver::ready() const noexcept {
  const Dispatcher::Guard guard(const_cast<DatagramReceiver*>(this)->manager().inside());
  return guard && state_ == State::ready;
}

Status DatagramReceiver::make_ready() noexcept {
  const Dispatcher::Guard guard(manager().inside());
  if (!guard) return Status::forked;
  if (state_ == State::ready) return Status::ok;
  if (state_ == State::arrived) return Status::invalid;
  const Status status = slot_.arm(0);
  if (status == Status::ok) state_ = State::ready;
  return status;
}

void DatagramReceiver::process_arrival(const Notification& arrival) {
  arrived_ = arrival;
  state_ = State::arrived;
}

Status DatagramReceiver::take(Datagram& out) noexcept {
  if (state_ != State::arrived) return Status::pending;
  state_ = State::taken;
  out = {};
  out.sender = arrived_.peer;
  out.offset = arrived_.offset;
  if (arrived_.kind == Notification::Kind::failed)
    return arrived_.failure() == Failure::abandoned ? Status::abandoned : Status::link_ended;
  out.bytes = slot_.bytes(arrived_);
  out.reply = protocols::reply_of(slot_.metadata(0), arrived_.peer);
  return Status::ok;
}

Status DatagramReceiver::receive(Datagram& out, std::chrono::nanoseconds timeout) noexcept {
  return manager().inside().receive(
      *this, [&] { return take(out); }, timeout);
}

// --- the sender

DatagramSender::DatagramSender(Manager& manager, const Seed& seed)
    : manager_(manager), ticket_(seed.ticket), terminus_(manager.interface()) {
  protocols::check_seed(seed, SeedKind::datagram);
}

Status DatagramSender::post(std::span<const std::byte> data, const DatagramOptions& options,
                            bool acknowledged, SendHandle* handle) noexcept {
  if (data.size() > ticket_.bound) return Status::too_long;
  SendOptions how{.offset = options.offset, .acknowledged = acknowledged};
  if (options.reply == nullptr) return terminus_.send(ticket_, data, how, handle);
  if (&const_cast<DatagramReceiver*>(options.reply)->manager() != &manager_) return Status::invalid;
  try {
    const DatagramReply reply = protocols::in_wire_order(DatagramReply(options.reply->make_seed().ticket));
    how.metadata = std::as_bytes(std::span{&reply, 1});
    return terminus_.send(ticket_, data, how, handle);
  } catch (const Error&) {
    return Status::forked;
  }
}

Status DatagramSender::send(std::span<const std::byte> data, const DatagramOptions& options,
                            SendHandle* handle) noexcept {
  return post(data, options, false, handle);
}

Status DatagramSender::status(SendHandle handle) noexcept { return terminus_.status(handle); }

Status DatagramSender::deliver(std::span<const std::byte> data, const DatagramOptions& options,
                               std::chrono::nanoseconds timeout) noexcept {
  if (const Dispatcher::Guard guard(manager_.inside()); !guard || guard.nested())
    return guard ? Status::invalid : Status::forked;
  library::PendingCall call(manager_.inside().waiting, terminus_.calls());
  if (!call.enter()) return Status::forked;
  SendHandle handle;
  Status status = post(data, options, true, &handle);
  if (status == Status::pending) {
    manager_.inside().settle_before_other_wait();
    status = terminus_.wait(handle, timeout);
  }
  // Cannot fail: no part of it lies in an area that the receiver still reads.
  if (status == Status::timed_out || status == Status::cancelled) static_cast<void>(terminus_.cancel(handle));
  if (status != Status::refused) return status;
  switch (terminus_.refusal(handle)) {
    case Refusal::entry_not_armed:
    case Refusal::entry_busy:
    case Refusal::stale_message:  // it became ready in the middle of what it had begun to refuse
      return Status::not_ready;
    case Refusal::out_of_bounds:
      return Status::out_of_bounds;
    default:
      return Status::refused;
  }
}

}  // namespace hamlyn
