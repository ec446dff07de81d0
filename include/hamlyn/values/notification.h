#pragma once
// Notifications of a queue (paper 0, table 3; paper 1, section 3.4).
#include <cstdint>

#include "hamlyn/values/link_reason.h"

namespace hamlyn {

// Why a packet was refused. Counted per cause and link; shown by `hamlyn node`.
enum class Refusal : std::uint8_t {
  none,
  malformed,         // an unknown operation, or fields that contradict each other
  bad_slot,          // no such slot
  stale_generation,  // the slot was given to somebody else since
  bad_key,
  mode_forbids,       // the slot does not take this kind of packet
  out_of_bounds,      // outside the slot's bounds, or the entry's
  bad_entry,          // no such metadata entry
  entry_not_armed,    // the entry takes nothing until its owner arms it
  entry_busy,         // the entry is being filled by another message
  stale_message,      // of an incarnation that is over
  metadata_too_long,  // more than 60 bytes
  no_place,           // more notifications than were granted, or a queue without places to grant
  over_budget,        // more requests than a link may have outstanding
  misaligned,         // a word or elements that do not lie at a multiple of their size
  unasked_reply,      // answers no request of this link, or with more than was asked for
  bad_share,          // of a group: it adds nothing, or more than the group has left
  bad_area,           // data said to stand where the sender has shown nothing, or what it has dropped since
  too_long,           // a get of more bytes than the slot gives at a time; a message longer than its buffer
  not_durable,        // it has landed, but the file of a durable area could not be written
  not_pinned,         // a get or a fetch of a part that is not pinned
  inhibited,          // a fetch where puts are inhibited, or a signal of puts that wait in another slot
  hold_full,          // a put to an inhibited or unpinned part: as many wait as may
  not_permitted,      // the slot's protection does not allow it to the user at the other side
  no_buffer,          // of a slot with posted buffers: none waits for a message
  count,              // (how many there are)
};

// The name as written above. Never null.
const char* name(Refusal cause) noexcept;

// Why an entry will not complete.
enum class Failure : std::uint8_t {
  none,
  link_ended,  // of a link that was filling it, or that it was said to wait for
  timed_out,   // the time given to it has passed
  abandoned,   // its sender says that the rest will not come, or has dropped the area that it stood in
  miscounted,  // a group: its members' packets add more than the group has left
};

// The name as written above. Never null.
const char* name(Failure failure) noexcept;

// A value.
struct Notification {
  // Kinds of notification.
  enum class Kind : std::uint8_t {
    message,         // a message is complete
    failed,          // the entry will not complete; failure() says why
    protocol_error,  // packets of one link were refused for one cause; `word` says how many
    // Links to `peer` that had used this queue ended; `word` says how many. A queue that is not read keeps
    // 256 links apart: the ends of further ones are told together, as of peer 0. Then any link may have
    // ended. why() says why the last of them has.
    link_ended,
    // A remote operation of this interface that asked for it is over; `word` is its own, slot, offset and
    // length say where a get landed.
    remote_done,
    remote_failed,  // `cause` says why it was refused; none: its link ended, or where it was to land is gone
    // Puts have landed (docs/remote-memory.md): `word` says how many, offset and length where; `peer` is 0 if
    // they are of several.
    put,
    put_held,  // the same, of puts that wait because that part of the slot is inhibited or not pinned
    got,       // the same, of gets that were answered here
    fetched,   // the same, of fetch-and-ops that were done here
    // The node's daemon is lost (`word` is 1) or found again (0). The last of several changes that wait is
    // told: Interface::attachment() says why.
    attachment,
    // As protocol_error, of packets that nothing is wrong with: something here has run out, `cause` says
    // what. no_place: places of this queue, for fast mode or puts; hold_full: puts that may wait. none:
    // descriptors, memory or links of this process, so that it could not have a link that others wanted;
    // why() says what, `word` how often, `peer` who was the last. Told on the process's first queue.
    resource_exhausted,
    // A message of this interface that asked for it has been sent, and its buffer is free; `word` is its own,
    // `length` the message's.
    sent,
    send_failed,  // `cause` says why it was refused; none: its link ended, or it was cancelled
    // A slot with posted buffers takes no more messages: `cause` says what its next one lacked (no_buffer,
    // too_long; or why a put of which it was to tell was refused).
    halted,
  };

  Kind kind = Kind::message;      // what it tells of
  bool wrap = false;              // this place is the first of a new turn of the queue
  bool fast = false;              // fast mode: no metadata entry
  Refusal cause = Refusal::none;  // for protocol_error, resource_exhausted
  std::uint32_t slot = 0;         // Slot::number()
  std::uint32_t entry = 0;        // metadata entry; of nothing in fast mode
  std::uint32_t message_id = 0;   // the sender's number of the message
  std::uint64_t offset = 0;       // of the first byte, from the slot's base; of a posted buffer its number
  std::uint64_t length = 0;       // bytes that landed
  std::uint64_t word = 0;         // fast mode, and posted buffers: the sender's word of metadata
  std::uint64_t peer = 0;  // the interface that sent it, as the node attests; 0: several did, or nobody

  // Why, of the kind `failed`.
  Failure failure() const noexcept {
    return kind == Kind::failed ? static_cast<Failure>(word) : Failure::none;
  }
  // Why, of the kinds `link_ended`, and `resource_exhausted` without a cause. It stands in `entry` and
  // `message_id`.
  WhyNoLink why() const noexcept {
    const bool of_a_link =
        kind == Kind::link_ended || (kind == Kind::resource_exhausted && cause == Refusal::none);
    return of_a_link ? WhyNoLink{static_cast<LinkReason>(entry), message_id != 0} : WhyNoLink{};
  }
};

}  // namespace hamlyn
