#pragma once
// Where messages leave (paper 0, sections 2.3 and 3.2): a private work queue. `send` is the papers'
// h_send_msg. Sending never blocks: what cannot be taken now is answered with a status. Threads: any.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/interface.h"
#include "hamlyn/status.h"
#include "hamlyn/ticket.h"

namespace hamlyn {

namespace interface {
class Terminus;
}

// Tells when the buffer of a send may be reused. A value.
struct SendHandle {
  std::uint64_t sequence = 0;  // 0: of nothing
};

struct SendOptions {
  std::uint64_t offset = 0;                  // from the ticket's base
  std::span<const std::byte> metadata = {};  // up to 60 bytes, kept in the receiver's metadata entry
};

class Terminus {
 public:
  // `entries`: messages that may be under way at a time, 1 to 4096; 63 in the paper. Throws Error.
  explicit Terminus(Interface& interface, std::size_t entries = 63);
  ~Terminus();  // forgets what was not sent
  Terminus(const Terminus&) = delete;
  Terminus& operator=(const Terminus&) = delete;

  // Sends `data`, of any size, into the ticket's metadata entry. Returns at once: `ok` when all has been
  // given to the link (the buffer is free), `pending` when the interface moves the rest (the buffer must stay
  // until `status(*handle)` is no longer pending), otherwise nothing was taken. Makes the link at first use.
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options = {},
              SendHandle* handle = nullptr) noexcept;

  // Fast mode (paper 0, section 2.7): one packet (up to the MTU), no metadata entry, one word of metadata in
  // the receiver's queue. ok (the buffer is free), or connecting, no_place, queue_full: nothing was taken.
  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word = 0,
                   std::uint64_t offset = 0) noexcept;

  // Makes the link to the ticket's interface and, for a fast-mode ticket, gets places there; waits up to
  // `timeout`. ok, timed_out, cancelled, link_ended, refused.
  Status connect(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept;

  // pending, ok, or link_ended. Runs nothing.
  Status status(SendHandle handle) const noexcept;
  // Waits until it is no longer pending. Also timed_out, cancelled.
  Status wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept;
  // Waits until a fast-mode send to `ticket` has a place and room, or the link has ended.
  Status wait_for_place(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept;

  Interface& interface() noexcept { return interface_; }

 private:
  Interface& interface_;
  interface::Terminus* terminus_ = nullptr;
};

}  // namespace hamlyn
