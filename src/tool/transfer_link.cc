#include "tool/transfer_link.h"

#include <string>

#include "tool/failure.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

// No wait is longer than this at a time, so that the library never adds a time without end to its clock.
constexpr std::chrono::milliseconds kSlice = std::chrono::hours{1};
// Nor longer than this where the link may end between a look and the wait: that would be for the next link.
constexpr std::chrono::milliseconds kLinkSlice{100};

}  // namespace

void check_stop(const char* doing) {
  if (Stop::requested()) throw interrupted(std::string("interrupted while ") + doing);
}

Status connect(Terminus& terminus, const Ticket& ticket, const Deadline& deadline) {
  for (;;) {
    check_stop("connecting");
    const Status status = terminus.connect(ticket, deadline.slice(kSlice));
    if (status == Status::timed_out && !deadline.passed()) continue;
    if (status != Status::cancelled) return status;
  }
}

Status send_small(Terminus& terminus, const Ticket& ticket, std::span<const std::byte> bytes,
                  std::uint64_t offset, const Deadline& deadline, Link link) {
  for (;;) {
    check_stop("talking to the other side");
    const Status status = terminus.send_fast(ticket, bytes, 0, offset);
    // Without a daemon nobody would say that there will not be another.
    if (status == Status::connecting && link == Link::made) return Status::link_ended;
    const bool later =
        status == Status::no_place || status == Status::queue_full || status == Status::connecting;
    if (!later) return status;
    if (deadline.passed()) return Status::timed_out;
    const Status waited =
        terminus.wait_for_place(ticket, deadline.slice(link == Link::made ? kLinkSlice : kSlice));
    // That there will be no link is told once, to whoever waits: to send again would only ask anew.
    if (waited != Status::ok && waited != Status::timed_out && waited != Status::cancelled) return waited;
  }
}

bool wait_notification(NotificationQueue& queue, Notification& out, const Deadline& deadline) {
  for (;;) {
    check_stop("waiting for the other side");
    switch (const Status status = queue.receive(out, deadline.slice(kSlice))) {
      case Status::ok:
        return true;
      case Status::cancelled:
        break;
      case Status::timed_out:
        if (deadline.passed()) return false;
        break;
      default:
        throw failure("cannot wait for the other side", status);
    }
  }
}

}  // namespace hamlyn::tool
