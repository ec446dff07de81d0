#include "hamlyn/core/notification_queue.h"

#include <bit>

#include "interface/deposit.h"
#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

using library::Engine;
using shm::ShortWay;

NotificationQueue::NotificationQueue(Interface& interface, std::size_t places) : interface_(interface) {
  if (places > (std::size_t{1} << 20))
    throw Error(ErrorCode::invalid_argument, "a queue has at most 2^20 places");
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  queue_ = library::with_memory("a notification queue", [&] {
    return interface.engine().core().make_queue(std::bit_ceil(std::max<std::size_t>(places, 16)));
  });
}

NotificationQueue::~NotificationQueue() {
  if (!interface_.engine().close_and_drain(queue_->calls)) return;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return;
  interface_.engine().core().drop_queue(queue_);
}

std::size_t NotificationQueue::capacity() const noexcept { return queue_->capacity(); }

// The shortest way: straight from the link that brought the last message, at which it looks a few times. What
// comes after the message is seen stands between two processes, what comes before does not: so whatever can
// be known before was put into the run.
std::size_t NotificationQueue::poll(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  if (!engine.lock().enter_quickly()) [[unlikely]]
    return poll_uncached(out);
  ShortWay& way = engine.short_way();
  if (way.open_for(*queue_) && !out.empty()) [[likely]] {
    if (out.size() != 1) return poll_several(out);
    switch (way.take(*queue_, out.front())) {
      case ShortWay::Found::message:
      case ShortWay::Found::standing:
        engine.lock().leave_quickly();
        return 1;
      case ShortWay::Found::nothing:
        engine.lock().leave_quickly();
        return 0;
      case ShortWay::Found::other:
      case ShortWay::Found::other_late:
        return poll_other(out);
      case ShortWay::Found::elsewhere:
        break;
    }
  }
  engine.lock().leave_quickly();
  return poll_uncached(out);
}

std::size_t NotificationQueue::poll_posted(Notification& out) noexcept {
  Engine& engine = interface_.engine();
  if (!engine.lock().enter_quickly()) [[unlikely]] {
    const base::RunLockGuard guard(engine.lock());
    return guard ? look_and_take_posted(out, false) : 0;
  }
  ShortWay& way = engine.short_way();
  std::size_t count = 1;
  const ShortWay::Found found =
      way.open_for_posted(*queue_) ? way.take_posted(*queue_, out) : ShortWay::Found::elsewhere;
  if (found == ShortWay::Found::nothing)
    count = 0;
  else if (found != ShortWay::Found::message) [[unlikely]]
    count = look_and_take_posted(out, found == ShortWay::Found::other);
  engine.lock().leave_quickly();
  return count;
}

// With the lock.
__attribute__((noinline)) std::size_t NotificationQueue::look_and_take_posted(Notification& out,
                                                                              bool found) noexcept {
  const std::size_t count = look_and_take({&out, 1}, 0, found);
  interface_.engine().short_way().open_posted(*queue_);
  return count;
}

// With room for more than one, in an open run, with the lock taken quickly. Looks on behind a message that
// stood there: others of a stream may, too. Behind one that was waited for, a look would take the next line
// from the peer, who is about to write there.
std::size_t NotificationQueue::poll_several(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  ShortWay& way = engine.short_way();
  std::size_t count = 0;
  switch (way.take<true>(*queue_, out.front())) {
    case ShortWay::Found::message:
      count = 1;
      break;
    case ShortWay::Found::standing:
      count = way.take_run(*queue_, out, 1);
      break;
    case ShortWay::Found::nothing:
      break;
    case ShortWay::Found::other:
      if (!way.take_opened(*queue_, out.front())) return poll_other(out);
      way.rest().answered();
      count = way.take_run(*queue_, out, 1);
      break;
    case ShortWay::Found::other_late:
      return poll_other(out);
    case ShortWay::Found::elsewhere:
      engine.lock().leave_quickly();
      return poll_uncached(out);
  }
  engine.lock().leave_quickly();
  return count;
}

// In an open run, with the lock taken quickly: something is there that is not like the one before. It may be
// but longer.
std::size_t NotificationQueue::poll_other(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  ShortWay& way = engine.short_way();
  std::size_t count = 1;
  if (way.take_opened(*queue_, out.front()) || way.take_block(*queue_, out.front())) [[likely]] {
    way.rest().answered();
  } else {
    count = look_and_take(out, 0, true);
  }
  engine.lock().leave_quickly();
  return count;
}

std::size_t NotificationQueue::poll_uncached(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  return guard && !out.empty() ? look_and_take(out, engine.short_way().await_row(), false) : 0;
}

// With the lock. `row`: so many packets seem to be there; `found`: one is, at the link of the open run.
std::size_t NotificationQueue::look_and_take(std::span<Notification> out, std::uint32_t row,
                                             bool found) noexcept {
  Engine& engine = interface_.engine();
  ShortWay& way = engine.short_way();
  const ShortWay::Look look = engine.look_cached(*queue_, out, found);
  if (look.over) return 0;
  if (look.replies_due) [[unlikely]]
    engine.run_polled();
  std::size_t count = look.count;
  if (count == 0) {
    way.rest().review();
    const bool stood = !queue_->empty();
    if (!stood) engine.run_polled();
    count = ShortWay::take_all(engine.core(), *queue_, out);
    if (stood) engine.replies_may_wait();
  }
  way.rest().taken(count);
  if (count == 0 && queue_->event >= 0) engine.arm_descriptor(*queue_);
  way.open(*queue_, row > count ? row - static_cast<std::uint32_t>(count) : 0);
  return row != 0 ? way.take_run(*queue_, out, count) : count;
}

Status NotificationQueue::receive(Notification& out) noexcept {
  return receive(out, std::chrono::nanoseconds::max());
}

Status NotificationQueue::receive(Notification& out, std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(interface_.engine().lock(), queue_->calls);
  return receive(out, timeout, call);
}

Status NotificationQueue::receive(Notification& out, std::chrono::nanoseconds timeout,
                                  library::PendingCall& call) noexcept {
  return wait_here(
      call, [&] { return take(interface_.engine().locked(), out); }, timeout);
}

Status NotificationQueue::wait(library::PendingCall& call,
                               base::FunctionRef<Status(const library::Locked&)> ready,
                               std::chrono::nanoseconds timeout) noexcept {
  return wait_here(
      call, [&] { return ready(interface_.engine().locked()); }, timeout);
}

template <class Ready>
Status NotificationQueue::wait_here(library::PendingCall& call, Ready ready,
                                    std::chrono::nanoseconds timeout) noexcept {
  Engine& engine = interface_.engine();
  const Status status = engine.wait(call, ready, library::deadline_in(timeout));
  if (status != Status::timed_out) [[likely]]
    return status;
  // The queue was found empty, as by `poll`: the descriptor tells of what comes from now on.
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  engine.core().close_run();  // it stands only while the queue is empty
  const Status last = ready();
  if (last != Status::pending) return last;
  if (queue_->event >= 0) engine.arm_descriptor(*queue_);
  return status;
}

Status NotificationQueue::take(const library::Locked&, Notification& out) noexcept {
  if (queue_->empty()) return Status::pending;
  interface_.engine().core().take(*queue_, out);
  interface_.engine().replies_may_wait();
  return Status::ok;
}

void NotificationQueue::look(const library::Locked&, base::FunctionRef<void(const Notification&)> see) const {
  queue_->see_standing(see);
}

base::PendingCalls& NotificationQueue::calls() noexcept { return queue_->calls; }

int NotificationQueue::descriptor() { return interface_.engine().descriptor(*queue_); }

}  // namespace hamlyn
