#include "fabric/shm/short_way.h"

namespace hamlyn::shm {

using interface::Core;
using interface::Queue;
using Taken = ShmLink::Taken;

ShortWay::ShortWay(Core& core) noexcept : core_(core) { core.set_shortcut(this); }
ShortWay::~ShortWay() { core_.set_shortcut(nullptr); }

std::size_t ShortWay::send_row(interface::Terminus& from, const Ticket& ticket,
                               std::span<const FastMessage> row) noexcept {
  std::size_t count = 0;
  ShmLink* link;
  interface::SendCredit* const credit = from.cached_way(ticket, 0, 0, link);
  if (credit == nullptr) return 0;
  for (; count != row.size() && credit->left != 0 && link->cached_room(); ++count) {
    const FastMessage& message = row[count];
    const std::size_t length = message.data.size();
    if (length > interface::kOpenedInline || !interface::inside(message.offset, length, ticket.bound)) break;
    const std::uint64_t at = ticket.base + message.offset;
    if (length <= interface::kInlineData) {
      link->publish(FastCell{{credit->target, at, message.word}, message.data.data(), length});
    } else if (at < interface::kPutSpan) {
      const std::uint64_t where = interface::put_word(credit->opening, length, false, at);
      link->publish(OpenedCell{where, message.data.data(), length, message.word});
    } else {
      break;
    }
    --credit->left;
  }
  if (count != 0 && link->must_ring()) link->ring();
  return count;
}

std::size_t ShortWay::put_row(interface::Terminus& from, const Ticket& ticket,
                              std::span<const PutMessage> row) noexcept {
  std::size_t count = 0;
  ShmLink* link;
  interface::SendCredit* const credit = from.cached_put(ticket, 0, {}, link);
  if (credit == nullptr) return 0;
  for (; count != row.size() && link->cached_room(); ++count) {
    const PutMessage& message = row[count];
    const std::size_t length = message.data.size();
    const std::uint64_t at = ticket.base + message.offset;
    if (length > interface::kPutInline || !interface::inside(message.offset, length, ticket.bound) ||
        at >= interface::kPutSpan) {
      break;
    }
    link->publish(
        PutCell{interface::put_word(credit->opening, length, false, at), message.data.data(), length});
  }
  if (count == 0) return 0;
  credit->unfenced |= from.bit();
  if (link->must_ring()) link->ring();
  return count;
}

// --- the run

__attribute__((always_inline)) inline void ShortWay::open_here(ShmLink& link, Queue& queue,
                                                               std::uint32_t most) noexcept {
  const interface::CachedWrite& shorts = link.cached.write;
  const interface::CachedWrite& blocks = link.cached.block;
  const interface::CachedOpened& opened = link.cached.opened;
  // Short ones of another queue would be taken for this one's. While replies are due, whoever polls is to
  // send them.
  const bool known = shorts.queue == &queue ||
                     (shorts.queue == nullptr && (blocks.queue == &queue || opened.queue == &queue));
  if (!known || link.cached.counted_last || link.broken || !queue.empty() || link.answers_due()) return;
  for (const interface::CachedWrite* each : {&shorts, &blocks}) {
    if (each->queue == &queue) most = std::min(most, each->places->tell_at - each->places->freed - 1);
  }
  if (opened.queue == &queue) most = std::min(most, opened.places->tell_at - opened.places->freed - 1);
  most = std::min(most, static_cast<std::uint32_t>(std::min<std::uint64_t>(queue.until_wrap(), most)));
  HAMLYN_ASSERT(run_.queue == nullptr, "one run is open at a time: its packets are counted when it closes");
  HAMLYN_ASSERT(most <= queue.until_wrap(), "a run ends before its queue wraps");
  run_ = {&queue, &link, most, most, shorts.length, shorts.counters};
  run_.opened_counters = opened.counters;
}

void ShortWay::open(ShmLink& link, Queue& queue, std::uint32_t most) noexcept {
  open_here(link, queue, most);
}

void ShortWay::open(Queue& queue, std::uint32_t row) noexcept {
  if (direct_ == nullptr) return;
  alone_ = core_.links().size() == 1 && queue.event < 0 && !direct_->urgent_happened();
  if (!alone_) left_ = std::min(left_, kDirectInARow);
  // No row, and it may soon be a stream that comes.
  const std::uint32_t most = std::min(left_, row != 0 ? row + 1 : kDirectInARow) - 1;
  open_here(*direct_, queue, std::min(direct_->until_settled() - 1, most));
  empty_polls_ = kEmptyPolls;
}

void ShortWay::open_posted(Queue& queue) noexcept {
  ShmLink* const link = direct_;
  if (link == nullptr || link->cached.posted != &queue || run_.queue != nullptr || link->broken ||
      !queue.empty() || link->answers_due())
    return;
  const std::uint32_t most = std::min({link->until_settled(), left_, kDirectInARow}) - 1;
  run_ = {};
  run_.posted = &queue;
  run_.link = link;
  run_.left = run_.opened_with =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(queue.until_wrap(), most));
}

std::uint32_t ShortWay::close_run() noexcept { return end_run(); }

std::uint32_t ShortWay::await_row() noexcept {
  if (!alone_ || run_.of_one_cell() + run_.blocks < kStream) return 0;
  const ShmLink& link = *run_.link;
  if (link.something_first()) {
    left_ = 0;  // its turn
    return 0;
  }
  if (run_.of_one_cell() < kStream) return 0;
  const std::uint32_t row = link.row();
  return row != 0 && rest_.await_row(row, [&] { return link.row_there(row); }) ? row : 0;
}

std::size_t ShortWay::take_run(Queue& queue, std::span<Notification> out, std::size_t count) noexcept {
  if (run_.queue != &queue) return count;
  while (count != out.size() && run_.left != 0 && take_in_run(queue, out[count])) ++count;
  return count;
}

// The next packet of one cell, whichever form it has.
inline bool ShortWay::take_in_run(Queue& queue, Notification& out) noexcept {
  const Taken taken = run_.link->take(CachedMessage{queue, out});
  if (taken == Taken::taken) {
    --run_.left;
    return true;
  }
  return taken == Taken::other && take_opened(queue, out);
}

bool ShortWay::take_opened(Queue& queue, Notification& out) noexcept {
  if (run_.link->take(CachedOpening{queue, out}) != Taken::taken) return false;
  --run_.left;
  ++run_.opened;
  run_.opened_bytes += out.length;
  return true;
}

bool ShortWay::take_block(Queue& queue, Notification& out) noexcept {
  if (run_.link->take(CachedBlock{queue, out}) != Taken::taken) return false;
  run_.take_block(run_.link->in().until_stop() - 1);
  return true;
}

// --- the link that brought something last

// A whole message of one packet; the rest of a group may stand behind a packet of it.
bool ShortWay::take_message(ShmLink& link, Queue& queue, Notification& out) noexcept {
  for (unsigned taken = 0; taken != Core::kSweepBudget; ++taken) {
    Message message{core_, queue, out};
    if (link.take(message) != Taken::taken) return false;
    if (message.whole) return true;
  }
  return false;
}

std::size_t ShortWay::take_all(Core& core, Queue& queue, std::span<Notification> out) noexcept {
  std::size_t count = 0;
  while (count < out.size() && !queue.empty()) core.take(queue, out[count++]);
  return count;
}

// --- memory

ShortWay::Served ShortWay::serve(bool alone) noexcept {
  if (direct_ == nullptr || left_ <= 1 || !alone) {
    left_ = kDirectInARow;
    return Served::elsewhere;
  }
  ShmLink& link = *direct_;
  --left_;
  close_run();
  rest_before_answer(link);
  for (std::uint32_t looks = rest_.looks(); !link.something_arrived();) {
    if (--looks == 0) {
      if (core_.links().size() != 1) left_ = 1;  // what others have brought is found by the next call
      return Served::nothing;
    }
    PollRest::rest(rest_.pauses());
  }
  rest_.answered();
  rest_.taken(1);
  rest_.review();
  // One at a time: a look for the next would take its line from the peer, who is about to write there.
  if (link.take(Put{}) == Taken::taken || link.take(Request{core_}) == Taken::taken)
    return link.answers_due() ? Served::replies_due : Served::something;
  link.arrive(core_, Core::kSweepBudget);
  // Nobody watches what a short way leads to; a longer one may have changed what another link waits for.
  return core_.answer_due_watches() || link.answers_due() ? Served::replies_due : Served::something;
}

void ShortWay::await_answer(ShmLink& link, bool first) noexcept {
  if (first) {
    link.tell_replies();
    rest_before_answer(link);
  }
  for (std::uint32_t looks = rest_.looks(); !link.take_answer(core_) && --looks != 0;)
    PollRest::rest(rest_.pauses());
}

}  // namespace hamlyn::shm
