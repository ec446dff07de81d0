#pragma once
// Answers of the data path. It never throws and never waits unless asked to: back-pressure is a named result,
// and each name says what the caller can do.
#include <cstdint>

namespace hamlyn {

enum class [[nodiscard]] Status : std::uint8_t;

// Answers calls of the data path. The compiler tells a caller that ignores one.
enum class Status : std::uint8_t {
  ok,
  pending,     // accepted, not finished: ask again with the handle, or wait
  queue_full,  // the terminus has no free work-queue entry: run the interface (poll), then try again
  no_place,    // no notification place is free for this slot at the receiver: poll, then try again
  connecting,  // the link to that interface is being made: poll, then try again
  timed_out,   // the time given has passed; what was asked of another process may still be done
  cancelled,   // another thread cancelled the wait, or somebody the message
  link_ended,  // the other side died, left, stalled or broke the protocol, or is not there: its tickets are
               // worth nothing now
  refused,     // the other side, or the node, does not allow it or has no room for it
  too_long,    // larger than one packet carries (fast mode), than metadata may be (60 bytes), than a message
               // may be (4 GiB), or than the buffer of a datagram's receiver
  out_of_bounds,    // outside the bounds named in the ticket
  invalid,          // the ticket or handle is no such thing
  share_too_small,  // a share counts fewer than the packets of such a message, or of the parts it is split
                    // into
  not_durable,      // it has landed, but the receiver's file could not be written: do not count on it
  forked,           // this process is a forked child: it has no interface until it makes its own
  not_ready,        // the receiver takes no message there now: send again when it does
  closed,           // one side has closed the stream in good order: nothing more comes or goes
  abandoned,        // the other side gave the stream up without closing it: what it still had is lost
  broken,           // the other side of the stream has said what no honest one says
  no_buffer,        // all buffers are in use, or as many as one may have; or no memory for one
  misaligned,       // the size of an element does not divide the length, or the offset in the slot
  stale,            // what the ticket was for has gone, or has another key: get a new ticket
};

// The name as written above, for messages. Never null.
const char* name(Status status) noexcept;

// One sentence: what the caller can do about it. Never null.
const char* advice(Status status) noexcept;

}  // namespace hamlyn
