#pragma once
// Common to the calls of a terminus that send (terminus.cc) and those that put, get and ask
// (terminus_remote.cc).
#include <optional>

#include "base/namespaces.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/values/status.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {

// In `ready` functions of waits: these mean that it is worth trying again.
inline Status try_again(Status status) noexcept {
  return status == Status::connecting || status == Status::no_place || status == Status::queue_full
             ? Status::pending
             : status;
}

inline bool waits(Status status) noexcept {
  return status != Status::pending && try_again(status) == Status::pending;
}

__attribute__((noinline)) inline Status ring_and_leave(shm::ShmLink& link, base::RunLock& lock) noexcept {
  link.ring();
  lock.leave_quickly();
  return Status::ok;
}

// Behind what has gone the short way. `asleep`: the link whose peer is to be woken, or null.
__attribute__((always_inline)) inline Status leave(base::RunLock& lock, shm::ShmLink* asleep) noexcept {
  if (asleep != nullptr) [[unlikely]]
    return ring_and_leave(*asleep, lock);
  lock.leave_quickly();
  return Status::ok;
}

// Null: none was named. Nothing: one of another interface.
template <class Options>
std::optional<interface::Queue*> queue_of(const Options& options, const Interface& own) noexcept {
  if (options.queue == nullptr) return nullptr;
  if (&options.queue->interface() != &own) return std::nullopt;
  return &options.queue->inside();
}

}  // namespace hamlyn::internal_::library
