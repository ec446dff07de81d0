#include "hamlyn/terminus.h"

#include "interface/terminus.h"

#include "library/engine.h"

namespace hamlyn {

namespace {

// In `ready` functions of waits: these mean that it is worth trying again.
Status try_again(Status status) noexcept {
  return status == Status::connecting || status == Status::no_place || status == Status::queue_full
             ? Status::pending
             : status;
}

}  // namespace

Terminus::Terminus(Interface& interface, std::size_t entries) : interface_(interface) {
  if (entries == 0 || entries > 4096)
    throw Error(ErrorCode::invalid_argument, "a terminus has 1 to 4096 entries");
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  terminus_ = new interface::Terminus(interface.engine().core(), entries);
}

Terminus::~Terminus() {
  const base::RunLockGuard guard(interface_.engine().lock());
  if (guard) delete terminus_;
}

Status Terminus::send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send(ticket, data, options, handle);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                           std::uint64_t offset) noexcept {
  library::Engine& engine = interface_.engine();
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send_fast(ticket, data, word, offset);
  engine.lock().leave();
  return status;
}

Status Terminus::connect(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  return interface_.engine().wait([&] { return try_again(terminus_->ready(ticket)); },
                                  library::deadline_in(timeout));
}

Status Terminus::wait_for_place(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  return interface_.engine().wait([&] { return try_again(terminus_->place_free(ticket)); },
                                  library::deadline_in(timeout));
}

Status Terminus::status(SendHandle handle) const noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->status(handle) : Status::forked;
}

Status Terminus::wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept {
  return interface_.engine().wait([&] { return terminus_->status(handle); }, library::deadline_in(timeout));
}

}  // namespace hamlyn
