#pragma once
// A client's way to the interface. What is made here goes before the queue.
#include <memory>
#include <optional>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/put.h"
#include "library/no_link.h"
#include "library/wait/waiting.h"
#include "rpc/rpc_wire.h"

namespace hamlyn::internal_::rpc {

class ClientPort {
 public:
  ClientPort(Interface& interface, NotificationQueue& queue) : interface_(interface), queue_(queue) {}

  // Where results land: each stack has a place for a short one, and one for a long one behind all of them.
  // Those that there were before go, and so do the ways there: they know of links that have ended.
  void make_landing(std::size_t stacks, std::size_t stride, std::size_t longest) {
    stride_ = stride;
    longest_ = longest;
    long_at_ = stacks * stride;
    urgent_.reset();
    terminus_.reset();
    landing_.reset();
    landing_.emplace(interface_, queue_, stacks, stride, longest);
    terminus_.emplace(interface_, TerminusOptions{.entries = 64});
    urgent_.emplace(interface_, TerminusOptions{.priority = Priority::urgent});
  }
  std::uint32_t number() const noexcept { return landing_ ? landing_->slot.number() : ~0u; }
  Ticket ticket() const { return landing_->slot.ticket(); }
  std::uint32_t incarnation() const { return landing_->slot.ticket(0).incarnation; }
  std::size_t stride() const noexcept { return stride_; }
  std::uint64_t long_offset(std::uint64_t stack) const noexcept { return long_at_ + stack * longest_; }
  const std::byte* bytes(bool longer, std::size_t stack) const noexcept {
    return landing_->area.bytes().data() + (longer ? long_offset(stack) : stack * stride_);
  }
  std::span<const std::byte> landed(const Notification& next) const noexcept {
    return landing_->slot.bytes(next);
  }
  // The metadata of a long result; 0: it is none.
  std::uint64_t word(const Notification& next) const noexcept {
    const std::span<const std::byte> metadata = landing_->slot.metadata(next.entry);
    return metadata.size() == sizeof(std::uint64_t) ? base::load_little<std::uint64_t>(metadata.data()) : 0;
  }
  // Fails while a message is under way there, or was not read: then another has armed it.
  void arm(std::uint32_t entry) noexcept { static_cast<void>(landing_->slot.arm(entry)); }

  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset, bool urgent) noexcept {
    return (urgent ? *urgent_ : *terminus_).send_fast(ticket, data, word, offset);
  }
  Status send_row(const Ticket& ticket, std::span<const FastMessage> row, std::size_t& sent) noexcept {
    return terminus_->send_fast_row(ticket, row, sent);
  }
  Status send(const Ticket& ticket, std::span<const std::byte> data, std::span<const std::byte> metadata,
              SendHandle& handle) noexcept {
    return terminus_->send(ticket, data, {.metadata = metadata}, &handle);
  }
  // Has the buffer of that message free. Cannot fail: no part of it lies in an area that others read.
  void cancel(SendHandle handle) noexcept {
    if (terminus_->status(handle) == Status::pending) static_cast<void>(terminus_->cancel(handle));
  }
  // Goes before what is sent from here.
  void close() noexcept {
    urgent_.reset();
    terminus_.reset();
  }
  Status put(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) noexcept {
    return terminus_->put(ticket, data, {.offset = offset});
  }
  // Makes the link, without a wait. connecting: not yet.
  Status connect(const Ticket& ticket) noexcept { return terminus_->try_connect(ticket); }
  // Has the first entry fail when the link with that interface ends before anything has come from there.
  bool watch(std::uint64_t peer) noexcept { return landing_->slot.expect(0, peer) == Status::ok; }
  library::LinkNow link(std::uint64_t peer) noexcept { return library::link_now(interface_, peer); }

 private:
  struct Landed {
    Landed(Interface& interface, NotificationQueue& queue, std::size_t stacks, std::size_t stride,
           std::size_t longest)
        : area(interface, stacks * (stride + longest)),
          slot(area, queue,
               {.access = Access::write_only,
                .entries = static_cast<std::uint32_t>(stacks),
                .places = places_for(stacks)}) {}
    mutable MessageArea area;
    mutable Slot slot;
  };

  Interface& interface_;
  NotificationQueue& queue_;
  std::optional<Landed> landing_;
  std::optional<Terminus> terminus_, urgent_;
  std::size_t stride_ = 0, longest_ = 0, long_at_ = 0;
};

}  // namespace hamlyn::internal_::rpc
