#pragma once
// One message to an exact list of recipients, with a count of those that have got it (paper 1, section 2.4).
// The receiving interfaces acknowledge, not their programs: "delivered" means that all of it has landed in
// the recipient's memory. A recipient that dies, refuses or does not answer is told of by itself and holds up
// none of the others. For long lists see docs/slots.md.
//
// Threads: any, one send at a time. Whoever destroys it ends `wait` in other threads, with `cancelled`.
// Owner: who made it; its interface outlives it. What is sent stays the caller's.
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/terminus.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

// Sends to lists, one after the other.
class Multicast {
 public:
  // Recipients of the last send, by how it stands with them.
  struct Count {
    std::size_t delivered = 0;  // all of it is in their memory
    std::size_t failed = 0;     // will not have it: `status` says why
    std::size_t waiting = 0;    // have not answered yet
  };

  // To at most `most` recipients at a time, 1 to 4096. Throws Error: invalid_argument, out_of_memory, forked.
  explicit Multicast(Interface& interface, std::size_t most = 63);
  ~Multicast();  // as `stop`; waits end with `cancelled`
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  // Sends `data`, of up to 4 GiB less a byte, into the metadata entry of each ticket. `data` must stay until
  // nobody is waiting. ok; or, and then nothing was sent: pending (somebody is waiting for the last one),
  // too_long (more recipients than `most`, or metadata of more than 60 bytes), invalid (one is no ticket, or
  // is for fast mode, or no such element), out_of_bounds, misaligned (of one of them).
  Status send(std::span<const Ticket> recipients, std::span<const std::byte> data,
              const SendOptions& options = {}) noexcept;

  // Waits until nobody is waiting, delivered or not: ok. Also timed_out, cancelled.
  Status wait(std::chrono::nanoseconds timeout) noexcept;
  // How it stands now with the last send. Waits for nothing.
  Count count() noexcept;
  // How it stands with one of the list: pending, ok (delivered), link_ended, refused, not_durable (it has
  // landed in a durable area, and the file could not be written), cancelled. invalid: the list was not so
  // long.
  Status status(std::size_t recipient) noexcept;
  // Waits no more: who is waiting is `cancelled`, and `data` is free. What has left may arrive.
  void stop() noexcept;

 private:
  struct Recipient {
    SendHandle handle;
    Status status;
  };
  Status check(std::span<const Ticket> recipients, std::span<const std::byte> data,
               const SendOptions& options) const noexcept;
  std::size_t waiting() noexcept;

  Interface& interface_;
  std::size_t most_;
  internal_::interface::Terminus* terminus_ = nullptr;
  std::vector<Recipient> recipients_;
};

// A tree over a list whose first member is the root: the children of each member, as a range of the list.
// Each but the root is the child of exactly one; nobody has more than `fan_out` (at least 1).
struct TreeChildren {
  std::size_t first = 0;  // place in the list
  std::size_t last = 0;   // behind the last one
};
// Children of `member` (0: the root) in a list of `members`.
constexpr TreeChildren tree_children(std::size_t member, std::size_t fan_out, std::size_t members) noexcept {
  // Beyond the list already; and no product that could overflow.
  if (member >= members || member > (members - 1) / fan_out) return {members, members};
  const std::size_t first = member * fan_out + 1;
  return {first < members ? first : members, members - first < fan_out ? members : first + fan_out};
}

}  // namespace hamlyn
