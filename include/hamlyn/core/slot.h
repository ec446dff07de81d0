#pragma once
// The unit of protection (paper 0, section 2.2): a part of a message area, a key, a queue, and metadata
// entries. Several slots may lie on one area and notify one queue. Threads: any.
// Owner: who made it; its area and its queue outlive it. Tickets are values.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/values/limits.h"
#include "hamlyn/values/mode.h"
#include "hamlyn/values/protection.h"
#include "hamlyn/values/put.h"
#include "hamlyn/values/share.h"
#include "hamlyn/values/slot_options.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

namespace internal_::base {
class PendingCalls;
}
namespace internal_::interface {
struct SlotRecord;
}
class LoanReceiver;

// Tells where messages may land, and who may send them.
class Slot {
 public:
  // How it is made.
  using Options = SlotOptions;

  // A part of the slot that an entry is limited to, from the slot's base.
  using Limits = hamlyn::Limits;

  // Throws Error: invalid_argument, out_of_memory, forked.
  Slot(MessageArea& area, NotificationQueue& queue, Options options);
  // Its tickets are refused from here on: the generation moves. What stands in the queue of it is told all
  // the same, under its number; of the slots that are made later in its place, the first 65533 have others.
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // A ticket for fast mode, puts, remote operations and mapping, whichever the slot takes. Throws
  // Error(invalid_argument) if it takes none of them.
  [[nodiscard]] Ticket ticket() const;
  // A ticket for a metadata entry. In the paranoid modes it carries the entry's own key and bounds. Throws
  // Error: invalid_argument (no such entry), forked.
  [[nodiscard]] Ticket ticket(std::uint32_t entry) const;

  // Takes the next message in `entry`: after its notification has been read, or after `disarm`. The metadata
  // and the count start anew. Tickets stay good, except in paranoid one-shot mode, where each arming has a
  // new key. invalid: no such entry, or a message is under way in it or was not read.
  Status arm(std::uint32_t entry) noexcept;
  // Paranoid modes: the same with a new key and new limits; tickets given out before are refused from here
  // on.
  Status arm(std::uint32_t entry, Limits limits) noexcept;
  // Takes a group of messages in `entry`, from any senders, and notifies once when all have come (paper 0,
  // section 2.5): `shares` then hands out what each of `members` needs to send. An entry that is armed, as
  // those of a guarded slot are at first, is to be disarmed before. Shares of earlier armings are worth
  // nothing; in the paranoid modes there is a new key, too, and `limits` are the group's bounds (of a guarded
  // slot they count for nothing: there every member may write anywhere in the slot). It fails
  // when a link that had contributed ends; for members that never send, give it a time with `fail_after`.
  // invalid: as for arm, or not 1 to 65536 members; out_of_bounds. Throws Error(out_of_memory), for the
  // first group of a slot.
  Status arm_group(std::uint32_t entry, std::uint32_t members, GroupShares& shares, Limits limits = {});

  // An armed entry, or one that is being filled, fails if it is not complete within `time`, within about a
  // millisecond; a stopped sender is no exception. A later call takes the place of an earlier one;
  // nanoseconds::max() takes it back, and so does the next arming. invalid: the entry is not armed;
  // queue_full: 65535 entries of this interface have a time already.
  Status fail_after(std::uint32_t entry, std::chrono::nanoseconds time) noexcept;
  // An armed entry fails also if the link with interface `peer` ends before `peer` has sent anything; of a
  // group, several may be named. connecting: there is no link with it now; invalid: the entry is not armed.
  Status expect(std::uint32_t entry, std::uint64_t peer) noexcept;
  // One notification for the next `messages` messages of this slot together, that of the last; then each has
  // its own again (paper 1, section 3.5.3). Entries of the others may be armed again when it has come.
  // Failures are always told. 0: each has its own.
  void notify_after(std::uint32_t messages) noexcept;

  // Takes nothing more in `entry`; what was under way is forgotten, and its late packets are refused.
  // invalid: no such entry, or its notification was not read.
  Status disarm(std::uint32_t entry) noexcept;
  // Paranoid modes: takes back the right of whoever has the ticket of `entry`, at any moment, also in the
  // middle of its message, and nobody else's (paper 0, section 2.7). Nothing of it lands any more; what
  // was notified stays. Then the entry is idle, with a key that nobody has. invalid: no such entry, or a
  // guarded slot.
  Status revoke(std::uint32_t entry) noexcept;

  // Puts (docs/remote-memory.md). All of these are `invalid` if the slot takes none.
  //
  // Whether the queue is told of them. At first Control::conditional.
  Status set_control(Control control) noexcept;
  // From now on puts wait, until `release` has them land in their order (paper 4, section 3.4.4); gets go on,
  // and fetches are refused. At most Options::hold bytes of them wait, 39 more counted for each; more are
  // refused. Neither of the two is a system call.
  Status inhibit() noexcept;
  Status release() noexcept;
  // The pages of 4096 bytes, from the slot's base, that [offset, offset + length) touches: puts to them
  // wait, and gets and fetches are refused, until `pin`, as all are at first (paper 4, section 3.4.3).
  // This says what may come, and nothing about real memory. out_of_bounds.
  Status unpin(std::size_t offset, std::size_t length) noexcept { return set_pinned(offset, length, false); }
  Status pin(std::size_t offset, std::size_t length) noexcept { return set_pinned(offset, length, true); }
  // Takes the oldest put that waits, instead of letting it land; its data goes to `into`. not_ready: none
  // waits; too_long: `held` says how long it is, and it stays. Of a put that came in pieces each is taken by
  // itself, and one of length 0 behind them, if it asked that the owner be told.
  Status take_held(HeldPut& held, std::span<std::byte> into) noexcept;

  // From now on only those whom `protection` allows it may open the slot for puts, get from it, fetch and map
  // it; what was opened before is opened anew. Those who have it mapped keep it until MessageArea::revoke.
  // For slots without entries and fast mode; invalid: any other. Throws std::bad_alloc.
  Status protect(const Protection& protection);

  // Bytes that have landed in the slot since it was made: of messages when they are whole, of puts packet by
  // packet. What was stored through a mapping, and what was changed by fetches, is not counted. Under the
  // interface's lock; runs nothing.
  std::uint64_t landed() const noexcept;
  // Waits until so many have. ok, timed_out, cancelled, forked.
  Status wait_landed(std::uint64_t bytes, std::chrono::nanoseconds timeout) noexcept;

  // Gives the slot a new key: tickets given out before are refused. (In the paranoid modes: arm entry by
  // entry.)
  void change_key();

  // Out-of-band metadata of the entry's message (up to 60 bytes); valid until the entry is armed again.
  std::span<const std::byte> metadata(std::uint32_t entry) const noexcept;
  // The message's bytes in place.
  std::span<std::byte> bytes(const Notification& notification) noexcept;
  // All of the slot's.
  std::span<std::byte> bytes() noexcept { return {data_, size_}; }

  // A pointer of the user's own, kept in the entry (paper 0, section 2.4).
  void set_pointer(std::uint32_t entry, void* pointer) noexcept;
  void* pointer(std::uint32_t entry) const noexcept;

  // Number that the slot's notifications carry in `slot`.
  std::uint32_t number() const noexcept { return number_; }
  Interface& interface() noexcept { return interface_; }

 private:
  std::uint32_t index() const noexcept;
  Status set_pinned(std::size_t offset, std::size_t length, bool pinned) noexcept;
  // `expect` of the link that the message in entry `from` came by, as long as that entry is not armed again.
  // connecting: it has ended; another one with that peer is not it.
  Status expect_as(std::uint32_t entry, std::uint32_t from) noexcept;
  friend class LoanReceiver;
  void write_ticket(const internal_::interface::SlotRecord& slot, std::uint32_t entry,
                    Ticket& ticket) const noexcept;

  Interface& interface_;
  std::unique_ptr<internal_::base::PendingCalls> calls_;  // those that wait for what lands
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace hamlyn
