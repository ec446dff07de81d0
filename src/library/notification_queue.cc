#include "hamlyn/notification_queue.h"

#include <unistd.h>

#include <bit>

#include "interface/deposit.h"
#include "library/engine.h"

namespace hamlyn {

using library::Engine;
using library::PollRest;

NotificationQueue::NotificationQueue(Interface& interface, std::size_t places) : interface_(interface) {
  if (places > (std::size_t{1} << 20))
    throw Error(ErrorCode::invalid_argument, "a queue has at most 2^20 places");
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  queue_ = interface.engine().core().make_queue(std::bit_ceil(std::max<std::size_t>(places, 16)));
}

NotificationQueue::~NotificationQueue() {
  const int event = queue_->event;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return;
  interface_.engine().core().drop_queue(queue_);
  if (event >= 0) close(event);
}

std::size_t NotificationQueue::capacity() const noexcept { return queue_->capacity(); }

std::optional<Notification> NotificationQueue::poll() noexcept {
  using Taken = shm::ShmLink::Taken;
  std::optional<Notification> result;
  Engine& engine = interface_.engine();
  if (!engine.lock().enter()) [[unlikely]]
    return result;
  Taken taken = Taken::other;
  if (queue_->empty()) {
    taken = engine.take_directly(*queue_, result.emplace());
    if (taken == Taken::other) engine.run_polled();
  }
  if (taken == Taken::other) {
    if (!queue_->empty()) {
      engine.core().take(*queue_, result.emplace());
      taken = Taken::taken;
    } else if (queue_->event >= 0 && !queue_->event_wanted) [[unlikely]] {
      engine.rearm(*queue_);
    }
  }
  if (taken == Taken::taken) {
    engine.poll_rest().taken();
    engine.lock().leave();
    return result;
  }
  const std::uint32_t rest = engine.poll_rest().pauses();
  engine.lock().leave();
  result.reset();
  PollRest::rest(rest);
  return result;
}

Status NotificationQueue::receive(Notification& out) noexcept {
  return receive(out, std::chrono::nanoseconds::max());
}

Status NotificationQueue::receive(Notification& out, std::chrono::nanoseconds timeout) noexcept {
  Engine& engine = interface_.engine();
  const auto ready = [&] {
    if (queue_->empty()) return Status::pending;
    engine.core().take(*queue_, out);
    return Status::ok;
  };
  return engine.wait(ready, library::deadline_in(timeout));
}

int NotificationQueue::descriptor() { return interface_.engine().descriptor(*queue_); }

}  // namespace hamlyn
