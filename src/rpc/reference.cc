#include "hamlyn/rpc/reference.h"

#include <algorithm>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "library/with_memory.h"
#include "rpc/reference_reach.h"
#include "rpc/server_inside.h"

namespace hamlyn {

namespace internal_::rpc {

// --- the client's side: a slot for each part, with a key of its own

struct Lending::Inside {
  Inside(MessageArea& area, NotificationQueue& queue, const SlotOptions& options)
      : slot(area, queue, options) {
    if (options.puts) static_cast<void>(slot.set_control(Control::never));  // cannot fail: it takes puts
  }
  Slot slot;
};

Lending::Lending(std::unique_ptr<Inside> inside) noexcept : inside_(std::move(inside)) {}
Lending::Lending(Lending&&) noexcept = default;
Lending& Lending::operator=(Lending&&) noexcept = default;
Lending::~Lending() = default;

namespace {

// --- the server's side

// A ticket for what the caller has lent: at its own interface, whatever it says.
Ticket ticket_of(const LentPart& part, const Serving& serving) noexcept {
  const Ticket& replies = serving.call->client->replies;
  Ticket out;
  out.interface = replies.interface;
  out.host = replies.host;
  out.slot = part.slot;
  out.generation = part.generation;
  out.key = part.key;
  out.bound = part.length;
  return out;
}

// Calls what(reach, ticket, patience) if so many bytes are there.
template <class What>
Status reach(const LentPart& part, const Serving& serving, std::size_t offset, std::size_t length,
             std::chrono::nanoseconds timeout, What what) noexcept {
  if (serving.server == nullptr) return Status::refused;  // nothing is lent over datagrams
  if (offset > part.length || length > part.length - offset) return Status::out_of_bounds;
  if (length == 0) return Status::ok;
  const Ticket ticket = ticket_of(part, serving);
  if (invalid(ticket) != nullptr) return Status::refused;
  std::chrono::nanoseconds most = timeout;
  if (serving.own.deadline != Clock::time_point::max())
    most = std::min<std::chrono::nanoseconds>(most, serving.own.deadline - Clock::now());
  library::Patience patience(std::max(most, std::chrono::nanoseconds{0}));
  return what(serving.server->reach, ticket, patience);
}

}  // namespace

}  // namespace internal_::rpc

namespace rpc {

Status Readable::read(const Call& call, std::size_t offset, std::span<std::byte> into,
                      std::chrono::nanoseconds timeout) const noexcept {
  return internal_::rpc::reach(part_, call.serving(), offset, into.size(), timeout,
                               [&](auto& reach, const Ticket& ticket, library::Patience& patience) {
                                 return reach.read(ticket, offset, into, patience);
                               });
}

Status Writable::write(const Call& call, std::size_t offset, std::span<const std::byte> from,
                       std::chrono::nanoseconds timeout) const noexcept {
  return internal_::rpc::reach(part_, call.serving(), offset, from.size(), timeout,
                               [&](auto& reach, const Ticket& ticket, library::Patience& patience) {
                                 return reach.write(ticket, offset, from, patience);
                               });
}

// --- the memory

struct Lendable::Inside {
  Inside(Interface& interface, std::size_t bytes) : queue(interface, 64), area(interface, bytes) {}
  NotificationQueue queue;
  MessageArea area;
};

Lendable::Lendable(Interface& interface, std::size_t bytes) try
    : inside_(std::make_unique<Inside>(interface, bytes)) {
} catch (const std::bad_alloc&) {
  internal_::library::throw_no_memory("memory to be lent to calls");
}
Lendable::~Lendable() = default;

std::span<std::byte> Lendable::bytes() noexcept { return inside_->area.bytes(); }

internal_::rpc::Lending Lendable::lend(std::size_t offset, std::size_t length, bool to_write,
                                       internal_::rpc::LentPart& part) {
  using internal_::rpc::Lending;
  if (length == 0) throw Error(ErrorCode::invalid_argument, "a part that is lent has bytes");
  SlotOptions options{.base = offset, .bound = length, .fast = false};
  options.access = to_write ? Access::write_only : Access::read_only;
  options.gets = to_write ? 0 : static_cast<std::uint32_t>(internal_::rpc::kPiece);
  options.puts = to_write;
  options.hold = 0;
  try {
    auto inside = std::make_unique<Lending::Inside>(inside_->area, inside_->queue, options);
    const Ticket ticket = inside->slot.ticket();
    part = {ticket.slot, ticket.generation, ticket.key, length};
    return Lending(std::move(inside));
  } catch (const std::bad_alloc&) {
    internal_::library::throw_no_memory("a part of memory that is lent");
  }
}

Lent<Readable> Lendable::readable(std::size_t offset, std::size_t length) {
  Readable part;
  internal_::rpc::Lending lending = lend(offset, length, false, part.part_);
  return {std::move(lending), part};
}

Lent<Writable> Lendable::writable(std::size_t offset, std::size_t length) {
  Writable part;
  internal_::rpc::Lending lending = lend(offset, length, true, part.part_);
  return {std::move(lending), part};
}

}  // namespace rpc

}  // namespace hamlyn
