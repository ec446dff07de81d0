#include "hamlyn/core/notification_queue.h"

#include <bit>

#include "interface/deposit.h"
#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

using library::Engine;
using library::PollRest;
using Taken = shm::ShmLink::Taken;

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
  if (!interface_.engine().see_off(queue_->stays)) return;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return;
  interface_.engine().core().drop_queue(queue_);
}

std::size_t NotificationQueue::capacity() const noexcept { return queue_->capacity(); }

namespace {

// What follows `count` messages in an open run, if there is room for it. Returns how many there are then.
std::size_t take_run(interface::ShortRun& run, interface::Queue& queue, std::span<Notification> out,
                     std::size_t count) noexcept {
  shm::ShmLink& link = *run.local;
  while (count != out.size() && run.left != 0 && link.take(queue, out[count]) == Taken::taken) {
    ++count;
    --run.left;
  }
  return count;
}

__attribute__((noinline)) std::size_t take_more(Engine& engine, interface::Queue& queue,
                                                std::span<Notification> out) noexcept {
  const std::size_t count = take_run(engine.core().short_run(), queue, out, 1);
  engine.lock().leave_quickly();
  return count;
}

// A packet like the one before, straight from its link to `out`: the one at which a run ended, with what had
// to wait for that.
bool take_like_before(Engine& engine, shm::ShmLink& link, interface::Queue& queue,
                      Notification& out) noexcept {
  if (link.cached.write.queue != &queue || link.broken) return false;
  const bool wraps = queue.next_wraps();
  if (link.take(queue, out) != Taken::taken) return false;
  link.cached.counted_last = false;
  out.wrap = wraps;
  ++link.counters->packets_in;
  link.counters->bytes_in += out.length;
  ++link.cached.write.counters->messages;
  link.cached.write.counters->bytes += out.length;
  queue.count();
  link.settle(engine.core());
  return true;
}

// The next message, if it stands in one packet and is for the owner of that queue.
bool take_next(Engine& engine, shm::ShmLink& link, interface::Queue& queue, Notification& out) noexcept {
  const std::uint64_t lead = link.next_lead();
  if (interface::is_request(lead)) return false;
  return (interface::is_short_write(lead) && take_like_before(engine, link, queue, out)) ||
         link.take_whole(engine.core(), queue, out);
}

// Whether anything has come by the link that brought the last message, after a few looks.
bool look_for_more(Engine& engine, shm::ShmLink& link) noexcept {
  engine.rest_before_answer(link);
  const std::uint32_t pauses = engine.poll_rest().pauses();
  for (std::uint32_t looks = engine.looks(); !link.something_arrived();) {
    if (--looks == 0) return false;
    PollRest::rest(pauses);
  }
  engine.poll_rest().answered();
  return true;
}

std::size_t take_all(Engine& engine, interface::Queue& queue, std::span<Notification> out) noexcept {
  std::size_t count = 0;
  while (count < out.size() && !queue.empty()) engine.core().take(queue, out[count++]);
  return count;
}

}  // namespace

// The shortest way: straight from the link that brought the last message, at which it looks a few times. What
// comes after the message is seen stands between two processes, what comes before does not: so whatever can
// be known before was put into the run.
std::size_t NotificationQueue::poll(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  if (!engine.lock().enter_quickly()) [[unlikely]]
    return poll_slowly(out);
  interface::ShortRun& run = engine.core().short_run();
  if (run.queue == queue_ && run.left != 0 && queue_->empty() && !out.empty()) [[likely]] {
    shm::ShmLink& link = *run.local;
    engine.rest_before_answer(link);
    const std::uint32_t pauses = engine.poll_rest().pauses();
    for (std::uint32_t looks = engine.looks();;) {
      const Taken taken = link.take(*queue_, out.front());
      if (taken == Taken::taken) [[likely]] {
        engine.poll_rest().answered();
        --run.left;
        if (out.size() != 1) return take_more(engine, *queue_, out);
        engine.lock().leave_quickly();
        return 1;
      }
      if (taken == Taken::other) return poll_other(out);
      if (--looks == 0) {
        if (!engine.empty_handed()) break;
        engine.lock().leave_quickly();
        return 0;
      }
      PollRest::rest(pauses);
    }
  }
  engine.lock().leave_quickly();
  return poll_slowly(out);
}

// In an open run, with the lock taken quickly: something is there that is not like the one before. It may be
// but longer.
std::size_t NotificationQueue::poll_other(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  interface::ShortRun& run = engine.core().short_run();
  std::size_t count = 1;
  if (run.local->take_block(run, out.front())) [[likely]] {
    engine.poll_rest().answered();
  } else {
    count = look_and_take(out, 0, true);
  }
  engine.lock().leave_quickly();
  return count;
}

std::size_t NotificationQueue::poll_slowly(std::span<Notification> out) noexcept {
  Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  return guard && !out.empty() ? look_and_take(out, engine.await_row(), false) : 0;
}

// With the lock. `row`: so many packets seem to be there; `found`: one is, at the link of the open run.
std::size_t NotificationQueue::look_and_take(std::span<Notification> out, std::uint32_t row,
                                             bool found) noexcept {
  Engine& engine = interface_.engine();
  PollRest& rest = engine.poll_rest();
  const std::uint32_t taken = engine.core().close_run();
  rest.taken(taken);
  std::size_t count = 0;
  if (shm::ShmLink* const link = engine.direct_link(*queue_, taken)) {
    if (found) rest.answered();
    if (!found && !look_for_more(engine, *link)) {
      if (engine.empty_handed()) return 0;
    } else if (take_next(engine, *link, *queue_, out.front())) {
      count = 1;
    } else if (engine.serve_direct(*link)) {
      rest.taken(1);
      // A look for the next one would take its line from the peer, who is about to write there.
      if (engine.alone() && !link->replies_due && !link->broken) return 0;
    } else {
      engine.run_direct(*link);
      count = take_all(engine, *queue_, out);
    }
    if (link->replies_due) [[unlikely]]
      engine.run_polled();
  }
  if (count == 0) {
    rest.review();
    const bool stood = !queue_->empty();
    if (!stood) engine.run_polled();
    count = take_all(engine, *queue_, out);
    if (stood) engine.replies_may_wait();
  }
  rest.taken(count);
  if (count == 0 && queue_->event >= 0 && !queue_->event_wanted) engine.rearm(*queue_);
  engine.open_run(*queue_, row > count ? row - static_cast<std::uint32_t>(count) : 0);
  interface::ShortRun& run = engine.core().short_run();
  return row != 0 && run.queue == queue_ ? take_run(run, *queue_, out, count) : count;
}

Status NotificationQueue::receive(Notification& out) noexcept {
  return receive(out, std::chrono::nanoseconds::max());
}

Status NotificationQueue::receive(Notification& out, std::chrono::nanoseconds timeout) noexcept {
  library::Stay stay(interface_.engine().lock(), queue_->stays);
  return receive(out, timeout, stay);
}

Status NotificationQueue::receive(Notification& out, std::chrono::nanoseconds timeout,
                                  library::Stay& stay) noexcept {
  Engine& engine = interface_.engine();
  const auto ready = [&] {
    if (queue_->empty()) return Status::pending;
    engine.core().take(*queue_, out);
    engine.replies_may_wait();
    return Status::ok;
  };
  const Status status = engine.wait(stay, ready, library::deadline_in(timeout));
  if (status != Status::timed_out) [[likely]]
    return status;
  // It was found empty, as by `poll`: the descriptor tells of what comes from now on.
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  engine.core().close_run();  // it stands only while the queue is empty
  if (ready() == Status::ok) return Status::ok;
  if (queue_->event >= 0 && !queue_->event_wanted) engine.rearm(*queue_);
  return status;
}

int NotificationQueue::descriptor() { return interface_.engine().descriptor(*queue_); }

}  // namespace hamlyn
