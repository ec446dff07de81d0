#pragma once
// Messages of the two ends of a stream (docs/wire.md). Each message's word says what it is; three kinds bring
// a structure. Each is copied once and then checked.
//
// sender to receiver    an acknowledged message into the seed's entry: Open. Then parcels, each into the
//                       receiver's ring, in fast mode or, when too long, into an entry with the word as its
//                       metadata
// receiver to sender    fast-mode messages to the slot that Open names
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"
#include "hamlyn/values/ticket.h"
#include "protocols/copy_of.h"
#include "protocols/wire_order.h"

namespace hamlyn::internal_::protocols {

enum class StreamWord : std::uint8_t {
  // Parcels, in sequence.
  record = 1,  // one record
  batch =
      2,    // several: of each its length, as 8 bytes, then its bytes, then up to 7 bytes to a multiple of 8
  end = 3,  // the sender has closed: nothing more comes
  abandoned = 4,  // the sender has gone without closing
  // Out of sequence. A parcel's value says how many were sent to earlier rings, that of the end how many in
  // all, so that the receiver knows when nothing is on its way to a ring any more.
  need = 5,  // the sender waits: for so many bytes (times 64) in one piece; 0: for anything to be released
  // From the receiver.
  accept = 16,  // Ring
  refuse = 17,
  more = 18,       // Ring: a longer one, to go on in
  released = 19,   // the sequence number: parcels released so far
  end_taken = 20,  // it has everything
  stop = 21,       // it wants no more
  broken = 22,     // the sender has said what no sender says
};

struct StreamMessage {
  StreamWord what;
  std::uint32_t sequence;  // of parcels: 0, 1, ...; modulo 2^32
  std::uint32_t value;     // of 24 bits
};

inline constexpr std::uint32_t kStreamValueLimit = (1u << 24) - 1;

inline std::uint64_t word_of(StreamWord what, std::uint32_t sequence, std::uint32_t value = 0) noexcept {
  return std::uint64_t{sequence} | std::uint64_t{static_cast<std::uint8_t>(what)} << 32 |
         std::uint64_t{value} << 40;
}
inline StreamMessage message_of(std::uint64_t word) noexcept {
  return {static_cast<StreamWord>(word >> 32 & 0xFF), static_cast<std::uint32_t>(word),
          static_cast<std::uint32_t>(word >> 40)};
}

struct StreamOpen {
  static constexpr std::uint32_t kMagic = 0x4F545348;  // "HSTO"
  std::uint32_t magic = kMagic;
  std::uint32_t version = 1;
  Ticket answers;  // where the receiver answers
};
static_assert(sizeof(StreamOpen) == 72 && std::is_trivially_copyable_v<StreamOpen>);
template <class What>
void each_number(StreamOpen& open, What what) noexcept {
  what(open.magic), what(open.version), each_number(open.answers, what);
}

// Where to write: of the receiver's own interface, whatever it says. It fits the shortest packet there is.
struct StreamRing {
  static constexpr std::uint32_t kMagic = 0x52545348;  // "HSTR"
  std::uint32_t magic = kMagic;
  std::uint32_t version = 1;
  std::uint32_t number = 0;   // of the stream's rings: 0, 1, ...
  std::uint32_t parcels = 0;  // that may be unreleased, a power of two from 4 on; so many entries
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint32_t incarnation = 0;  // of the entries
  std::uint32_t reserved = 0;
  std::uint64_t key = 0;
  std::uint64_t bytes = 0;  // the ring's length, a multiple of 64
  std::uint64_t most = 0;   // that a ring of this stream may ever have

  Ticket ticket(std::uint64_t receiver) const noexcept {
    Ticket out;
    out.interface = receiver;
    out.slot = slot;
    out.generation = generation;
    out.key = key;
    out.bound = bytes;
    return out;
  }
};
static_assert(sizeof(StreamRing) == 56 && std::is_trivially_copyable_v<StreamRing>);
template <class What>
void each_number(StreamRing& ring, What what) noexcept {
  what(ring.magic), what(ring.version), what(ring.number), what(ring.parcels), what(ring.slot);
  what(ring.generation), what(ring.incarnation), what(ring.reserved);
  what(ring.key), what(ring.bytes), what(ring.most);
}

inline constexpr std::uint64_t kStreamUnit = 64;  // parcels begin at multiples of it, and rings' structures
// Rings grow at least twofold, so each of a stream's has a place of its own at the sender, where no other
// that is overtaken on its way lands. Earlier senders have two places.
inline constexpr std::uint64_t kRingPlaces = 32;
inline constexpr std::uint32_t kMostParcels = 4096;
inline constexpr std::uint64_t kMostRing = std::uint64_t{1} << 30;

inline std::uint64_t room_for(std::uint64_t bytes) noexcept {
  return (bytes + kStreamUnit - 1) / kStreamUnit * kStreamUnit;
}

// Whether `sender` may have said that. Answers go to whoever asks, and to nobody else.
inline bool good(const StreamOpen& open, std::uint64_t sender) noexcept {
  return open.magic == StreamOpen::kMagic && open.version == 1 && invalid(open.answers) == nullptr &&
         open.answers.fast() && open.answers.interface == sender;
}

inline bool good(const StreamRing& ring) noexcept {
  return ring.magic == StreamRing::kMagic && ring.version == 1 && ring.reserved == 0 && ring.parcels >= 4 &&
         ring.parcels <= kMostParcels && (ring.parcels & (ring.parcels - 1)) == 0 &&
         ring.bytes >= kStreamUnit && ring.bytes % kStreamUnit == 0 && ring.bytes <= ring.most &&
         ring.most <= kMostRing;
}

}  // namespace hamlyn::internal_::protocols
