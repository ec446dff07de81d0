#pragma once
// Gets and fetch-ops of a link, in both directions (paper 1, sections 3.1 and 3.3). Each direction and level
// has kOutstanding of them at most: urgent ones never wait for a place that others hold. The requester keeps
// where a reply may land in memory of its own, under the number that the reply must carry. The target keeps
// what it has still to answer in work entries that are reserved from the start. So nothing that arrives waits
// for something that leaves: a request is worked off into its entry, a reply lands where it was asked for, at
// once.
//
// Answers leave by the replies' ring, except for long ones: those leave among the messages, in packets as
// long as messages have, and take turns with them. Their requester has a landing for each byte, as every
// receiver of a message has, so they wait for room and for nothing else.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/remote.h"
#include "interface/departures.h"
#include "interface/packets/packet.h"

namespace hamlyn::internal_::interface {

class Requests;
struct SendCredit;

// Does it on the word at `place`, of fetch.bytes and aligned. What stood there before.
std::uint64_t apply_fetch(const Fetch& fetch, std::byte* place) noexcept;

inline constexpr std::uint32_t kOutstanding = 16;  // per link, direction and level
inline constexpr std::uint32_t kRequestPlaces = kOutstanding * kPriorities;
inline constexpr std::uint32_t kGetLimit = 65536;  // the most that one get may ask for

// The parts of an answer that have come, a bit for each kReplyPayload bytes.
class Pieces {
 public:
  bool any(std::uint32_t first, std::uint32_t count) const noexcept {
    bool any = false;
    for (std::uint32_t w = first / 64; w * 64 < first + count; ++w)
      any |= (bits_[w] & mask(w, first, count)) != 0;
    return any;
  }
  void set(std::uint32_t first, std::uint32_t count) noexcept {
    for (std::uint32_t w = first / 64; w * 64 < first + count; ++w) bits_[w] |= mask(w, first, count);
  }

 private:
  // Bits of word `w` that stand for pieces from `first` on.
  static std::uint64_t mask(std::uint32_t w, std::uint32_t first, std::uint32_t count) noexcept {
    const std::uint32_t begin = std::max(first, w * 64) - w * 64;
    const std::uint32_t end = std::min(first + count, w * 64 + 64) - w * 64;
    return ~std::uint64_t{0} >> (64 - (end - begin)) << begin;
  }

  std::array<std::uint64_t, kGetLimit / kReplyPayload / 64> bits_{};
};

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
  bool lost = false;             // its landing has gone since
  Refusal cause{};               // why the other side stopped
  SendCredit* credit = nullptr;  // of a fence: by which puts had left, that it answers for; of what the owner
                                 // is to be told of: by which it is; otherwise null
  std::uint64_t fenced_by = 0;   // the bit of their terminus; 0: there are none
  Refusal untold{};              // if there are: what an earlier fence was answered, and nobody has heard
  bool given_up = false;         // if there are: nobody waits for the answer any more
  bool by_slot = false;          // if there are: it says that their opening has ended
  WhyNoLink lost_by;             // if there are: why the link has ended with which some may be lost, untold
  Requests* owner = nullptr;     // null: nobody wants to hear of it any more
  std::uint32_t record = 0;      // the owner's name for it
  std::uint32_t length = 0;      // of a get
  std::uint32_t until = 0;       // bytes that will come: `length`, unless the other side stopped before
  std::uint32_t landed = 0;
  std::uint32_t slot = 0;  // where a get lands; kNoEntry: at `to`
  std::uint32_t generation = 0;
  std::uint64_t key = 0;  // of that slot when it was asked
  std::uint64_t offset = 0;
  std::byte* to = nullptr;  // null: whoever waited for it has gone
  Pieces pieces;
};

// One request of the other side that is not wholly answered yet: a get as it came, and how much of it has
// left, or a reply as it will leave.
struct Owed {
  Words packet;
  std::uint32_t sent = 0;
};

struct RemoteWork {
  RemoteWork() noexcept {
    for (std::uint32_t i = 0; i < kRequestPlaces; ++i) asked[i].id = i;
  }

  // The places of a level, a bit for each.
  static constexpr std::uint32_t of(Priority level) noexcept {
    return ((1u << kOutstanding) - 1) << kOutstanding * static_cast<std::uint32_t>(level);
  }

  bool may_ask(Priority level) const noexcept { return (~asked_busy & of(level)) != 0; }
  // A free place among the requests; there is one. Its number stays until it is used.
  Asked& next(Priority level) noexcept {
    return asked[static_cast<std::size_t>(std::countr_zero(~asked_busy & of(level)))];
  }
  void use(Asked& request) noexcept {
    asked_busy |= 1u << (request.id % kRequestPlaces);
    request.busy = true;
  }
  void answered(Asked& request) noexcept {
    asked_busy &= ~(1u << (request.id % kRequestPlaces));
    request.id += kRequestPlaces;
    request.busy = false;
    request.owner = nullptr;
  }

  bool may_owe(Priority level) const noexcept { return (~owed_busy & of(level)) != 0; }
  // Returns the place.
  std::uint32_t owe(Priority level, const Owed& what) noexcept {
    const auto place = static_cast<std::uint32_t>(std::countr_zero(~owed_busy & of(level)));
    owed_busy |= 1u << place;
    owed[place] = what;
    return place;
  }
  // Whose turn it is among those of a level that are owed an answer by the replies' ring.
  std::uint32_t next_owed(Priority level) const noexcept {
    return turn_of(owed_replies() & of(level), owed_turn[static_cast<std::size_t>(level)]);
  }
  // Whose turn it is among those that are owed a long answer.
  std::uint32_t next_long() const noexcept { return turn_of(owed_long, long_turn); }
  std::uint32_t owed_replies() const noexcept { return owed_busy & ~owed_long; }
  // The level whose answer leaves next. Urgent ones first, with the same bound as where packets leave.
  Priority level_owed() const noexcept {
    if ((owed_replies() & of(Priority::urgent)) == 0) return Priority::normal;
    return may_go_first() ? Priority::urgent : Priority::normal;
  }
  bool may_go_first() const noexcept {
    return urgent_in_a_row < kUrgentInARow || (owed_replies() & of(Priority::normal)) == 0;
  }
  void left(Priority level) noexcept {
    urgent_in_a_row = level == Priority::urgent ? urgent_in_a_row + 1 : 0;
  }

  std::uint32_t asked_busy = 0;  // a bit for each place in use
  std::uint64_t landed = 0;      // parts of answers, so far
  std::uint32_t owed_busy = 0;
  std::uint32_t owed_long = 0;  // those of them whose answers leave among the messages
  unsigned urgent_in_a_row = 0;
  std::array<std::uint32_t, kPriorities> owed_turn{};
  std::uint32_t long_turn = 0;
  bool messages_turn = false;  // to leave, where both messages and long answers wait for room
  std::array<Asked, kRequestPlaces> asked;
  std::array<Owed, kRequestPlaces> owed;

 private:
  // The first of them from `turn` on; there is one.
  static std::uint32_t turn_of(std::uint32_t places, std::uint32_t turn) noexcept {
    const std::uint32_t later = places & ~((1u << turn) - 1);
    return static_cast<std::uint32_t>(std::countr_zero(later != 0 ? later : places));
  }
};
static_assert(kRequestPlaces == 32, "a bit of a word for each; shifts stay below the word's size");

}  // namespace hamlyn::internal_::interface
