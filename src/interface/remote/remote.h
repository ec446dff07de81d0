#pragma once
// Gets and fetch-ops of a link, in both directions (paper 1, sections 3.1 and 3.3). Each direction and level
// has so many places, kOutstanding if no more were wanted: urgent ones never wait for a place that others
// hold. The requester keeps where a reply may land in memory of its own, under the number that the reply must
// carry. The target keeps what it has still to answer in work entries that are reserved from the start. So
// nothing that arrives waits for something that leaves: a request is worked off into its entry, a reply lands
// where it was asked for, at once.
//
// Answers leave by the replies' ring, except for long ones: those leave among the messages, in packets as
// long as messages have, and take turns with them. Their requester has a landing for each byte, as every
// receiver of a message has, so they wait for room and for nothing else.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

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

// Per link, direction and level: any other side takes so many, and the most that one may be set to.
inline constexpr std::uint32_t kOutstanding = 16, kMostOutstanding = 64;
inline constexpr std::uint32_t kRequestPlaces = kOutstanding * kPriorities;  // unless it is set
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

// A watch's `delta` is the bytes of its word, 4 or 8; or this: the one of that number is waited for no more.
inline constexpr std::uint32_t kWatchNoMore = 1u << 16;
// So many of the requests under way may be watches: others go on.
inline constexpr std::uint32_t kMostWatches = kOutstanding / 2;

// One request of this side. A reply that names it by its number, comes by its link, and brings no more than
// was asked for, is taken; every other one is refused.
struct Asked {
  std::uint32_t id = 0;  // its place in the table is the lowest bits; moves with each use
  bool busy = false;
  bool fetch = false;
  bool watch = false;            // is a fetch, too: one word comes
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

class RemoteWork {
 public:
  RemoteWork() { resize(kOutstanding); }
  // Room for so many of each level in each direction, from kOutstanding to kMostOutstanding. Nothing is under
  // way. Throws std::bad_alloc, and then all is as it was.
  void resize(std::uint32_t outstanding) {
    const std::uint32_t places = std::bit_ceil(outstanding), all = places * std::uint32_t{kPriorities};
    std::vector<Asked> asking(all);
    owed = std::vector<Owed>(all);
    asked.swap(asking);
    for (std::uint32_t i = 0; i != all; ++i) asked[i].id = i;
    shift_ = static_cast<std::uint32_t>(std::countr_zero(places));
    last_ = all - 1;
    taken_ = first(outstanding);
    asked_ = first(kOutstanding);
    taken_back_.fill(~std::uint32_t{0});
  }
  // The other side takes so many of each level at a time.
  void allow(std::uint32_t outstanding) noexcept { asked_ = taken_ & first(outstanding); }
  // How many of each level are taken; the other side is to be told, once, if it would not ask for so many.
  std::uint32_t taken() const noexcept { return static_cast<std::uint32_t>(std::popcount(taken_)); }

  // The request that may have this number.
  Asked& named(std::uint32_t id) noexcept { return asked[id & last_]; }
  bool may_ask(Priority level) const noexcept { return free_to_ask(level) != 0; }
  // A free place among the requests; there is one. Its number stays until it is used.
  Asked& next(Priority level) noexcept {
    return asked[index(level, static_cast<std::uint32_t>(std::countr_zero(free_to_ask(level))))];
  }
  void use(Asked& request) noexcept {
    const std::uint32_t place = place_of(request);
    asked_busy_[place >> shift_] |= bit(place);
    request.busy = true;
  }
  void answered(Asked& request) noexcept {
    const std::uint32_t place = place_of(request);
    asked_busy_[place >> shift_] &= ~bit(place);
    request.id += last_ + 1;
    request.busy = false;
    request.owner = nullptr;
  }
  bool asks_nothing() const noexcept { return (asked_busy_[0] | asked_busy_[1]) == 0; }

  bool may_owe(Priority level) const noexcept { return free_to_owe(level) != 0; }
  // Returns the place, of its level.
  std::uint32_t owe(Priority level, const Owed& what) noexcept {
    const std::uint32_t place = take_place(level, what);
    owed_busy_[number(level)] |= bit(place);
    count_replies();
    return place;
  }
  // Keeps a watch of the normal level, which is owed no answer before its word is another.
  void hold(const Packet& watch) noexcept {
    owed_held_ |= bit(take_place(Priority::normal, {words_of(watch), 0}));
  }
  // From now on `answer` is owed in that place.
  void release(std::uint32_t place, const Packet& answer) noexcept {
    owed_held_ &= ~bit(place);
    owed_busy_[number(Priority::normal)] |= bit(place);
    owed[index(Priority::normal, place)] = {words_of(answer), 0};
    count_replies();
  }
  std::uint64_t held() const noexcept { return owed_held_; }
  // Watches that were taken back before they came, or after they were answered.
  void note_taken_back(std::uint32_t id) noexcept { taken_back_[next_taken_back_++ % kMostWatches] = id; }
  bool was_taken_back(std::uint32_t id) const noexcept {
    return std::ranges::find(taken_back_, id) != taken_back_.end();
  }
  Owed& owed_at(Priority level, std::uint32_t place) noexcept { return owed[index(level, place)]; }
  void answer_left(Priority level, std::uint32_t place) noexcept {
    owed_busy_[number(level)] &= ~bit(place);
    if (level == Priority::normal) owed_long_ &= ~bit(place);
    count_replies();
  }
  // The answer leaves among the messages, or by the replies' ring after all; of the normal level.
  void leaves_long(std::uint32_t place, bool among_messages) noexcept {
    owed_long_ = among_messages ? owed_long_ | bit(place) : owed_long_ & ~bit(place);
    count_replies();
  }
  void forget_owed() noexcept {
    owed_busy_ = {};
    owed_long_ = owed_held_ = 0;
    count_replies();
  }
  // Places in use, a bit for each.
  std::uint64_t asking(Priority level) const noexcept { return asked_busy_[number(level)]; }
  std::uint64_t busy(Priority level) const noexcept { return owed_busy_[number(level)]; }
  std::uint64_t busy_long() const noexcept { return owed_long_; }
  bool owes_nothing() const noexcept { return (owed_busy_[0] | owed_busy_[1]) == 0; }
  bool owes_urgent() const noexcept { return busy(Priority::urgent) != 0; }
  // Answers that leave by the replies' ring: whether there are any, and of the normal level.
  bool owes_replies() const noexcept { return owed_replies_ != 0; }
  bool owes_normal_replies() const noexcept { return replies(Priority::normal) != 0; }
  // Whether any leaves among the messages.
  bool owes_long() const noexcept { return owed_long_ != 0; }
  // Whose turn it is among those of a level that are owed an answer by the replies' ring, and whose it is
  // next.
  std::uint32_t next_owed(Priority level) const noexcept {
    return turn_of(replies(level), owed_turn_[number(level)]);
  }
  void turn_behind(Priority level, std::uint32_t place) noexcept {
    owed_turn_[number(level)] = (place + 1) & ((1u << shift_) - 1);
  }
  // Whose turn it is among those that are owed a long answer.
  std::uint32_t next_long() const noexcept { return turn_of(owed_long_, long_turn); }
  // The level whose answer leaves next. Urgent ones first, with the same bound as where packets leave.
  Priority level_owed() const noexcept {
    if (replies(Priority::urgent) == 0) return Priority::normal;
    return may_go_first() ? Priority::urgent : Priority::normal;
  }
  bool may_go_first() const noexcept { return urgent_in_a_row < kUrgentInARow || !owes_normal_replies(); }
  void left(Priority level) noexcept {
    urgent_in_a_row = level == Priority::urgent ? urgent_in_a_row + 1 : 0;
  }

  std::uint64_t landed = 0;  // parts of answers, so far
  unsigned urgent_in_a_row = 0;
  std::uint32_t long_turn = 0;
  bool messages_turn = false;  // to leave, where long answers wait, too: a part of these has left
  bool taken_untold = false;   // the other side does not know yet how many are taken
  std::vector<Asked> asked;    // level by level, as many of each as the next power of two says
  std::vector<Owed> owed;      // likewise

 private:
  static constexpr std::size_t number(Priority level) noexcept { return static_cast<std::size_t>(level); }
  static constexpr std::uint64_t first(std::uint32_t places) noexcept {
    return ~std::uint64_t{0} >> (kMostOutstanding - std::min(places, kMostOutstanding));
  }
  // Returns the bit of a place, of any level, among those of its level.
  std::uint64_t bit(std::uint32_t place) const noexcept {
    return std::uint64_t{1} << (place & ((1u << shift_) - 1));
  }
  std::size_t index(Priority level, std::uint32_t place) const noexcept {
    return (number(level) << shift_) + place;
  }
  std::uint32_t place_of(const Asked& request) const noexcept { return request.id & last_; }
  std::uint64_t free_to_ask(Priority level) const noexcept { return asked_ & ~asked_busy_[number(level)]; }
  std::uint64_t replies(Priority level) const noexcept {
    return level == Priority::normal ? busy(level) & ~owed_long_ : busy(level);
  }
  void count_replies() noexcept { owed_replies_ = replies(Priority::urgent) | replies(Priority::normal); }
  std::uint64_t free_to_owe(Priority level) const noexcept {
    return taken_ & ~busy(level) & ~(level == Priority::normal ? owed_held_ : 0);
  }
  std::uint32_t take_place(Priority level, const Owed& what) noexcept {
    const auto place = static_cast<std::uint32_t>(std::countr_zero(free_to_owe(level)));
    owed[index(level, place)] = what;
    return place;
  }
  // The first of them from `turn` on; there is one.
  static std::uint32_t turn_of(std::uint64_t places, std::uint32_t turn) noexcept {
    const std::uint64_t later = places & ~((std::uint64_t{1} << turn) - 1);
    return static_cast<std::uint32_t>(std::countr_zero(later != 0 ? later : places));
  }

  std::uint32_t last_ = 0;                               // of all places; one less than a power of two
  std::uint32_t shift_ = 0;                              // places of a level, as a power of two
  std::uint64_t asked_ = 0;                              // places that this side may use, a bit for each
  std::uint64_t taken_ = 0;                              // that the other side may
  std::array<std::uint64_t, kPriorities> asked_busy_{};  // in use, by level
  std::array<std::uint64_t, kPriorities> owed_busy_{};
  std::uint64_t owed_long_ = 0;     // of the normal level: those whose answers leave among the messages
  std::uint64_t owed_replies_ = 0;  // not 0: some leave by the replies' ring
  std::uint64_t owed_held_ = 0;     // watches of the normal level that are held: none is among the busy ones
  std::array<std::uint32_t, kMostWatches> taken_back_{};
  std::uint32_t next_taken_back_ = 0;
  std::array<std::uint32_t, kPriorities> owed_turn_{};
};

}  // namespace hamlyn::internal_::interface
