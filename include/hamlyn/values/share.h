#pragma once
// Shares of a group: any number of senders fill one metadata entry, and its owner is told once (paper 0,
// section 2.5). The entry's accumulator counts modulo 2^32; each sender has a share of that number, and its
// packets add up to its share. Values; nothing here talks to anybody.
// Threads: of one GroupShares one at a time. Owner: who has it; all of these are values.
#include <cstdint>
#include <type_traits>

#include "hamlyn/values/limits.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

// The most packets that a message may be cut into: no link's packets carry less than 64 bytes, but the last.
constexpr std::uint64_t packets_at_most(std::uint64_t bytes) noexcept {
  return bytes == 0 ? 1 : bytes / 64 + (bytes % 64 != 0 ? 1 : 0);
}

// Lets one sender take part: where to send, and how much its packets count. Good for one message of up to
// `ticket.bound` bytes. A holder of its 72 bytes may send in its place: copy it into a message, but let one
// holder use it, once.
struct Share {
  Ticket ticket;  // its bounds are this share's part of the buffer
  std::uint32_t count = 0;
  std::uint32_t version = 1;  // of this structure

  // Takes the first `bytes` of this share's buffer off, with so much of its count that a message of that
  // length can be sent by `piece`, and another one by what remains here: for a helper that sends in this
  // one's place, or for several messages of one sender (scatter-gather). A piece may be split again.
  // share_too_small: there would be fewer counts than packets; out_of_bounds: there are not so many bytes.
  // Then nothing was changed.
  Status split(std::uint64_t bytes, Share& piece) noexcept;

  friend bool operator==(const Share&, const Share&) = default;
};
static_assert(sizeof(Share) == 72 && std::is_trivially_copyable_v<Share>);

// Null if `share` is well formed, otherwise what is wrong with it.
const char* invalid(const Share& share) noexcept;

// Hands out the shares of one arming, one by one; they sum to the group's whole, and no two are equal, so
// that a sender that sends twice by mistake never passes for another. Slot::arm_group makes it.
class GroupShares {
 public:
  // A group has no more.
  static constexpr std::uint32_t kMostMembers = 65536;
  // Sum of all shares: one less than 2^32, since the entry itself holds one. So each fits 32 bits, and no
  // packet of a group has a delta of 0.
  static constexpr std::uint32_t kWhole = 0xFFFFFFFFu;

  GroupShares() = default;
  // Begins the shares of an entry that Slot::arm_group has armed for so many.
  GroupShares(const Ticket& entry, std::uint32_t members) noexcept : ticket_(entry) { begin(members); }

  // The next share, for messages into `part` of the buffer (the same bytes for all, if it is left out). The
  // last gets what is left. invalid: there are none left; out_of_bounds: no such part; share_too_small: so
  // many members cannot each send so many bytes: give each a part. Then nothing was changed.
  Status next(Share& share, Limits part = {}) noexcept;

  // Shares that `next` can still give.
  std::uint32_t left() const noexcept { return left_; }

 private:
  friend class Slot;  // which makes it in its place

  void begin(std::uint32_t members) noexcept {
    rest_ = kWhole;
    members_ = left_ = members;
  }

  Ticket ticket_;
  std::uint32_t rest_ = 0;
  std::uint32_t members_ = 0;
  std::uint32_t left_ = 0;
};

}  // namespace hamlyn
