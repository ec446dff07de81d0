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

namespace {

__attribute__((noinline)) std::size_t settle_and_leave(Engine& engine, shm::ShmLink& link,
                                                       std::size_t count) noexcept {
  link.settle(engine.core());
  engine.lock().leave_quickly();
  return count;
}

}  // namespace

// The shortest way: straight from the link that brought the last message, at which it looks a few times. Like
// that of send_fast it calls nothing but at its ends.
std::size_t NotificationQueue::poll(std::span<Notification> out) noexcept {
  using Taken = shm::ShmLink::Taken;
  Engine& engine = interface_.engine();
  if (out.empty() || !engine.lock().enter_quickly()) [[unlikely]]
    return poll_slowly(out);
  shm::ShmLink* const link = engine.direct_link(*queue_);
  if (link == nullptr) [[unlikely]] {
    engine.lock().leave_quickly();
    return poll_slowly(out);
  }
  PollRest& rest = engine.poll_rest();
  std::size_t count = 0;
  Taken taken;
  for (std::uint32_t looks = rest.looks();;) {
    taken = link->take(engine.core(), *queue_, out[count]);
    if (taken == Taken::taken) [[likely]] {
      if (++count != out.size()) continue;
      break;
    }
    if (taken != Taken::nothing_there || count != 0 || !engine.only_link(*queue_) || --looks == 0) break;
    PollRest::rest(rest.pauses());
  }
  if (taken == Taken::taken_settle) [[unlikely]]
    return settle_and_leave(engine, *link, count + 1);
  rest.taken(count);
  engine.lock().leave_quickly();
  if (count != 0 || (taken == Taken::nothing_there && engine.only_link(*queue_))) return count;
  return poll_slowly(out);
}

std::size_t NotificationQueue::poll_slowly(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return 0;
  engine.poll_rest().review();
  if (queue_->empty()) engine.run_polled();
  std::size_t count = 0;
  while (count < out.size() && !queue_->empty()) engine.core().take(*queue_, out[count++]);
  engine.poll_rest().taken(count);
  if (count == 0 && queue_->event >= 0 && !queue_->event_wanted) engine.rearm(*queue_);
  return count;
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
