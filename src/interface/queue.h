#pragma once
// The notification queue (paper 0, section 2.6), private to the process. Nothing that arrives is ever lost or
// held up for want of a place in it (design, section 4): fast-mode notifications have places reserved for
// them; completions, which are bounded by the metadata entries, wait in a list of their own when it is full.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "base/byte_order.h"
#include "base/copy.h"
#include "base/marked_descriptor.h"
#include "base/namespaces.h"
#include "base/pending_calls.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/ticket.h"
#include "interface/counters.h"

namespace hamlyn::internal_::interface {

inline constexpr std::uint32_t kNoPlaces = 0xFFFFFFFFu;

// A notification's first two words: of what is narrower, whole words are made in registers, so that copies of
// it word by word need not wait for narrow stores. Pairs of words by stores of 16 bytes, which would serve
// wide copies as well, made the round trip no shorter.
__attribute__((always_inline)) inline void set_heads(Notification& out, std::uint64_t kind,
                                                     std::uint64_t entry) noexcept {
  static_assert(offsetof(Notification, kind) == 0 && offsetof(Notification, wrap) == 1 &&
                offsetof(Notification, fast) == 2 && offsetof(Notification, cause) == 3 &&
                offsetof(Notification, slot) == 4 && offsetof(Notification, entry) == 8 &&
                offsetof(Notification, message_id) == 12 && offsetof(Notification, offset) == 16 &&
                sizeof(Notification) == 48);
  if constexpr (!base::kLittleEndian) {
    out.kind = static_cast<Notification::Kind>(kind & 0xFF);
    out.wrap = (kind >> 8 & 1) != 0;
    out.fast = (kind >> 16 & 1) != 0;
    out.cause = static_cast<Refusal>(kind >> 24 & 0xFF);
    out.slot = static_cast<std::uint32_t>(kind >> 32);
    out.entry = static_cast<std::uint32_t>(entry);
    out.message_id = static_cast<std::uint32_t>(entry >> 32);
    return;
  }
  std::memcpy(static_cast<void*>(&out), &kind, sizeof kind);
  std::memcpy(&out.entry, &entry, sizeof entry);
}

__attribute__((always_inline)) inline void fast_notification(Notification& out, bool wrap, std::uint32_t slot,
                                                             std::uint64_t offset, std::uint64_t length,
                                                             std::uint64_t word,
                                                             std::uint64_t peer) noexcept {
  set_heads(out, std::uint64_t{wrap} << 8 | std::uint64_t{1} << 16 | std::uint64_t{slot} << 32,
            Ticket::kFast);
  out.offset = offset;
  out.length = length;
  out.word = word;
  out.peer = peer;
}

// Fills the notification of a message that is complete.
inline void entry_notification(Notification& out, bool wrap, std::uint32_t slot, std::uint32_t entry,
                               std::uint32_t message, std::uint64_t offset, std::uint64_t length,
                               std::uint64_t peer) noexcept {
  static_assert(static_cast<int>(Notification::Kind::message) == 0);
  set_heads(out, std::uint64_t{wrap} << 8 | std::uint64_t{slot} << 32, entry | std::uint64_t{message} << 32);
  out.offset = offset;
  out.length = length;
  out.word = 0;
  out.peer = peer;
}

inline void copy_notification(Notification& out, bool wrap, const Notification& from) noexcept {
  set_heads(out,
            static_cast<std::uint64_t>(from.kind) | std::uint64_t{wrap} << 8 |
                std::uint64_t{from.fast} << 16 | static_cast<std::uint64_t>(from.cause) << 24 |
                std::uint64_t{from.slot} << 32,
            from.entry | std::uint64_t{from.message_id} << 32);
  base::copy_words<4>(&out.offset, &from.offset);
}

class Queue {
 public:
  // `places` is a power of two.
  explicit Queue(std::size_t places);

  bool empty() const noexcept { return standing_ == 0; }
  std::size_t capacity() const noexcept { return mask_ + 1; }

  // Fast mode: the sender holds a reservation, so there is room. `places` is the record that gets the place
  // back. Returns the notification to fill in.
  void push_fast(std::uint32_t places, std::uint32_t slot, std::uint64_t offset, std::uint64_t length,
                 std::uint64_t word, std::uint64_t peer) noexcept {
    HAMLYN_ASSERT(standing_ < capacity(), "the sender holds a reservation, so that a place is free");
    Place& place = places_[tail_ & mask_];
    fast_notification(place.notification, next_wraps(), slot, offset, length, word, peer);
    place.places = places;
    ++tail_;
    ++standing_;
    count();
  }
  // Pushes the notification of a put, a get or a fetch whose sender asked for it, and holds a reservation,
  // too.
  void push_told(std::uint32_t places, Notification::Kind kind, std::uint32_t slot, std::uint64_t offset,
                 std::uint64_t length, std::uint64_t peer) noexcept {
    push_fast(places, slot, offset, length, 1, peer);
    Notification& pushed = places_[(tail_ - 1) & mask_].notification;
    pushed.kind = kind;
    pushed.fast = false;
  }
  // A notification passes through the empty queue without standing in it. Who lets many pass counts them
  // once.
  void pass() noexcept { ++tail_; }
  void count() noexcept {
    counters->notifications = tail_;
    if (standing_ > counters->most_standing) counters->most_standing = standing_;
  }
  bool next_wraps() const noexcept { return (tail_ & mask_) == 0; }
  // So many notifications until one wraps.
  std::uint64_t until_wrap() const noexcept { return -tail_ & mask_; }

  // A completion: into a common place, or behind those that wait for one.
  // `generation`: of the slot.
  void push(const Notification& notification, std::uint32_t generation) noexcept;
  // An event of a link: merged with one of the same kind, cause and peer that still waits, or, an end without
  // room, with others as one of peer 0. False: no room, lost but counted by the caller.
  bool push_event(Notification notification) noexcept;

  // The oldest notification, and the record to give its place back to, or kNoPlaces. Not to be called when
  // empty.
  std::uint32_t take(Notification& out) noexcept {
    HAMLYN_ASSERT(standing_ != 0, "who takes has seen that something stands here");
    Place& place = places_[(tail_ - standing_) & mask_];
    base::copy_words<sizeof(Notification) / 8>(&out, &place.notification);
    const std::uint32_t places = place.places;
    --standing_;
    if (places == kNoPlaces) {
      taken_generation_ = place.generation;
      HAMLYN_ASSERT(common_used_ != 0, "what has no record of places was counted when it came");
      --common_used_;
      if (waiting_count_ != 0) [[unlikely]]
        refill();
    }
    return places;
  }

  // Shows `see` each notification that stands in the ring, oldest first, and leaves them there.
  template <class See>
  void see_standing(See see) const {
    for (std::uint64_t at = tail_ - standing_; at != tail_; ++at) see(places_[at & mask_].notification);
  }

  // Generation of the slot whose completion was taken last.
  std::uint32_t taken_generation() const noexcept { return taken_generation_; }

  // Reserves places for fast mode, as many as there are up to `count`.
  std::uint32_t reserve(std::uint32_t count) noexcept;
  void release(std::uint32_t count) noexcept;
  std::size_t reserved() const noexcept { return reserved_; }
  std::size_t common_used() const noexcept { return common_used_; }

  // Completions that may have to wait here: a slot with that many entries has come, or has gone.
  void expect(std::size_t entries);
  void expect_no_more(std::size_t entries) noexcept { expected_ -= entries; }

  std::uint32_t users = 0;   // slots that notify it
  std::uint32_t posted = 0;  // of those, the ones with posted buffers
  std::uint32_t over = 0;    // the first record of places that are over and notify it; 0: none
  std::uint64_t end_of = 0;  // the link whose end it was told of last
  base::PendingCalls calls;  // calls that wait for what comes
  QueueCounters spare_counters{};
  QueueCounters* counters = &spare_counters;  // its row of the counter page, if there was a free one
  int event = -1;                             // to signal when something comes, or -1: `descriptor`
  bool event_wanted = false;
  base::MarkedDescriptor descriptor;  // the program waits on it, and may have closed it

 private:
  struct alignas(64) Place {
    Notification notification;
    std::uint32_t places = kNoPlaces;
    std::uint32_t generation = 0;  // of the slot, for a completion
  };
  bool common_place_free() const noexcept { return common_used_ + reserved_ < capacity(); }
  struct Waiting {
    Notification notification;
    std::uint32_t generation = 0;
  };
  void append(const Notification& notification, std::uint32_t generation) noexcept;
  bool merge_event(const Notification& notification) noexcept;
  void refill() noexcept;

  std::unique_ptr<Place[]> places_;
  std::size_t mask_;
  std::uint64_t tail_ = 0;
  std::uint64_t standing_ = 0;
  std::size_t reserved_ = 0;     // kept for fast mode, in use or not
  std::size_t common_used_ = 0;  // completions and events in the ring

  std::uint32_t taken_generation_ = 0;

  std::vector<Waiting> waiting_;  // a circle, long enough for every entry and kEventPlaces events
  std::size_t expected_ = 0;      // entries of all slots that notify this queue
  std::size_t waiting_head_ = 0;
  std::size_t waiting_count_ = 0;
  std::size_t waiting_events_ = 0;
};

}  // namespace hamlyn::internal_::interface
