#include "hamlyn/core/terminus.h"

#include "interface/terminus.h"
#include "library/engine.h"
#include "library/terminus_ways.h"
#include "library/with_memory.h"

namespace hamlyn {

using library::leave;
using library::queue_of;
using library::try_again;
using shm::ShortWay;

namespace {

// Waits until `look` says something that does not change by waiting, or the node that there will be no link.
template <class Look>
Status wait_for_link(library::Engine& engine, interface::Terminus& terminus, const Ticket& ticket,
                     std::chrono::nanoseconds timeout, Look look) noexcept {
  interface::Terminus::LinkWait link {
    .peer = ticket.interface
  };
  library::PendingCall call(engine.lock(), terminus.calls());
  {
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return Status::forked;
    call.begin();
    terminus.ask_anew();
    terminus.add(link);
  }
  const auto ready = [&] { return link.refused ? link.answer : try_again(look(link)); };
  const Status status = engine.wait(call, ready, library::deadline_in(timeout));
  const base::RunLockGuard guard(engine.lock());
  if (guard) terminus.remove(link);
  return status;
}

}  // namespace

Terminus::Terminus(Interface& interface, const TerminusOptions& options) : interface_(interface) {
  if (options.entries == 0 || options.entries > 4096)
    throw Error(ErrorCode::invalid_argument, "a terminus has 1 to 4096 entries");
  if (static_cast<std::size_t>(options.priority) >= kPriorities)
    throw Error(ErrorCode::invalid_argument,
                "a terminus has one of the levels that hamlyn/values/priority.h names");
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  terminus_ = library::with_memory("a terminus", [&] {
    return new interface::Terminus(interface.engine().core(), options.entries, options.priority);
  });
}

Terminus::~Terminus() {
  if (!interface_.engine().close_and_drain(terminus_->calls())) return;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return;
  delete terminus_;
  interface_.engine().departure_waits();  // it may have left an abandon without room
  interface_.engine().settled();          // who waits for a place may have that of an opening of its
}

base::PendingCalls& Terminus::calls() noexcept { return terminus_->calls(); }

Status Terminus::send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send(ticket, data, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::send_posted(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                             const SendOptions& options, SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  // A message that leaves at once needs no queue to tell of it.
  const bool plain = !options.acknowledged && options.metadata.empty() && options.offset == 0 &&
                     options.element == 0 &&
                     (options.queue == nullptr || &options.queue->interface() == &interface_);
  if (plain && data.size() <= interface::kInlineData && engine.lock().enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    if (ShortWay::send_posted(*terminus_, ticket, data, word, handle, asleep)) [[likely]]
      return leave(engine.lock(), asleep);
    engine.lock().leave_quickly();
  }
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send_posted(ticket, data, word, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

bool Terminus::send_posted_at_once(const Ticket& ticket, std::span<const std::byte> data,
                                   std::uint64_t word) noexcept {
  base::RunLock& lock = interface_.engine().lock();
  if (!lock.enter_quickly()) [[unlikely]] {
    const base::RunLockGuard guard(lock);  // whoever is kept out comes in the other way
    return false;
  }
  shm::ShmLink* asleep = nullptr;
  const bool left = data.size() <= interface::kInlineData
                        ? ShortWay::send_posted(*terminus_, ticket, data, word, nullptr, asleep)
                        : ShortWay::send_posted_block(*terminus_, ticket, data, word, asleep);
  static_cast<void>(leave(lock, asleep));
  return left;
}

Status Terminus::put_telling(const Ticket& to, std::uint64_t word, const Ticket& at,
                             std::span<const std::byte> data, std::uint64_t offset,
                             const SendOptions& options, SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->put_telling(to, word, at, data, offset, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

bool Terminus::put_telling_at_once(const Ticket& to, std::uint64_t word, const Ticket& at,
                                   std::span<const std::byte> data, std::uint64_t offset) noexcept {
  if (data.size() > interface::kInlineData) return false;
  base::RunLock& lock = interface_.engine().lock();
  if (!lock.enter_quickly()) [[unlikely]] {
    const base::RunLockGuard guard(lock);  // whoever is kept out comes in the other way
    return false;
  }
  shm::ShmLink* asleep = nullptr;
  const bool left = ShortWay::put_telling(*terminus_, to, word, at, data, offset, asleep);
  static_cast<void>(leave(lock, asleep));
  return left;
}

Status Terminus::bind(std::uint32_t tag, SendBufferArea& area) {
  if (&area.interface() != &interface_) return Status::invalid;
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->bind(tag, area.number()) : Status::forked;
}

Status Terminus::unbind(std::uint32_t tag) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->unbind(tag) : Status::forked;
}

Status Terminus::send_gathered(const Ticket& ticket, std::span<const Piece> pieces,
                               const SendOptions& options, SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send_gathered(ticket, pieces, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::send_gathered(const Share& share, std::span<const Piece> pieces, const SendOptions& options,
                               SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const Status status = terminus_->send_gathered(share, pieces, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  return status;
}

Status Terminus::send(const Share& share, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const Status status = terminus_->send(share, data, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  return status;
}

Status Terminus::cancel(SendHandle handle) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const Status status = terminus_->cancel(handle);
  engine.departure_waits();
  return status;
}

// The shortest way stands first and calls nothing but, at its end, what is rare: so it needs no room on the
// stack.
Status Terminus::send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                           std::uint64_t offset) noexcept {
  if (data.size() > interface::kInlineData) return send_block(ticket, data, word, offset);
  base::RunLock& lock = interface_.engine().lock();
  if (lock.enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    if (ShortWay::send(*terminus_, ticket, data, word, offset, asleep)) [[likely]]
      return leave(lock, asleep);
    lock.leave_quickly();
  }
  return send_fast_uncached(ticket, data, word, offset);
}

// Sends data that do not fit the header's cell.
Status Terminus::send_block(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                            std::uint64_t offset) noexcept {
  base::RunLock& lock = interface_.engine().lock();
  if (lock.enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    const bool left = data.size() <= interface::kOpenedInline
                          ? ShortWay::send_opened(*terminus_, ticket, data, word, offset, asleep)
                          : ShortWay::send_block(*terminus_, ticket, data, word, offset, asleep);
    if (left) [[likely]]
      return leave(lock, asleep);
    lock.leave_quickly();
  }
  return send_fast_uncached(ticket, data, word, offset);
}

Status Terminus::send_fast_uncached(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                                    std::uint64_t offset) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->send_fast(ticket, data, word, offset) : Status::forked;
}

Status Terminus::send_fast_row(const Ticket& ticket, std::span<const FastMessage> row,
                               std::size_t& sent) noexcept {
  sent = 0;
  while ((sent += send_row(ticket, row.subspan(sent))) != row.size()) {
    const FastMessage& next = row[sent];
    const Status status = send_fast_uncached(ticket, next.data, next.word, next.offset);
    if (status != Status::ok) return status;
    ++sent;
  }
  return Status::ok;
}

Status Terminus::put_row(const Ticket& ticket, std::span<const PutMessage> row, std::size_t& sent) noexcept {
  sent = 0;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return Status::forked;
  while ((sent += ShortWay::put_row(*terminus_, ticket, row.subspan(sent))) != row.size()) {
    const Status status = terminus_->put_now(ticket, row[sent].data, row[sent].offset);
    if (status != Status::ok) return status;
    ++sent;
  }
  return Status::ok;
}

// As far as the shortest way goes. Returns how many have left.
std::size_t Terminus::send_row(const Ticket& ticket, std::span<const FastMessage> row) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? ShortWay::send_row(*terminus_, ticket, row) : 0;  // forked: the slow way says it
}

Status Terminus::connect(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  if (const base::RunLockGuard guard(interface_.engine().lock()); guard) terminus_->ask_again(ticket);
  return wait_for_link(interface_.engine(), *terminus_, ticket, timeout,
                       [&](const auto&) { return terminus_->ready(ticket); });
}

Status Terminus::try_connect(const Ticket& ticket) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->ready(ticket) : Status::forked;
}

Status Terminus::wait_for_place(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  const auto look = [&](const auto& link) {
    const bool ended = terminus_->take_end(ticket.interface) || link.ended;
    return ended ? Status::link_ended : terminus_->place_free(ticket);
  };
  const Status status = wait_for_link(interface_.engine(), *terminus_, ticket, timeout, look);
  // Room that was found is no room wanted any more, for which the peer rings: others who want it look again.
  if (status == Status::ok) interface_.engine().look_again();
  return status;
}

Status Terminus::send_fast_waiting(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                                   std::uint64_t offset, std::chrono::nanoseconds timeout) noexcept {
  return wait_for_link(interface_.engine(), *terminus_, ticket, timeout, [&](const auto& link) {
    const bool ended = terminus_->take_end(ticket.interface) || link.ended;
    return ended ? Status::link_ended : terminus_->send_fast(ticket, data, word, offset);
  });
}

std::uint64_t Terminus::sequence() const noexcept { return terminus_->sequence(); }

Status Terminus::status(SendHandle handle) const noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->status(handle) : Status::forked;
}

Refusal Terminus::refusal(SendHandle handle) const noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->refusal(handle) : Refusal::none;
}

Status Terminus::wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  return interface_.engine().wait(
      call, [&] { return terminus_->status(handle); }, library::deadline_in(timeout));
}

}  // namespace hamlyn
