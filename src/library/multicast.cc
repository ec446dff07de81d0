#include "hamlyn/core/multicast.h"

#include "interface/packets/element.h"
#include "interface/terminus.h"
#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

Multicast::Multicast(Interface& interface, std::size_t most) : interface_(interface), most_(most) {
  if (most == 0 || most > 4096)
    throw Error(ErrorCode::invalid_argument, "a multicast has 1 to 4096 recipients");
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  terminus_ = library::with_memory("a multicast", [&] {
    recipients_.reserve(most);
    return new interface::Terminus(interface.engine().core(), most);
  });
}

Multicast::~Multicast() {
  if (!interface_.engine().close_and_drain(terminus_->calls())) return;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (guard) delete terminus_;
}

Status Multicast::check(std::span<const Ticket> recipients, std::span<const std::byte> data,
                        const SendOptions& options) const noexcept {
  if (recipients.size() > most_ || options.metadata.size() > interface::kMetadataLimit ||
      data.size() > 0xFFFFFFFFu)
    return Status::too_long;
  if (!interface::is_element(options.element)) return Status::invalid;
  for (const Ticket& ticket : recipients) {
    if (invalid(ticket) != nullptr || ticket.fast()) return Status::invalid;
    if (options.offset > ticket.bound || data.size() > ticket.bound - options.offset)
      return Status::out_of_bounds;
    if (!interface::element_divides(options.element, data.size(), ticket.base + options.offset))
      return Status::misaligned;
  }
  return Status::ok;
}

Status Multicast::send(std::span<const Ticket> recipients, std::span<const std::byte> data,
                       const SendOptions& options) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  if (waiting() != 0) return Status::pending;
  if (const Status wrong = check(recipients, data, options); wrong != Status::ok) return wrong;
  SendOptions acknowledged = options;
  acknowledged.acknowledged = true;
  recipients_.clear();  // and never longer than what is reserved
  for (const Ticket& ticket : recipients) {
    Recipient recipient;
    recipient.status = terminus_->send(ticket, data, acknowledged, &recipient.handle);
    recipients_.push_back(recipient);
  }
  engine.departure_waits();
  return Status::ok;
}

// Under the lock.
std::size_t Multicast::waiting() noexcept {
  interface_.engine().lock().assert_held();
  std::size_t count = 0;
  for (Recipient& each : recipients_) {
    if (each.status == Status::pending) each.status = terminus_->status(each.handle);
    count += each.status == Status::pending ? 1u : 0u;
  }
  return count;
}

Status Multicast::wait(std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  return interface_.engine().wait(
      call, [&] { return waiting() == 0 ? Status::ok : Status::pending; }, library::deadline_in(timeout));
}

Multicast::Count Multicast::count() noexcept {
  Count count;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return count;
  count.waiting = waiting();
  for (const Recipient& each : recipients_) count.delivered += each.status == Status::ok ? 1u : 0u;
  count.failed = recipients_.size() - count.waiting - count.delivered;
  return count;
}

Status Multicast::status(std::size_t recipient) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return Status::forked;
  if (recipient >= recipients_.size()) return Status::invalid;
  waiting();
  return recipients_[recipient].status;
}

void Multicast::stop() noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return;
  for (Recipient& each : recipients_) {
    // Its handle says what becomes of it: `waiting` asks.
    if (each.status == Status::pending) static_cast<void>(terminus_->cancel(each.handle));
  }
  waiting();
}

}  // namespace hamlyn
