#pragma once
// Remote operations: fetch-and-op on a word of another interface's slot (paper 1, section 3.1) and remote get
// of its bytes (paper 1, section 3.3). Both are done by the interface at the other side, whatever its
// application does meanwhile; `Terminus::fetch` and `Terminus::get` ask for them.
#include <cstdint>

#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

class NotificationQueue;
struct Strides;

// Each is atomic against every other one and against the owner's own std::atomic_ref on that word. The word
// takes the result; what stood there before comes back.
enum class FetchOp : std::uint8_t {
  add = 1,  // modulo the word's size
  bit_and,
  bit_or,
  bit_xor,
  swap,        // takes the operand
  min_signed,  // two's complement
  max_signed,
  min_unsigned,
  max_unsigned,
  compare_and_swap,  // takes the operand if it equals `compare`
};

// Operation on a word. A value.
struct Fetch {
  FetchOp op = FetchOp::add;  // which one
  std::uint32_t bytes = 8;    // of the word, 4 or 8. It must lie at a multiple of that in the owner's memory
  std::uint64_t operand = 0;  // for a word of 4 bytes the low half counts, here and in the result
  std::uint64_t compare = 0;  // for compare_and_swap, the low half of a word of 4 bytes
};

struct RemoteOptions {
  std::uint64_t offset = 0;  // from the ticket's base
  // A fetch without answer: nothing comes back, not even that it was done, and it counts for no limit. If it
  // is refused, only the other side hears of it.
  bool answered = true;
  // One without answer counts as a put: a fence at that slot, which takes puts, says whether it was refused.
  bool fenced = false;
  NotificationQueue* queue = nullptr;  // hears when it is over; must outlive it
  std::uint64_t word = 0;              // for that notification
  // Width of the numbers that a get brings, 2, 4 or 8, for a host of the other byte order to turn over; 0:
  // bytes. It must divide the length and the offset from the slot's base (misaligned). A fetch's word is a
  // number always.
  std::uint32_t element = 0;
  // A get gathers chunks (hamlyn/values/put.h), which land behind one another: what a scattered put does, the
  // other way. As many bytes as the get has (otherwise invalid), all inside the ticket's bounds. Null: from
  // one run.
  const Strides* strides = nullptr;
  // The owner is told when it is done (Notification::got, fetched), unless its slot's Control is `never`. Of
  // a slot that takes puts; takes one of the places that it keeps for this link, or is answered no_place;
  // refused: it keeps none.
  bool notify = false;
};

// Names a remote operation of one terminus. A value.
struct RemoteHandle {
  std::uint64_t sequence = 0;  // 0: of nothing
};

// How a remote operation ended. After link_ended nobody knows whether it was done; after timed_out and
// cancelled, which are of a wait, it goes on.
struct [[nodiscard]] Outcome {
  // pending, ok, refused, link_ended, cancelled, timed_out, or why it was not asked for
  Status status = Status::invalid;
  Refusal cause = Refusal::none;  // for Status::refused: why, as the other side says
  std::uint64_t value = 0;        // fetch: what stood there before

  // Why the link has ended with which puts may be lost: of a fence that is link_ended although it was
  // answered. Otherwise nothing. Not of a fetch.
  WhyNoLink why() const noexcept {
    if (status != Status::link_ended) return {};
    return {static_cast<LinkReason>(value & 0xFFFF), (value >> 16) != 0};
  }
};

}  // namespace hamlyn
