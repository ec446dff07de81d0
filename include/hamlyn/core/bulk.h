#pragma once
// Bulk transfer into space that was negotiated just before (paper 1, sections 4 and 4.1): for one message, or
// as a circular buffer whose freed space the receiver tells of in whatever it answers anyway. Who asks for
// the space, and in which message, is the application's: offers are values.
//
// Threads: an object is used by one at a time.
// Owner: who made it; the queue or the terminus that it was made with outlives it. Offers and BulkFreed
// are values.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"

namespace hamlyn {

// Receiver: fresh memory for one message. Destroyed, it is nobody's any more, and its ticket is refused.
class BulkSpace {
 public:
  // `bytes`, at least 1; its message is told in `queue`. Throws Error: invalid_argument, out_of_memory,
  // forked.
  BulkSpace(NotificationQueue& queue, std::size_t bytes);

  // Takes one message of up to `bytes`, and nothing after it: send it to the one who is to fill the space.
  const Ticket& offer() const noexcept { return offer_; }
  // Whether `arrival` is of this space: its message, or its failure.
  bool holds(const Notification& arrival) const noexcept { return arrival.slot == slot_.number(); }
  // The message that `arrival` tells of, in place, until this goes.
  std::span<std::byte> bytes(const Notification& arrival) noexcept { return slot_.bytes(arrival); }

 private:
  MessageArea area_;
  Slot slot_;
  Ticket offer_;
};

// A circular buffer, as its receiver offers it. 72 bytes.
struct BulkRingOffer {
  Ticket ticket;              // of the first metadata entry; its bounds are the buffer
  std::uint32_t pieces = 0;   // messages that may be there at a time: so many entries, from that one on
  std::uint32_t version = 1;  // of this structure
};
static_assert(sizeof(BulkRingOffer) == 72 && std::is_trivially_copyable_v<BulkRingOffer>);

// Null if `offer` is well formed, otherwise what is wrong with it.
const char* invalid(const BulkRingOffer& offer) noexcept;

// How much of a ring the receiver has freed since it was made. Rides on any reply. 16 bytes.
struct BulkFreed {
  std::uint64_t pieces = 0;  // so many messages
  std::uint64_t bytes = 0;   // with what was left out where the buffer ends
};
static_assert(sizeof(BulkFreed) == 16 && std::is_trivially_copyable_v<BulkFreed>);

// Receiver: the buffer. Pieces are taken in the order that they were sent in, whatever order they came in.
class BulkRing {
 public:
  // `bytes` for up to `pieces` (1 to 4096) at a time. Throws Error: invalid_argument, out_of_memory, forked.
  BulkRing(NotificationQueue& queue, std::size_t bytes, std::uint32_t pieces);

  // To be sent to the one who is to fill the ring. A value. Throws Error(forked).
  BulkRingOffer offer() const;
  // Whether `arrival` is of this ring.
  bool holds(const Notification& arrival) const noexcept { return arrival.slot == slot_.number(); }
  // For each arrival that it holds. False: it is no piece of an honest sender, or has failed: the ring is of
  // no use any more.
  [[nodiscard]] bool arrived(const Notification& arrival) noexcept;
  // The next piece, in place until it is freed; nothing: it has not come yet.
  [[nodiscard]] std::optional<std::span<std::byte>> next() noexcept;
  // Frees the oldest piece that `next` has given. False: there is none.
  [[nodiscard]] bool free() noexcept;
  // Count to put on the next reply.
  BulkFreed freed() const noexcept { return freed_; }

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    bool here = false;
  };

  MessageArea area_;
  Slot slot_;
  std::vector<Piece> pieces_;  // by entry
  std::uint64_t given_ = 0;    // pieces that `next` has given
  BulkFreed freed_;
};

// Sender: fills the ring of an offer, and never more of it than is free.
class BulkRingSender {
 public:
  // Throws Error(invalid_argument) if the offer is none.
  BulkRingSender(Terminus& terminus, const BulkRingOffer& offer);

  // Sends one piece, at most the buffer's length. As Terminus::send; no_place: the window is full, wait for a
  // reply with what was freed; too_long; a piece without bytes is `invalid`.
  Status send(std::span<const std::byte> piece, SendHandle* handle = nullptr) noexcept;
  // Takes the count that came with a reply. False: no honest receiver has freed so much; nothing was changed.
  [[nodiscard]] bool freed(const BulkFreed& freed) noexcept;

  // Messages that were sent, and that no reply has told free.
  std::uint64_t unfreed_pieces() const noexcept { return sent_.pieces - freed_.pieces; }

 private:
  Terminus& terminus_;
  BulkRingOffer offer_;
  BulkFreed sent_;  // likewise counted
  BulkFreed freed_;
};

}  // namespace hamlyn
