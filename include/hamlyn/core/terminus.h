#pragma once
// Where messages leave (paper 0, sections 2.3 and 3.2): a private work queue. `send` is the papers'
// h_send_msg. Sending never blocks: what cannot be taken now is answered with a status.
//
// Threads: any. Whoever destroys a terminus ends the calls that wait on it in other threads, with
// `cancelled`, and waits until they have left.
// Owner: who made it; its interface outlives it. What is sent stays the caller's.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/core/interface.h"
#include "hamlyn/core/send_buffer_area.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/priority.h"
#include "hamlyn/values/put.h"
#include "hamlyn/values/remote.h"
#include "hamlyn/values/send.h"
#include "hamlyn/values/share.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

class Slot;

namespace internal_::base {
class PendingCalls;
}
namespace internal_::interface {
class Terminus;
}
namespace internal_::library {
class Patience;
class PendingCall;
}  // namespace internal_::library

// A work queue, and its order of departure.
class Terminus {
 public:
  // As many as wanted, per process and per thread. Throws Error: invalid_argument, out_of_memory, forked.
  explicit Terminus(Interface& interface, const TerminusOptions& options = {});
  // Cancels what was not sent whole, and ends waits with `cancelled`. What has left whole out of an area may
  // still be read there until the area goes.
  ~Terminus();
  Terminus(const Terminus&) = delete;
  Terminus& operator=(const Terminus&) = delete;

  // Sends `data`, of up to 4 GiB less a byte, into the ticket's metadata entry. Returns at once: `ok` when
  // all has been given to the link (the buffer is free), `pending` when the interface moves the rest (the
  // buffer must stay until `status(*handle)` is no longer pending), otherwise nothing was taken: queue_full,
  // out_of_bounds, misaligned (see SendOptions::element), too_long, invalid. Makes the link at first use.
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options = {},
              SendHandle* handle = nullptr) noexcept;

  // Sends `data` to the oldest buffer of the ticket's slot (hamlyn/core/posted_slot.h), with a word for the
  // notification there. Answers as `send`; an acknowledged message that found no buffer, or one that is too
  // short, ends as refused (`refusal` says which). Options::metadata, offset and element: invalid.
  Status send_posted(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                     const SendOptions& options = {}, SendHandle* handle = nullptr) noexcept;

  // Names `area` by a tag of this terminus, 0 to 7, in the place of what it named before. The area must
  // outlive its use here, or its messages are cancelled. ok, invalid: no such tag, or an area of another
  // interface; forked. Throws std::bad_alloc at first use.
  Status bind(std::uint32_t tag, SendBufferArea& area);
  Status unbind(std::uint32_t tag) noexcept;  // ok, invalid: nothing is bound to it; forked

  // Sends up to 16 pieces of bound areas, one behind the other, as one message into the ticket's metadata
  // entry. Long pieces are copied once, by the receiving interface; short ones, and those that it has not
  // been shown yet, go like any other data. As `send`, but the buffers stay in use until `status(*handle)` is
  // no longer pending, which is when the receiver has copied them. Also invalid: nothing is bound to a tag;
  // out_of_bounds: a piece reaches beyond its area; too_long: more pieces than that.
  Status send_gathered(const Ticket& ticket, std::span<const Piece> pieces, const SendOptions& options = {},
                       SendHandle* handle = nullptr) noexcept;
  // `send` and `send_gathered` as a member of a group, or for one: the share's whole count goes with this
  // message, so it is used up, and the next message needs another share or a piece that was split off before.
  // Also share_too_small: the share counts fewer packets than the data may need; invalid: to be acknowledged,
  // which no message of a group is by itself. Then nothing was taken.
  Status send(const Share& share, std::span<const std::byte> data, const SendOptions& options = {},
              SendHandle* handle = nullptr) noexcept;
  Status send_gathered(const Share& share, std::span<const Piece> pieces, const SendOptions& options = {},
                       SendHandle* handle = nullptr) noexcept;
  // Forgets the rest of a message that is pending; its handle says `cancelled`, and the buffer is free. If
  // some of it had left, the receiver's entry fails with Failure::abandoned (paper 1, section 3.7). ok;
  // pending: all of it has left, and the receiver still reads its areas; or what the handle says of a message
  // that was over before.
  Status cancel(SendHandle handle) noexcept;

  // Fast mode (paper 0, section 2.7): one packet (up to the MTU; urgent: up to 320 bytes), no metadata entry,
  // one word of metadata in the receiver's queue. ok (the buffer is free), or connecting, no_place,
  // queue_full: nothing was taken.
  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word = 0,
                   std::uint64_t offset = 0) noexcept;
  // Sends a row of messages to one ticket, in their order; `sent` is how many have left. The sender looks
  // once for the row whether the receiver sleeps, so a row costs less than its messages one by one. ok: all
  // have left; otherwise why the next one has not.
  Status send_fast_row(const Ticket& ticket, std::span<const FastMessage> row, std::size_t& sent) noexcept;

  // Makes the link to the ticket's interface and, for a fast-mode ticket, gets places there; waits up to
  // `timeout`. ok, timed_out, cancelled, link_ended, refused.
  Status connect(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept;

  // Connects, and asks the owner's interface how the slot is now. An opening that this interface knows may
  // have been taken back, or given to fewer, and the news be on its way. ok: the opening holds. no_place: no
  // opening in all that time, since as many slots of that interface are open as may be.
  Status confirm(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept;

  // The sequence word: every send up to that number is over, direct ones too, and its buffer free. One load,
  // without any lock. `status` says how a send ended.
  std::uint64_t sequence() const noexcept;
  // pending, ok, link_ended, or cancelled. Runs nothing.
  Status status(SendHandle handle) const noexcept;
  // Says why an acknowledged message with the status `refused` was refused. none: it was not, or later sends
  // have taken its place.
  Refusal refusal(SendHandle handle) const noexcept;
  // Waits until it is no longer pending. Also timed_out, cancelled.
  Status wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept;
  // Waits until a fast-mode send to `ticket` has a place and room, or the link has ended: also just before,
  // and then this says so once, and the next one waits for a new link. ok, timed_out, cancelled, link_ended,
  // refused.
  Status wait_for_place(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept;

  // Puts (docs/remote-memory.md): `data`, of any size, to `options.offset` of a slot that takes them, and
  // nothing said of it (paper 4, section 3.3, WRITE). Up to 48 bytes leave at once, as one cell, or not at
  // all. Longer ones as `send`: `pending` when the interface moves the rest. ok says that the buffer is free,
  // and not that it has landed. connecting: the slot is being opened, wait with `connect`; queue_full;
  // no_place (to be told of); refused: the slot takes none, or has gone; out_of_bounds; misaligned; invalid:
  // a shape that cannot be, or holds other than data.size() bytes.
  Status put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options = {},
             SendHandle* handle = nullptr) noexcept;
  // Puts a row, in its order; `sent` is how many have left. The sender looks once for the row whether the
  // receiver sleeps, as `send_fast_row` does. ok: all have left; otherwise why the next one has not, also
  // too_long: more than 48 bytes.
  Status put_row(const Ticket& ticket, std::span<const PutMessage> row, std::size_t& sent) noexcept;
  // Says what its owner lets this interface do at the slot, once `connect` has said ok.
  Opened opened(const Ticket& ticket) noexcept;
  // Asks whether all that this terminus has put to that slot has landed. As `fetch`; its outcome: ok; refused
  // and why, if a put since the last fence was, or the ticket is not good any more. queue_full also while
  // some of it has not left.
  Status fence(const Ticket& ticket, const RemoteOptions& options = {},
               RemoteHandle* handle = nullptr) noexcept;
  // `put` that waits, and `flush`, which is `fence` that waits: until it can be done, and until the buffer is
  // free, or the outcome is there. Also timed_out, cancelled, link_ended.
  Status put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
             std::chrono::nanoseconds timeout) noexcept;
  Outcome flush(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept;

  // Remote operations (docs/remote-memory.md). They leave at once, behind earlier messages of this
  // terminus to the same destination, or not at all: `pending`: asked, `outcome(*handle)` tells how it ends;
  // connecting, queue_full (as many are under way as there may be: Interface::Options::requests per link and
  // level, or all entries of this terminus; or the link has no room), no_place (in the queue of the options),
  // link_ended, out_of_bounds, invalid: nothing was done. Several may be under way. Fetches of one level are
  // done in the order in which they have left; gets may be answered in any order.
  //
  // Does `fetch` on the word at `options.offset`; `ok` if it is one without an answer.
  Status fetch(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options = {},
               RemoteHandle* handle = nullptr) noexcept;
  // Brings `length` bytes (up to 64 KiB, else too_long) to `into`, a slot of this interface, from its byte
  // `at` on. They land in pieces and any order, and must not be read before it is over. If the slot goes or
  // its key is changed before, the rest does not land, and it ends as `cancelled`.
  Status get(const Ticket& ticket, Slot& into, std::uint64_t at, std::size_t length,
             const RemoteOptions& options = {}, RemoteHandle* handle = nullptr) noexcept;
  // pending, ok, refused (and why), link_ended, cancelled. Kept until as many later operations were started
  // as this terminus has entries; then invalid. Runs nothing.
  Outcome outcome(RemoteHandle handle) const noexcept;
  // `fetch` and `get` that wait: until they can be asked for, and until it is over. Also timed_out,
  // cancelled; no_place: there was none to be told in for all of that time, and nothing was done.
  Outcome fetch(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options,
                std::chrono::nanoseconds timeout) noexcept;
  Outcome get(const Ticket& ticket, Slot& into, std::uint64_t at, std::size_t length,
              const RemoteOptions& options, std::chrono::nanoseconds timeout) noexcept;
  // Waits until it is over: spins for about as long as answers have taken lately, then sleeps (paper 1,
  // section 5.2.3). How it ended; or, as its status, timed_out or cancelled, and `outcome` is still pending.
  Outcome wait_outcome(RemoteHandle handle, std::chrono::nanoseconds timeout) noexcept;

  Interface& interface() noexcept { return interface_; }
  // Internal: calls that wait on this terminus.
  internal_::base::PendingCalls& calls() noexcept;
  // Internal: does what `connect` does, without a wait. connecting: not yet; link_ended, refused: once.
  Status try_connect(const Ticket& ticket) noexcept;
  // Internal: does what `send_posted` does, if all of it can leave at once; else nothing, and says false.
  bool send_posted_at_once(const Ticket& ticket, std::span<const std::byte> data,
                           std::uint64_t word) noexcept;
  // Internal: puts `data` to `offset` of `at`, and tells of it by the oldest buffer of `to`, another slot of
  // that owner, in which nothing lands: both or neither. Its notification has the word, and length 0. Answers
  // as `send_posted`, and as `put`; refused there, it halts a slot that halts. `at` of no interface: there is
  // no right to put anything, which is refused there, so that both sides count it.
  Status put_telling(const Ticket& to, std::uint64_t word, const Ticket& at, std::span<const std::byte> data,
                     std::uint64_t offset, const SendOptions& options = {},
                     SendHandle* handle = nullptr) noexcept;
  // Internal: the same, of up to 16 bytes, if all of it can leave at once; else nothing, and says false.
  bool put_telling_at_once(const Ticket& to, std::uint64_t word, const Ticket& at,
                           std::span<const std::byte> data, std::uint64_t offset) noexcept;
  // Internal: does what `send_fast` does, and waits for a link, a place and room. Also timed_out, cancelled;
  // link_ended: the link that there was has ended meanwhile.
  Status send_fast_waiting(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                           std::uint64_t offset, std::chrono::nanoseconds timeout) noexcept;

 private:
  friend class Import;  // its short reads land where they are wanted, its signals go with their data

  // `confirm`, in steps of which none waits. Steps of one ticket are taken by one
  // thread at a time. pending, connecting, queue_full, no_place: not yet; others as `confirm`.
  struct Confirmation {
    std::uint64_t before = 0;  // the question by which the slot was opened when this began
    bool again = false;        // it was refused so, and is opened anew
    RemoteHandle asked;        // what is under way
  };
  Confirmation begin_confirm(const Ticket& ticket) noexcept;
  Status try_confirm(const Ticket& ticket, Confirmation& confirmation) noexcept;
  Status confirm_step(const Ticket& ticket, Confirmation& confirmation) noexcept;
  // `get` that waits, into memory of the caller's.
  Outcome get(const Ticket& ticket, std::span<std::byte> into, const RemoteOptions& options,
              std::chrono::nanoseconds timeout) noexcept;
  // Tells the owner of a mapped slot that something was stored there: as soon as the link has room.
  Status call_owner(const Ticket& ticket) noexcept;
  // The 8-byte word at `offset`, as soon as it is not `seen`: of a slot that takes puts. queue_full: the link
  // had no place for a while.
  Outcome watch(const Ticket& ticket, std::uint64_t offset, std::uint64_t seen,
                std::chrono::nanoseconds timeout) noexcept;
  // `put` that waits of up to 48 bytes, and of a signal behind them: in one frame to another host if they can
  // leave at once.
  Status put_with_signal(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
                         std::span<const std::byte> value, const PutOptions& signal,
                         std::chrono::nanoseconds timeout) noexcept;
  // `put` that waits of a signal that says of what `before` has put to `of`, another slot of that owner, that
  // it has landed.
  Status put_signal_of(const Ticket& ticket, std::span<const std::byte> value, const PutOptions& signal,
                       Terminus& before, const Ticket& of, std::chrono::nanoseconds timeout) noexcept;
  // `get` into memory of the caller's, which lands there until it is over, or is given up.
  Status get(const Ticket& ticket, std::span<std::byte> into, const RemoteOptions& options,
             RemoteHandle* handle) noexcept;
  void give_up(RemoteHandle handle) noexcept;
  // `fetch` without an answer that waits until it has left.
  Status fetch_unanswered(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options,
                          std::chrono::nanoseconds timeout) noexcept;
  // One of several that are flushed together.
  struct Flush {
    Terminus* terminus = nullptr;  // null: nothing is asked
    const Ticket* ticket = nullptr;
    Outcome outcome;
  };
  static constexpr std::size_t kFlushes = 64;
  // `flush` of up to kFlushes, of one interface, that are asked at once.
  static void flush(std::span<Flush> flushes, std::chrono::nanoseconds timeout) noexcept;
  // `put` and `flush` in one: what has left at once and its fence go in one frame to another host.
  Outcome put_flushed(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                      std::chrono::nanoseconds timeout) noexcept;
  Outcome flush_over(const Ticket& ticket, Outcome outcome) noexcept;
  // Whether there is a link there, within the host.
  bool linked_near(const Ticket& ticket) noexcept;
  template <class Try>
  Status when_it_can(const Ticket& ticket, internal_::library::Patience& patience,
                     internal_::library::PendingCall& call, Try attempt) noexcept;
  enum class Answer : bool { soon, late };
  template <class Try>
  Outcome ask(const Ticket& ticket, std::chrono::nanoseconds timeout, Try attempt,
              Answer answer = Answer::soon) noexcept;
  Outcome wait_for_slow_outcome(RemoteHandle handle, std::chrono::nanoseconds timeout,
                                internal_::library::PendingCall& call) noexcept;
  Status send_block(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                    std::uint64_t offset) noexcept;
  Status send_fast_uncached(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                            std::uint64_t offset) noexcept;
  std::size_t send_row(const Ticket& ticket, std::span<const FastMessage> row) noexcept;

  Interface& interface_;
  internal_::interface::Terminus* terminus_ = nullptr;
};

}  // namespace hamlyn
