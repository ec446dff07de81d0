#pragma once
// What a link keeps of gets and fetch-ops, in both directions (paper 1, sections 3.1 and 3.3). Each direction
// has kOutstanding of them at most. The requester keeps where a reply may land in memory of its own, under
// the number that the reply must carry; the target keeps what it has still to answer in work entries that are
// reserved from the start. So nothing that arrives waits for something that leaves: a request is worked off
// into its entry, a reply lands where it was asked for, at once.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hamlyn/notification.h"
#include "interface/packet.h"

namespace hamlyn::interface {

class Requests;

inline constexpr std::uint32_t kOutstanding = 16;  // per link and direction
inline constexpr std::uint32_t kGetLimit = 65536;  // the most that one get may ask for
inline constexpr std::uint32_t kPieces = kGetLimit / kReplyPayload;

// A fetch's `delta`: operation, size of the word, and whether nobody waits for an answer.
inline constexpr std::uint32_t kUnanswered = 1u << 16;
inline std::uint32_t fetch_delta(std::uint32_t op, std::uint32_t bytes, bool answered) noexcept {
  return op | bytes << 8 | (answered ? 0 : kUnanswered);
}

// One request of this side. A reply that names it by its number, comes by its link, and brings no more than
// was asked for, is taken; every other one is refused.
struct Asked {
  std::uint32_t id = 0;  // its place in the table is the lowest bits; moves with each use
  bool busy = false;
  bool fetch = false;
  bool lost = false;          // its landing has gone since
  Refusal cause{};            // why the other side stopped
  Requests* owner = nullptr;  // null: nobody wants to hear of it any more
  std::uint32_t record = 0;   // the owner's name for it
  std::uint32_t length = 0;   // of a get
  std::uint32_t until = 0;    // bytes that will come: `length`, unless the other side stopped before
  std::uint32_t landed = 0;
  std::uint32_t slot = 0;  // where a get lands
  std::uint32_t generation = 0;
  std::uint64_t key = 0;  // of that slot when it was asked
  std::uint64_t offset = 0;
  std::array<std::uint64_t, kPieces / 64> pieces{};  // which have come
};

// One request of the other side that is not wholly answered yet: a get as it came, and how much of it has
// left, or a reply as it will leave.
struct Owed {
  Words packet;
  std::uint32_t sent = 0;
};

struct RemoteWork {
  RemoteWork() noexcept {
    for (std::uint32_t i = 0; i < kOutstanding; ++i) asked[i].id = i;
  }

  bool may_ask() const noexcept { return asked_busy != kAll; }
  // A free place among the requests; there is one. Its number stays until it is used.
  Asked& next() noexcept { return asked[static_cast<std::size_t>(std::countr_one(asked_busy))]; }
  void use(Asked& request) noexcept {
    asked_busy |= 1u << (request.id % kOutstanding);
    request.busy = true;
  }
  void answered(Asked& request) noexcept {
    asked_busy &= ~(1u << (request.id % kOutstanding));
    request.id += kOutstanding;
    request.busy = false;
    request.owner = nullptr;
  }

  static constexpr std::uint32_t kAll = (1u << kOutstanding) - 1;
  std::uint32_t asked_busy = 0;  // a bit for each place in use
  std::uint32_t owed_busy = 0;
  std::uint32_t owed_turn = 0;  // whose piece leaves next
  std::array<Asked, kOutstanding> asked;
  std::array<Owed, kOutstanding> owed;
};

}  // namespace hamlyn::interface
