#pragma once
// The short ways of a packet through one interface (design, section 7): what the long way asks of each packet
// is asked once, for as long as nothing changes that the answer rests on. The core says when something does
// (interface::Shortcut). Whatever a short way does not take is left to the long one.
//
//   send    a packet leaves from registers, to where its terminus sent last
//   take    messages go from their link straight to the owner of a queue who polls
//   serve   puts and requests are done for whoever looks at memory
//   close   something has changed: the long way first
//
// How long a thread rests between looks, and for how many packets it waits, is found here, too (poll_rest.h).
// All of it runs under the run lock.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "fabric/shm/kinds.h"
#include "fabric/shm/poll_rest.h"
#include "fabric/shm/shm_link.h"
#include "interface/core.h"
#include "interface/deposit.h"
#include "interface/terminus.h"

namespace hamlyn::shm {

// Packets, each like the one before, that may be taken straight from one link for the owner of one
// empty queue without a look at anything but the packet: so many that no ring ends before, no credit is due,
// no place record wants to be seen to and the queue does not wrap. Whatever changes any of that closes it: a
// run of the core, replies that leave, links that come or go, queues that go. (A slot that changes is
// forgotten, interface::Cached, so that its packets are not like the one before.) They are short ones of one
// length and slot; messages by an opening, of one slot; and blocks, which are longer, of one slot. Blocks are
// counted as they come, and leave fewer.
//
// A run of messages to posted buffers takes no others: whatever else its link brings ends it.
struct ShortRun {
  interface::Queue* queue = nullptr;  // null: none is open, or one of messages to posted buffers
  ShmLink* link = nullptr;
  std::uint32_t left = 0;
  std::uint32_t opened_with = 0;
  std::uint64_t bytes_each = 0;
  interface::SlotCounters* slot_counters = nullptr;
  std::uint32_t blocks = 0;
  std::uint32_t opened = 0;  // messages by an opening: one cell each
  std::uint64_t opened_bytes = 0;
  interface::SlotCounters* opened_counters = nullptr;
  interface::Queue* posted = nullptr;  // of a run of messages to posted buffers: the queue; else null

  // Packets of one cell that were taken.
  std::uint32_t of_one_cell() const noexcept { return opened_with - left; }
  // A block was taken, behind which there is room for so many short ones.
  void take_block(std::uint32_t room) noexcept {
    ++blocks;
    HAMLYN_ASSERT(left != 0, "the last packet of a run is not taken the shortest way");
    const std::uint32_t fewer = left - std::min(left - 1, room);
    left -= fewer;
    opened_with -= fewer;
  }
};

class ShortWay final : public interface::Shortcut {
 public:
  explicit ShortWay(interface::Core& core) noexcept;
  ~ShortWay();
  ShortWay(const ShortWay&) = delete;
  ShortWay& operator=(const ShortWay&) = delete;

  // --- send. Up to 16 bytes in fast mode; more; a put of up to 48 bytes; several of the first. False, or
  // fewer than all: something is in the way, and the long way says what. `asleep`: the link whose peer is to
  // be woken by ring(); otherwise null. Where others wait for room, cached_room() says no to packets of one
  // cell, so that these need not ask others_first.
  __attribute__((always_inline)) static bool send(interface::Terminus& from, const Ticket& ticket,
                                                  std::span<const std::byte> data, std::uint64_t word,
                                                  std::uint64_t offset, ShmLink*& asleep) noexcept {
    ShmLink* link;
    interface::SendCredit* const credit = from.cached_way(ticket, data.size(), offset, link);
    if (credit == nullptr || !link->cached_room()) [[unlikely]]
      return false;
    const FastCell shape{{credit->target, ticket.base + offset, word}, data.data(), data.size()};
    asleep = leave(*link, shape, [&] { --credit->left; });
    return true;
  }
  __attribute__((always_inline)) static bool send_block(interface::Terminus& from, const Ticket& ticket,
                                                        std::span<const std::byte> data, std::uint64_t word,
                                                        std::uint64_t offset, ShmLink*& asleep) noexcept {
    ShmLink* link;
    interface::SendCredit* const credit = from.cached_way(ticket, data.size(), offset, link);
    if (credit == nullptr) [[unlikely]]
      return false;
    const FastBlock shape{{credit->target, ticket.base + offset, word}, data.data(), data.size()};
    if (link->others_first(Priority::normal) || !link->cached_room(shape)) [[unlikely]]
      return false;
    asleep = leave(*link, shape, [&] { --credit->left; });
    return true;
  }
  __attribute__((always_inline)) static bool put(interface::Terminus& from, const Ticket& ticket,
                                                 std::span<const std::byte> data, const PutOptions& options,
                                                 ShmLink*& asleep) noexcept {
    ShmLink* link;
    interface::SendCredit* const credit = from.cached_put(ticket, data.size(), options, link);
    if (credit == nullptr || !link->cached_room()) [[unlikely]]
      return false;
    const std::uint64_t word =
        interface::put_word(credit->opening, data.size(), false, ticket.base + options.offset);
    const PutCell shape{word, data.data(), data.size()};
    asleep = leave(*link, shape, [&] { credit->unfenced |= from.bit(); });
    return true;
  }
  // More than 16 bytes and up to 40.
  __attribute__((always_inline)) static bool send_opened(interface::Terminus& from, const Ticket& ticket,
                                                         std::span<const std::byte> data, std::uint64_t word,
                                                         std::uint64_t offset, ShmLink*& asleep) noexcept {
    ShmLink* link;
    interface::SendCredit* const credit = from.cached_way(ticket, data.size(), offset, link);
    if (credit == nullptr || !link->cached_room() || ticket.base + offset >= interface::kPutSpan) [[unlikely]]
      return false;
    const std::uint64_t where =
        interface::put_word(credit->opening, data.size(), false, ticket.base + offset);
    const OpenedCell shape{where, data.data(), data.size(), word};
    asleep = leave(*link, shape, [&] { --credit->left; });
    return true;
  }
  // Up to 16 bytes to a posted buffer.
  __attribute__((always_inline)) static bool send_posted(interface::Terminus& from, const Ticket& ticket,
                                                         std::span<const std::byte> data, std::uint64_t word,
                                                         SendHandle* handle, ShmLink*& asleep) noexcept {
    ShmLink* const link = from.cached_posted(ticket);
    if (link == nullptr || !link->cached_room()) [[unlikely]]
      return false;
    const PostedWords words = posted_words(from, ticket, data, word);
    const FastCell shape{words.header(), data.data(), data.size()};
    asleep = leave(*link, shape, [&] { from.left_at_once(*link, data.size(), handle); });
    return true;
  }
  // More, in one packet.
  __attribute__((always_inline)) static bool send_posted_block(interface::Terminus& from,
                                                               const Ticket& ticket,
                                                               std::span<const std::byte> data,
                                                               std::uint64_t word,
                                                               ShmLink*& asleep) noexcept {
    ShmLink* const link = from.cached_posted(ticket);
    if (link == nullptr) [[unlikely]]
      return false;
    const PostedWords words = posted_words(from, ticket, data, word);
    const FastBlock shape{words.header(), data.data(), data.size()};
    if (link->others_first(Priority::normal) || !link->cached_room(shape)) [[unlikely]]
      return false;
    asleep = leave(*link, shape, [&] { from.left_at_once(*link, data.size(), nullptr); });
    return true;
  }
  // Puts up to 16 bytes, of which a posted buffer tells.
  __attribute__((always_inline)) static bool put_telling(interface::Terminus& from, const Ticket& to,
                                                         std::uint64_t word, const Ticket& at,
                                                         std::span<const std::byte> data,
                                                         std::uint64_t offset, ShmLink*& asleep) noexcept {
    ShmLink* const link = from.cached_posted(to);
    ShmLink* way;
    const interface::SendCredit* const credit = from.cached_put(at, data.size(), {.offset = offset}, way);
    if (link == nullptr || credit == nullptr || way != link || !link->cached_room()) [[unlikely]]
      return false;
    const interface::FastTarget target {
      interface::slot_word(to), to.key, interface::telling_entry_word(word)
    };
    const FastHeader header{target, interface::telling_where(credit->opening, at.base + offset),
                            interface::telling_user_word(from.next_message(), word)};
    asleep = leave(*link, FastCell{header, data.data(), data.size()},
                   [&] { from.left_at_once(*link, data.size(), nullptr); });
    return true;
  }
  static std::size_t send_row(interface::Terminus& from, const Ticket& ticket,
                              std::span<const FastMessage> row) noexcept;
  static std::size_t put_row(interface::Terminus& from, const Ticket& ticket,
                             std::span<const PutMessage> row) noexcept;

  // --- take. Whether a run is open for the owner of that queue.
  bool open_for(const interface::Queue& queue) const noexcept {
    return run_.queue == &queue && run_.left != 0 && queue.empty();
  }
  bool open_for_posted(const interface::Queue& queue) const noexcept {
    return run_.posted == &queue && run_.left != 0 && queue.empty();
  }
  // In an open run: the next packet, after a few looks. Coming back in between would make the next look late.
  enum class Found : std::uint8_t {
    message,
    standing,    // a message that had come before the first look: told only if asked for
    nothing,     // the caller may come back without a look at anything else
    other,       // a packet that is not like the one before
    other_late,  // likewise, and it was waited for: told only if asked for
    elsewhere,   // nothing here: everything has its turn
  };
  template <bool kTellsStanding = false>
  __attribute__((always_inline)) Found take(interface::Queue& queue, Notification& out) noexcept {
    ShmLink& link = *run_.link;
    return look_in_run<kTellsStanding>(
        link, [&]() __attribute__((always_inline)) {
          const ShmLink::Taken taken = link.take(CachedMessage{queue, out});
          if (taken == ShmLink::Taken::taken) [[likely]]
            --run_.left;
          return taken;
        });
  }
  // Takes the next message in an open run of those to posted buffers, likewise.
  __attribute__((always_inline)) Found take_posted(interface::Queue& queue, Notification& out) noexcept {
    ShmLink& link = *run_.link;
    return look_in_run<false>(
        link, [&]() __attribute__((always_inline)) {
          const ShmLink::Taken taken = link.take(PostedMessage{core_, queue, out});
          if (taken == ShmLink::Taken::taken) [[likely]]
            run_.take_block(link.in().until_stop() - 1);
          return taken;
        });
  }
  // In an open run: what follows `count` messages. Returns how many there are then.
  std::size_t take_run(interface::Queue& queue, std::span<Notification> out, std::size_t count) noexcept;
  // In an open run that has found something other: a message by an opening, or a block, perhaps. False:
  // nothing was done.
  bool take_opened(interface::Queue& queue, Notification& out) noexcept;
  bool take_block(interface::Queue& queue, Notification& out) noexcept;

  // The link that brought something last, and everything that it has brought. Closes the run. `found`: a
  // packet is known to be there.
  struct Look {
    std::uint32_t count = 0;   // messages
    bool looked = false;       // false: everything has its turn
    bool moved = false;        // somebody may wait for what was done
    bool over = false;         // nothing else needs a look
    bool replies_due = false;  // the core should run
  };
  Look look(interface::Queue& queue, std::span<Notification> out, bool found) noexcept;
  static std::size_t take_all(interface::Core& core, interface::Queue& queue,
                              std::span<Notification> out) noexcept;

  // Opens a run for the owner of an empty queue who has just looked everywhere, or at the link. `row`: so
  // many packets seem to be there.
  void open(interface::Queue& queue, std::uint32_t row) noexcept;
  // Opens a run of messages to posted buffers for the owner of a queue that the last one was for. Behind
  // `open`, if that has opened none.
  void open_posted(interface::Queue& queue) noexcept;
  // Opens one of at most so many packets of that link, if it can be. No other is open.
  void open(ShmLink& link, interface::Queue& queue, std::uint32_t most) noexcept;
  // Behind an open run that has brought packets as they come in a stream. Returns how many seem to be there
  // now, 0 if there is no stream.
  std::uint32_t await_row() noexcept;
  const ShortRun& run() const noexcept { return run_; }

  // --- serve. For a thread that looks at memory where something is to land, and at no queue: one packet of
  // the link that brought something last. `alone`: nobody else waits or sleeps.
  enum class Served : std::uint8_t { elsewhere, nothing, something, replies_due };
  Served serve(bool alone) noexcept;
  // Looks a few times for the answer of a remote operation. `first`: since it was asked.
  void await_answer(ShmLink& link, bool first) noexcept;

  PollRest& rest() noexcept { return rest_; }

  // --- close. interface::Shortcut. Returns how many packets the run has brought.
  std::uint32_t close_run() noexcept;
  void close() noexcept override { close_run(); }
  void leave() noexcept override {
    close_run();
    direct_ = nullptr;
  }
  void ran(interface::Link* last) noexcept override { direct_ = last != nullptr ? last->local() : nullptr; }

 private:
  static constexpr std::uint32_t kDirectInARow = 16;
  static constexpr std::uint32_t kAloneInARow = 256;  // while there is no other link
  static constexpr std::uint32_t kStream = 8;         // so many packets of one run are a stream
  static constexpr unsigned kEmptyPolls = 2;

  // Publishes, and notes what has left by `left`. Returns the link if its peer sleeps.
  template <class Shape, class Left>
  __attribute__((always_inline)) static ShmLink* leave(ShmLink& link, const Shape& shape,
                                                       Left left) noexcept {
    link.publish(shape);
    const bool must_ring = link.must_ring();
    left();
    if (must_ring) [[unlikely]]
      return &link;
    link.prepare_next(shape);
    return nullptr;
  }
  // Words of a whole message to a posted buffer.
  struct PostedWords {
    interface::FastTarget target;
    std::uint64_t offset;
    std::uint64_t word;
    FastHeader header() const noexcept { return {target, offset, word}; }
  };
  __attribute__((always_inline)) static PostedWords posted_words(interface::Terminus& from,
                                                                 const Ticket& ticket,
                                                                 std::span<const std::byte> data,
                                                                 std::uint64_t word) noexcept {
    const auto length = static_cast<std::uint32_t>(data.size());
    const interface::PostedPart part {
      .at = 0, .length = length, .total = length, .message = from.next_message(), .word = word
    };
    return {{interface::slot_word(ticket), ticket.key, entry_word_of(part)},
            offset_word_of(part),
            user_word_of(part)};
  }
  // So often a poll looks in an open run. Once, if there are other links, too.
  std::uint32_t looks() const noexcept { return alone_ ? rest_.looks() : 1; }
  // Says of a poll that has found nothing whether it may come back without a look at anything else.
  bool empty_handed() noexcept { return alone_ && empty_polls_ != 0 && --empty_polls_ != 0; }
  // Before the first look at a link to which something was sent; while there is nothing else to look at.
  void rest_before_answer(ShmLink& link) noexcept {
    if (link.answer_expected() && core_.links().size() == 1)
      rest_.rest_before_answer([&]() __attribute__((noinline)) { return link.something_arrived(); });
  }
  // In an open run: looks at the link a few times. `next` takes what is there.
  template <bool kTellsStanding, class Next>
  __attribute__((always_inline)) Found look_in_run(ShmLink& link, Next next) noexcept {
    rest_before_answer(link);
    const std::uint32_t pauses = rest_.pauses();
    Found found = kTellsStanding ? Found::standing : Found::message;
    for (std::uint32_t looks = this->looks();; found = Found::message) {
      const ShmLink::Taken taken = next();
      if (taken == ShmLink::Taken::taken) [[likely]] {
        rest_.answered();
        return found;
      }
      if (taken == ShmLink::Taken::other)
        return kTellsStanding && found == Found::message ? Found::other_late : Found::other;
      if (--looks == 0) return empty_handed() ? Found::nothing : Found::elsewhere;
      PollRest::rest(pauses);
    }
  }
  void open_here(ShmLink& link, interface::Queue& queue, std::uint32_t most) noexcept;
  std::uint32_t end_run() noexcept;
  bool may_look(const interface::Queue& queue, std::uint32_t taken) noexcept;
  bool look_for_more(ShmLink& link) noexcept;
  bool take_last_of_run(ShmLink& link, interface::Queue& queue, Notification& out) noexcept;
  bool take_message(ShmLink& link, interface::Queue& queue, Notification& out) noexcept;
  bool take_next(ShmLink& link, interface::Queue& queue, Notification& out) noexcept;
  bool take_in_run(interface::Queue& queue, Notification& out) noexcept;

  interface::Core& core_;
  ShortRun run_;
  ShmLink* direct_ = nullptr;  // the link that brought something last, while there is nothing else to do
  std::uint32_t left_ = kDirectInARow;  // packets of it, until everything has its turn
  bool alone_ = false;                  // the link of the open run is all there is to look at
  std::uint32_t empty_polls_ = kEmptyPolls;
  PollRest rest_;
};

// --- what stands in each poll that looks at more than the next packet of an open run

__attribute__((always_inline)) inline std::uint32_t ShortWay::end_run() noexcept {
  const ShortRun run = std::exchange(run_, {});
  HAMLYN_ASSERT(run.left + run.opened <= run.opened_with, "a run never grows");
  const std::uint32_t short_ones = run.of_one_cell() - run.opened;
  if (short_ones != 0) {
    const std::uint64_t bytes = short_ones * run.bytes_each;
    run.link->counters->packets_in += short_ones;
    run.link->counters->bytes_in += bytes;
    run.slot_counters->messages += short_ones;
    run.slot_counters->bytes += bytes;
  }
  if (run.opened != 0) {
    run.link->counters->packets_in += run.opened;
    run.link->counters->bytes_in += run.opened_bytes;
    run.opened_counters->messages += run.opened;
    run.opened_counters->bytes += run.opened_bytes;
  }
  const std::uint32_t packets = run.of_one_cell() + run.blocks;
  if (packets != 0 && run.queue != nullptr) run.queue->count();  // others are counted as they come
  return packets;
}

// Every so many packets everything else gets its turn. `taken`: straight from the link since the last call.
__attribute__((always_inline)) inline bool ShortWay::may_look(const interface::Queue& queue,
                                                              std::uint32_t taken) noexcept {
  if (direct_ == nullptr || !queue.empty() || left_ <= taken + 1) [[unlikely]] {
    left_ = alone_ ? kAloneInARow : kDirectInARow;
    return false;
  }
  left_ -= taken + 1;
  return true;
}

// Whether anything has come by the link that brought the last message, after a few looks.
__attribute__((always_inline)) inline bool ShortWay::look_for_more(ShmLink& link) noexcept {
  rest_before_answer(link);
  const std::uint32_t pauses = rest_.pauses();
  for (std::uint32_t looks = this->looks(); !link.something_arrived();) {
    if (--looks == 0) return false;
    PollRest::rest(pauses);
  }
  rest_.answered();
  return true;
}

// The packet at which a run ended, with what had to wait for that.
__attribute__((always_inline)) inline bool ShortWay::take_last_of_run(ShmLink& link, interface::Queue& queue,
                                                                      Notification& out) noexcept {
  if (link.cached.write.queue != &queue || link.broken) return false;
  const bool wraps = queue.next_wraps();
  if (link.take(CachedMessage{queue, out}) != ShmLink::Taken::taken) return false;
  link.cached.counted_last = false;
  out.wrap = wraps;
  ++link.counters->packets_in;
  link.counters->bytes_in += out.length;
  ++link.cached.write.counters->messages;
  link.cached.write.counters->bytes += out.length;
  queue.count();
  link.settle(core_);
  return true;
}

// The next message, if it stands in one packet and is for the owner of that queue.
__attribute__((always_inline)) inline bool ShortWay::take_next(ShmLink& link, interface::Queue& queue,
                                                               Notification& out) noexcept {
  const std::uint64_t lead = link.next_lead();
  if (interface::is_request(lead)) return false;
  return (interface::is_short_write(lead) && take_last_of_run(link, queue, out)) ||
         take_message(link, queue, out);
}

__attribute__((always_inline)) inline ShortWay::Look ShortWay::look(interface::Queue& queue,
                                                                    std::span<Notification> out,
                                                                    bool found) noexcept {
  const std::uint32_t taken = end_run();
  rest_.taken(taken);
  if (!may_look(queue, taken)) return {};
  ShmLink& link = *direct_;
  Look look{.looked = true};
  if (found) rest_.answered();
  if (!found && !look_for_more(link)) {
    look.over = empty_handed();
  } else if (take_next(link, queue, out.front())) {
    look.count = 1;
  } else if (link.take(Request{core_}) == ShmLink::Taken::taken) {
    look.moved = true;
    rest_.taken(1);
    // A look for the next one would take its line from the peer, who is about to write there.
    look.over = alone_ && !link.answers_due() && !link.broken;
  } else {
    look.moved = link.arrive(core_, interface::Core::kSweepBudget) != 0;
    look.count = static_cast<std::uint32_t>(take_all(core_, queue, out));
    look.replies_due = core_.answer_due_watches();
  }
  look.replies_due |= link.answers_due();
  return look;
}

}  // namespace hamlyn::shm
