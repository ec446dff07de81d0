// Descriptors that programs wait on: of a queue, and of all changes of an interface.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/throw_system.h"
#include "base/uncancelled.h"
#include "library/engine.h"
#include "library/wait/own_thread.h"

namespace hamlyn::internal_::library {

int Engine::descriptor(interface::Queue& queue) {
  base::RunLockGuard guard(lock_);
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (!queue.descriptor.ours()) {  // the first call, or the program has closed it since
    base::FileDescriptor event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) base::throw_system("eventfd");
    queue.descriptor.adopt(std::move(event));
    queue.event = queue.descriptor.get();
    queue.event_wanted = false;
    core_.leave_run();  // who finds nothing has to say so from now on
  }
  return queue.event;
}

void Engine::arm_descriptor(interface::Queue& queue) noexcept {
  lock_.assert_held();
  if (!queue.event_wanted) {
    const base::Uncancelled guard;
    std::uint64_t count;
    if (!queue.descriptor.ours() || (read(queue.event, &count, sizeof count) < 0 && errno != EAGAIN)) return;
    queue.event_wanted = true;
  }
  leave_watch();
}

void Engine::signal(interface::Queue& queue) noexcept {
  if (!queue.event_wanted) return;
  if (has_left_descriptors()) return leave_signals();
  queue.event_wanted = false;
  if (!queue.descriptor.ours()) return;
  const base::Uncancelled guard;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(queue.event, &one, sizeof one);
}

// In the control thread's table of descriptors the number of an event means another file, or none.
void Engine::leave_signals() noexcept {
  signals_due_.store(true);
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

void Engine::signal_what_is_due() noexcept {
  if (!signals_due_.exchange(false)) return;
  lock_.enter_as_other();
  if (change_wanted_) signal_change();
  for (const auto& queue : core_.queues()) {
    if (!queue->empty()) signal(*queue);
  }
  lock_.leave();
}

int Engine::change_descriptor() {
  const base::RunLockGuard guard(lock_);
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (!change_descriptor_.ours()) {  // the first call, or the program has closed it since
    base::FileDescriptor event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) base::throw_system("eventfd");
    change_descriptor_.adopt(std::move(event));
  }
  return change_descriptor_.get();
}

// Under the lock, before the last look: whatever changes from here on makes the descriptor readable.
void Engine::arm_change_descriptor() noexcept {
  lock_.assert_held();
  const base::Uncancelled guard;
  std::uint64_t count;
  if (!change_descriptor_.ours() ||
      (read(change_descriptor_.get(), &count, sizeof count) < 0 && errno != EAGAIN))
    return;
  if (!std::exchange(change_wanted_, true)) count_waiting(1);
}

void Engine::signal_change() noexcept {
  lock_.assert_held();
  if (has_left_descriptors()) return leave_signals();
  change_wanted_ = false;
  count_waiting(-1);
  if (!change_descriptor_.ours()) return;
  const base::Uncancelled guard;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(change_descriptor_.get(), &one, sizeof one);
}

// --- a program goes to sleep on one

void Engine::leave_watch() noexcept {
  lock_.assert_held();
  if (role_.load(std::memory_order_relaxed) != SleeperRole::nobody || !leave_pace_.leaves(Clock::now()))
    return;
  left_after_.store(activity_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  thread_word_.fetch_add(1);
  wake(thread_word_);
}

}  // namespace hamlyn::internal_::library
