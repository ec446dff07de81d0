#pragma once
// Tagged remote write (paper 0, section 3.3): a sender writes bytes at an offset of the receiver's buffer and
// gives them a tag; the receiver takes tags. The fastest of the protocols: one packet in fast mode, so at
// most the MTU (32768 bytes; 8064 between hosts), in no certain order. The bytes stay where they were written
// until somebody who holds the ticket writes there again: who writes where is the application's.
//
// Threads: any. Whoever destroys one of these ends the calls that wait on it in other threads, with
// `cancelled`, and waits until they have left.
// Owner: who made it; its manager outlives it. The buffer is the receiver's.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/protocols/manager.h"
#include "hamlyn/values/begin.h"
#include "hamlyn/values/seed.h"

namespace hamlyn {

// A write that has landed.
struct Tagged {
  std::uint64_t tag = 0;     // the sender's word
  std::uint64_t offset = 0;  // of its first byte in the receiver's buffer
  std::uint64_t length = 0;  // bytes
  std::uint64_t sender = 0;  // its interface, as the node attests
};

// Its tags stand in a notification queue of its own, whose places bound them: a sender without a place is
// told so at its side.
class TaggedReceiver {
 public:
  struct Options {
    std::uint32_t places = 256;   // tags of one sender that may stand here untaken, at least 1
    std::size_t capacity = 4096;  // of all senders; further ones are refused
    std::size_t aside = 4096;     // tags that get_specific_tag may put aside
  };

  // A buffer of `bytes`, zeroed. Throws Error: invalid_argument, out_of_memory, forked.
  TaggedReceiver(Manager& manager, std::size_t bytes) : TaggedReceiver(manager, bytes, Options{}) {}
  TaggedReceiver(Manager& manager, std::size_t bytes, const Options& options);
  ~TaggedReceiver();  // waits end with `cancelled`; its tickets are refused from here on
  TaggedReceiver(const TaggedReceiver&) = delete;
  TaggedReceiver& operator=(const TaggedReceiver&) = delete;

  // For any number of senders.
  [[nodiscard]] Seed make_seed() const;
  // To write there by Terminus::send_fast, without a TaggedSender.
  Ticket ticket() const { return slot_.ticket(); }

  // The next tag, whichever it is; those that were put aside first. Runs the interface when there is none.
  [[nodiscard]] std::optional<Tagged> get_tag() noexcept {
    if (aside_count_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return get_tag_aside();
    return take_tag();
  }
  // Waits for it (a time of 0: one look). ok; timed_out, cancelled, forked; link_ended: the link with
  // `out.sender` has ended, after all that had come from there.
  Status get_tag(Tagged& out, std::chrono::nanoseconds timeout) noexcept;
  // The next one with this tag; others are put aside for whoever asks for them. queue_full: as many are aside
  // as may be, take some.
  Status get_specific_tag(std::uint64_t tag, Tagged& out, std::chrono::nanoseconds timeout) noexcept;

  // The buffer.
  std::span<std::byte> bytes() noexcept { return slot_.bytes(); }
  // Bytes that a write has brought, in place.
  std::span<std::byte> bytes(const Tagged& tagged) noexcept {
    return bytes().subspan(tagged.offset, tagged.length);
  }
  // Readable when there may be a tag. Take until there is none before going back to epoll. Throws Error:
  // system, forked.
  int descriptor() { return queue_.descriptor(); }

 private:
  std::optional<Tagged> take_tag() noexcept {
    std::optional<Tagged> out;
    Notification next;
    if (queue_.poll({&next, 1}) == 0) return out;
    if (next.kind != Notification::Kind::message) [[unlikely]]
      return take_tag_behind_news();
    out.emplace(Tagged{next.word, next.offset, next.length, next.peer});
    return out;
  }
  std::optional<Tagged> take_tag_behind_news() noexcept;
  std::optional<Tagged> get_tag_aside() noexcept;
  Status wait_for(Tagged& out, const std::uint64_t* tag, std::chrono::nanoseconds timeout) noexcept;
  bool put_aside(const Tagged& tagged) noexcept;
  bool take_aside(Tagged& out, const std::uint64_t* tag) noexcept;

  MessageArea area_;
  NotificationQueue queue_;
  Slot slot_;
  const std::size_t most_aside_;
  std::mutex mutex_;  // of those aside
  std::deque<Tagged> aside_;
  std::atomic<std::size_t> aside_count_{0};  // of aside_, as a hint: what it leads to is under mutex_
};

// Writes into the buffer of the receiver whose seed it has grown from.
class TaggedSender {
 public:
  // Begins to make the link and to get places, and waits for nobody. Throws Error: seed_invalid,
  // seed_wrong_kind, out_of_memory, forked.
  TaggedSender(Manager& manager, const Seed& seed, Begin);
  // Begins, and waits as `open` does. Throws Error: what either throws.
  TaggedSender(Manager& manager, const Seed& seed,
               std::chrono::nanoseconds timeout = std::chrono::seconds{10})
      : TaggedSender(manager, seed, kBegin) {
    open(timeout);
  }
  ~TaggedSender();
  TaggedSender(const TaggedSender&) = delete;
  TaggedSender& operator=(const TaggedSender&) = delete;

  // Waits until there are a link and places (0: one look): from the receiver's library, which its program
  // need not run. ok: it is open; timed_out, cancelled: it goes on opening; forked; invalid: inside
  // process_arrival, with a time-out. Any other is final, and why it never will be: link_ended, refused.
  // `open` says more.
  Status opened(std::chrono::nanoseconds timeout) noexcept;
  // Waits as `opened` does. Throws Error unless it is open: timed_out, cancelled: may be called again;
  // peer_refused, peer_died, seed_stale (or forged: nothing is granted for it), forked; invalid_argument:
  // inside process_arrival, with a time-out.
  void open(std::chrono::nanoseconds timeout);

  // Writes `data` at `offset` of the receiver's buffer. Never waits: ok (the buffer is free); no_place,
  // queue_full: nothing was done, poll and try again, or use the other one; connecting: it is not open yet;
  // out_of_bounds, too_long, link_ended, refused (the receiver has gone), forked.
  Status send(std::span<const std::byte> data, std::uint64_t offset, std::uint64_t tag) noexcept {
    return terminus_.send_fast(ticket_, data, tag, offset);
  }
  // Sends, waiting for a place, also for the opening. Also timed_out, cancelled.
  Status send(std::span<const std::byte> data, std::uint64_t offset, std::uint64_t tag,
              std::chrono::nanoseconds timeout) noexcept;

 private:
  struct Opening;

  Ticket ticket_;
  std::unique_ptr<Opening> opening_;
  Terminus terminus_;  // goes first, and sees off who waits
};

}  // namespace hamlyn
