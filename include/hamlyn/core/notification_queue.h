#pragma once
// A circular queue of notifications in this process's own memory (paper 0, section 2.6): polling it touches
// nothing shared. Several slots may notify one queue; an interface may have several queues.
//
// `poll` is the papers' h_rcv, `receive` their h_rcv_block. Threads: any; each notification is given once.
// Whoever destroys a queue ends the calls that wait on it in other threads, with `cancelled`, and waits until
// they have left.
// Owner: who made it; its interface outlives it, and it outlives its slots. Notifications are values.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hamlyn/core/interface.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace internal_::interface {
class Queue;
}
namespace internal_::base {
class PendingCalls;
template <class Signature>
class FunctionRef;
}  // namespace internal_::base
namespace internal_::library {
class Locked;
class PendingCall;
}  // namespace internal_::library

// Tells of messages.
class NotificationQueue {
 public:
  // `places` is rounded up to a power of two, from 16 to 2^20. Throws Error: invalid_argument,
  // out_of_memory, forked.
  explicit NotificationQueue(Interface& interface, std::size_t places = 4096);
  ~NotificationQueue();  // its slots must be gone; waits end with `cancelled`
  NotificationQueue(const NotificationQueue&) = delete;
  NotificationQueue& operator=(const NotificationQueue&) = delete;

  // Fills `out` with notifications and returns how many: 0 if none was found, otherwise maybe fewer than
  // there are. Runs the interface when none is found, if not in each call. Never sleeps; a call that finds
  // nothing takes a fraction of a microsecond when all there is to look at is one link.
  [[nodiscard]] std::size_t poll(std::span<Notification> out) noexcept;
  // The next one, if there is one.
  [[nodiscard]] std::optional<Notification> poll() noexcept {
    std::optional<Notification> next{std::in_place};
    if (poll({&*next, 1}) == 0) next.reset();
    return next;
  }

  // Waits: spins about as long as a wake-up costs, then sleeps. ok, timed_out, cancelled or forked.
  Status receive(Notification& out) noexcept;
  Status receive(Notification& out, std::chrono::nanoseconds timeout) noexcept;

  // A descriptor for epoll or poll, readable when the queue may hold something. Before going back to
  // epoll, poll the queue until it is empty, or receive until the time is over. Owned by the queue. Throws
  // Error: system, out_of_memory, forked.
  int descriptor();

  // Places that it has.
  std::size_t capacity() const noexcept;
  Interface& interface() noexcept { return interface_; }
  // Internal: receives as `receive` does, as a part of a call that stays for longer.
  Status receive(Notification& out, std::chrono::nanoseconds timeout,
                 internal_::library::PendingCall& call) noexcept;
  // Internal: waits until `ready`, called under the run lock, returns something else than pending. After a
  // timeout the descriptor tells of what comes.
  Status wait(internal_::library::PendingCall& call,
              internal_::base::FunctionRef<Status(const internal_::library::Locked&)> ready,
              std::chrono::nanoseconds timeout) noexcept;
  // Internal: takes the oldest notification that stands here, without a run of the interface. pending: none
  // does.
  Status take(const internal_::library::Locked& locked, Notification& out) noexcept;
  // Internal: shows `see` the notifications that stand here, oldest first, and leaves them here.
  void look(const internal_::library::Locked& locked,
            internal_::base::FunctionRef<void(const Notification&)> see) const;
  // Internal: as `poll` with room for one, where messages to posted buffers are what comes most.
  std::size_t poll_posted(Notification& out) noexcept;
  // Internal: calls that wait on this queue.
  internal_::base::PendingCalls& calls() noexcept;
  // Internal: the interface layer's queue.
  internal_::interface::Queue& inside() noexcept { return *queue_; }

 private:
  template <class Ready>
  Status wait_here(internal_::library::PendingCall& call, Ready ready,
                   std::chrono::nanoseconds timeout) noexcept;
  std::size_t poll_other(std::span<Notification> out) noexcept;
  std::size_t poll_several(std::span<Notification> out) noexcept;
  std::size_t poll_uncached(std::span<Notification> out) noexcept;
  std::size_t look_and_take_posted(Notification& out, bool found) noexcept;
  std::size_t look_and_take(std::span<Notification> out, std::uint32_t row, bool found) noexcept;

  Interface& interface_;
  internal_::interface::Queue* queue_ = nullptr;
};

}  // namespace hamlyn
