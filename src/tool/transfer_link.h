#pragma once
// What both sides of a transfer do with the link: small messages in fast mode, and waits that Ctrl-C ends.
#include <chrono>
#include <cstdint>
#include <span>

#include "hamlyn/hamlyn.h"
#include "tool/deadline.h"

namespace hamlyn::tool {

// Throws the Failure for Ctrl-C if it was pressed; `doing` completes "interrupted while ...".
void check_stop(const char* doing);

// Makes the link and gets places there. As Terminus::connect, but until the deadline and ended by Ctrl-C.
Status connect(Terminus& terminus, const Ticket& ticket, const Deadline& deadline);

// Whether the link was made before, with places there: if it has to be made anew, the other side has gone.
enum class Link { new_or_made, made };

// Sends one packet in fast mode, waiting for a place if need be. ok, timed_out, link_ended, refused or
// another that is final.
Status send_small(Terminus& terminus, const Ticket& ticket, std::span<const std::byte> bytes,
                  std::uint64_t offset, const Deadline& deadline, Link link = Link::new_or_made);

// The next notification, waiting for it until the deadline. False: timed out.
bool wait_notification(NotificationQueue& queue, Notification& out, const Deadline& deadline);

}  // namespace hamlyn::tool
