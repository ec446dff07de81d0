#pragma once
// Where an endpoint is greeted, whichever way its messages take, and how it greets others: a slot with posted
// buffers, each for one hello.
#include <unistd.h>

#include <algorithm>
#include <span>
#include <vector>

#include "am/am_wire.h"
#include "base/namespaces.h"
#include "base/random.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/posted_slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/notification.h"
#include "library/no_link.h"

namespace hamlyn::internal_::am {

inline constexpr std::uint32_t kDoorBuffers = 128;

class Door {
 public:
  // Throws Error.
  Door(Interface& interface, NotificationQueue& queue)
      : interface_(interface),
        queue_(queue),
        heard_(kDoorBuffers),
        greetings_(interface, {.entries = 1024}),
        slot_(queue, {.buffers = kDoorBuffers}) {
    for (std::uint32_t i = 0; i != kDoorBuffers; ++i) open(i);
  }

  // Greets somebody; `bytes` stay until it is told how that ended, or it is taken back.
  Status say(const Ticket& door, std::span<const std::byte> bytes, std::uint64_t token,
             SendHandle& handle) noexcept {
    return greetings_.send_posted(door, bytes, 0, {.acknowledged = true, .queue = &queue_, .word = token},
                                  &handle);
  }
  void unsay(const SendHandle& handle) noexcept { static_cast<void>(greetings_.cancel(handle)); }
  // Says it if there is room now, and nobody hears how that ended.
  void say_once(const Ticket& door, std::span<const std::byte> bytes) noexcept {
    SendHandle handle;
    if (greetings_.send_posted(door, bytes, 0, {}, &handle) == Status::pending) unsay(handle);
  }
  Ticket ticket() const { return slot_.ticket(); }
  std::uint32_t number() const { return slot_.number(); }
  std::uint64_t link(std::uint64_t peer) noexcept { return library::link_now(interface_, peer).serial; }
  // Never 0.
  static std::uint64_t random() { return base::random_key() | 1; }
  // Whether the node attests that user of the other side.
  bool is_own_user(std::uint64_t peer) noexcept {
    return library::link_now(interface_, peer).uid == ::geteuid();
  }
  bool is_far(std::uint64_t peer) noexcept { return library::is_far(interface_, peer); }

  // Tells a machine what a notification says that is of no message.
  template <class M>
  void hear(M& machine, const Notification& next) noexcept {
    using What = Notification::Kind;
    switch (next.kind) {
      case What::message:
        if (next.slot != slot_.number() || next.offset >= kDoorBuffers) return;
        machine.hear_hello(next.peer, bytes_of(next));
        open(static_cast<std::uint32_t>(next.offset));
        return;
      case What::failed:
        if (next.slot == slot_.number() && next.offset < kDoorBuffers)
          open(static_cast<std::uint32_t>(next.offset));
        return;
      case What::sent:
        return machine.hear_said(next.word, true, Refusal::none);
      case What::send_failed:
        return machine.hear_said(next.word, false, next.cause);
      case What::link_ended:
        return machine.hear_link_ended(next.peer);
      default:
        return;
    }
  }

 private:
  std::span<const std::byte> bytes_of(const Notification& next) const noexcept {
    const auto all = std::as_bytes(std::span(&heard_[next.offset], 1));
    return next.length <= all.size() ? all.first(next.length) : std::span<const std::byte>{};
  }
  void open(std::uint32_t buffer) noexcept {
    // Cannot fail: a buffer that was heard, or has failed, is free.
    static_cast<void>(slot_.post(std::as_writable_bytes(std::span(&heard_[buffer], 1)), buffer));
  }

  Interface& interface_;
  NotificationQueue& queue_;
  std::vector<Hello> heard_;  // by the slot's buffers
  Terminus greetings_;
  PostedSlot slot_;
};

}  // namespace hamlyn::internal_::am
