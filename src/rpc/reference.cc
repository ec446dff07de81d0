#include "hamlyn/rpc/reference.h"

#include <algorithm>
#include <optional>

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

SlotOptions to_be_read(std::size_t offset, std::size_t length) noexcept {
  SlotOptions out{.base = offset, .bound = length, .fast = false};
  out.access = Access::read_only;
  out.gets = static_cast<std::uint32_t>(kPiece);
  out.hold = 0;
  return out;
}
SlotOptions to_be_written(std::size_t offset, std::size_t length) noexcept {
  SlotOptions out{.base = offset, .bound = length, .fast = false};
  out.access = Access::write_only;
  out.puts = true;
  out.hold = 0;
  return out;
}

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
  out.bound = part.shown() ? part.offset + part.length : part.length;
  return out;
}
// No longer than the call has time.
library::Patience patience_of(const Serving& serving, std::chrono::nanoseconds timeout) noexcept {
  std::chrono::nanoseconds most = timeout;
  if (serving.own.deadline != Clock::time_point::max())
    most = std::min<std::chrono::nanoseconds>(most, serving.own.deadline - Clock::now());
  return library::Patience(std::max(most, std::chrono::nanoseconds{0}));
}
// Whether it ends where no address does.
bool overflows(const LentPart& part) noexcept {
  return part.shown() && part.offset + part.length < part.offset;
}

// Calls what(reach, ticket, offset, patience) if so many bytes are there.
template <class What>
Status reach(const LentPart& part, const Serving& serving, std::size_t offset, std::size_t length,
             std::chrono::nanoseconds timeout, What what) noexcept {
  if (serving.server == nullptr) return Status::refused;  // nothing is lent over datagrams
  if (offset > part.length || length > part.length - offset) return Status::out_of_bounds;
  if (length == 0) return Status::ok;
  const Ticket ticket = ticket_of(part, serving);
  if (overflows(part) || invalid(ticket) != nullptr) return Status::refused;
  library::Patience patience = patience_of(serving, timeout);
  return what(serving.server->reach, ticket, part.shown() ? part.offset + offset : offset, patience);
}

}  // namespace

}  // namespace internal_::rpc

namespace rpc {

Status Readable::read(const Call& call, std::size_t offset, std::span<std::byte> into,
                      std::chrono::nanoseconds timeout) const noexcept {
  return internal_::rpc::reach(
      part_, call.serving(), offset, into.size(), timeout,
      [&](auto& reach, const Ticket& ticket, std::uint64_t at, library::Patience& patience) {
        return reach.read(ticket, at, into, patience);
      });
}

std::span<const std::byte> Readable::view(const Call& call, std::chrono::nanoseconds timeout) noexcept {
  const internal_::rpc::Serving& serving = call.serving();
  if (serving.server == nullptr || !part_.shown() || internal_::rpc::overflows(part_)) return {};
  const Ticket ticket = internal_::rpc::ticket_of(part_, serving);
  if (invalid(ticket) != nullptr) return {};
  library::Patience patience = internal_::rpc::patience_of(serving, timeout);
  const auto mapped = serving.server->reach.map(ticket, patience);
  if (mapped == nullptr || ticket.bound > mapped->bytes().size()) return {};
  mapped_ = mapped;
  return mapped->bytes().subspan(part_.offset, part_.length);
}

Status Writable::write(const Call& call, std::size_t offset, std::span<const std::byte> from,
                       std::chrono::nanoseconds timeout) const noexcept {
  return internal_::rpc::reach(
      part_, call.serving(), offset, from.size(), timeout,
      [&](auto& reach, const Ticket& ticket, std::uint64_t at, library::Patience& patience) {
        return reach.write(ticket, at, from, patience);
      });
}

// --- the memory

struct Lendable::Inside {
  Inside(Interface& interface, std::size_t bytes, const Options& options)
      : queue(interface, 64),
        area(interface, bytes, options.shown ? Sharing::mapped_read_only : Sharing::guarded) {
    if (options.shown) all.emplace(area, queue, internal_::rpc::to_be_read(0, area.bytes().size()));
  }
  NotificationQueue queue;
  MessageArea area;
  std::optional<Slot> all;  // of what is shown
};

Lendable::Lendable(Interface& interface, std::size_t bytes, const Options& options) try
    : inside_(std::make_unique<Inside>(interface, bytes, options)) {
} catch (const std::bad_alloc&) {
  internal_::library::throw_no_memory("memory to be lent to calls");
}
Lendable::~Lendable() = default;

std::span<std::byte> Lendable::bytes() noexcept { return inside_->area.bytes(); }

internal_::rpc::Lending Lendable::lend(std::size_t offset, std::size_t length, bool to_write,
                                       internal_::rpc::LentPart& part) {
  using internal_::rpc::Lending;
  if (length == 0) throw Error(ErrorCode::invalid_argument, "a part that is lent has bytes");
  if (inside_->all && !to_write) {
    if (offset > bytes().size() || length > bytes().size() - offset)
      throw Error(ErrorCode::invalid_argument, "a part that is lent lies in the memory");
    const Ticket all = inside_->all->ticket();
    part = {all.slot, all.generation, all.key, length, offset};
    return Lending(nullptr);
  }
  const SlotOptions options =
      to_write ? internal_::rpc::to_be_written(offset, length) : internal_::rpc::to_be_read(offset, length);
  try {
    auto inside = std::make_unique<Lending::Inside>(inside_->area, inside_->queue, options);
    const Ticket ticket = inside->slot.ticket();
    part = {ticket.slot, ticket.generation, ticket.key, length, internal_::rpc::LentPart::kOwnSlot};
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
