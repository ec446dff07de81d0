#pragma once
// Grows a sender at the other side (paper 0, section 3.3). A receiver makes a seed; a holder of its 64 bytes
// may make the one sender that belongs to it. Send it in a message, store it, register it under a name. Like
// a ticket it holds no address and no name of a process.
//
// A value: no thread or process owns it. A sender's constructor says by name what is wrong with a seed:
// seed_invalid, seed_wrong_kind, seed_used, seed_stale, seed_forged, peer_died (hamlyn/values/error.h).
#include <type_traits>

#include "hamlyn/values/ticket.h"

namespace hamlyn {

// Kinds of sender that a seed grows.
enum class SeedKind : std::uint32_t {
  none,              // a plain ticket
  datagram,          // DatagramSender, any number of them
  stream,            // StreamSender, one
  tagged,            // TaggedSender, any number of them
  loan,              // LoanSender, one
  segment,           // Import (hamlyn/segment/segment.h), any number of them
  readable_segment,  // the same, of one that may be mapped for reading
  shared_segment,    // and for writing
};

// 64 bytes to send, store or publish.
struct Seed {
  Ticket ticket;  // where the receiver hears of those who come with it

  // For which protocol it is.
  SeedKind kind() const noexcept { return static_cast<SeedKind>(ticket.purpose); }
  friend bool operator==(const Seed&, const Seed&) = default;
};
static_assert(sizeof(Seed) == 64 && std::is_trivially_copyable_v<Seed>);

// Null if `seed` is well formed, otherwise what is wrong with it. Whether it is worth anything, its receiver
// alone knows.
const char* invalid(const Seed& seed) noexcept;

}  // namespace hamlyn
