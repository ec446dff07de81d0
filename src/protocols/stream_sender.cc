#include <algorithm>

#include "hamlyn/protocols/stream.h"
#include "library/no_link.h"
#include "library/with_memory.h"
#include "protocols/library_port.h"
#include "protocols/seeds.h"
#include "protocols/stream_source.h"

namespace hamlyn {

using namespace std::chrono_literals;

using library::Clock;
using library::Deadline;
using protocols::Dispatcher;
using protocols::left_until;
using protocols::throw_forked;

namespace {

// A record of which some has left is given so long to leave whole when waits are cancelled.
constexpr std::chrono::milliseconds kCancelled{500};
// A receiver that has closed is told where the stream ends, if the link has room within so long.
constexpr std::chrono::seconds kEndSaid{1};
constexpr std::size_t kWritten = 65536;  // bytes of a record of a byte stream
// A small record is put together with those that come so close behind it; more would have them wait for
// nothing, and fewer send each by itself.
constexpr std::chrono::microseconds kClose{5};
constexpr std::chrono::seconds kLongestLinger{1};

}  // namespace

struct StreamSender::Inside final : Receiver, protocols::Due {
  Inside(Manager& manager, const Ticket& door, const Options& options)
      : Receiver(manager),
        dispatcher(manager.inside()),
        port(dispatcher, *this),
        source(port, door, options.together),
        linger(options.linger) {
    dispatcher.expect_due();
  }
  ~Inside() override { dispatcher.remove(*this); }

  using Receiver::retire;
  void process_arrival(const Notification& arrival) override {
    if (given_up) return hear_late(arrival);
    source.arrived(arrival);
    if (opening) [[unlikely]]
      static_cast<void>(go_on_opening());
    say_what_is_due();
  }
  // Goes on with StreamSource::open, and notes when the opening is over. The dispatcher wakes those who wait:
  // after an arrival, and when this due is settled.
  Status go_on_opening() noexcept {
    const Status status = source.open();
    if (opening && !protocols::for_now(status)) {
      opening = false;
      far = status == Status::ok && library::is_far(dispatcher.interface, source.peer());
    }
    return status;
  }
  void say_what_is_due() noexcept {
    if (!source.settle()) dispatcher.add(*this);
  }
  bool settle() noexcept override {
    if (given_up) [[unlikely]] {
      // The interface thread gives nothing to receivers, so it leaves the answer where it is.
      dispatcher.hear_last(source.answers(), [&](const Notification& answer) { hear_late(answer); });
      return !source.may_be_answered();
    }
    if (opening) [[unlikely]]
      return !protocols::for_now(go_on_opening()) || source.awaits_answer();
    const bool flushed = !source.staged() || leaves([&] { return source.flush(); });
    return source.settle() && flushed;
  }
  bool leave_early() noexcept override {
    return !source.staged() || leaves([&] { return source.flush_early(); });
  }
  template <class Flush>
  bool leaves(Flush flush) noexcept {
    Status status = flush();
    if (status == Status::no_place) {
      // Room may have been made that nobody has heard of: whoever sends need not run the manager.
      dispatcher.overhear(source.answers(), [&](const Notification& answer) { source.overhear(answer); });
      status = flush();
    }
    return !protocols::for_now(status);
  }
  std::uint64_t batches() const noexcept override { return source.batches(); }

  // Whether a small record is put to others, without a look at the clock.
  bool gathers() const noexcept {
    return source.staged() || (lingers() && linger != 0ns) || linger == StreamSender::kOnlyOnFlush;
  }
  // A small record was taken. `first`: there was none before it.
  void see_to_company(bool first) noexcept {
    if (linger != StreamSender::kOnlyOnFlush) {
      if (first && leave_alone()) return;
      dispatcher.linger(*this, linger);
    }
    dispatcher.add_before_wait(*this);
  }
  // False: one has left just now, or too much is under way.
  bool leave_alone() noexcept {
    if (source.crowded()) return false;
    const Clock::time_point now = Clock::now();
    const Clock::time_point before = std::exchange(left_at, now);
    return now - before >= std::min<std::chrono::nanoseconds>(kClose, linger) && leave_early();
  }

  // Gives up what is not open. The receiver may have agreed, which nobody has heard yet. True: it may agree
  // yet, and is to be told then.
  bool give_up() noexcept {
    dispatcher.interface.run();
    dispatcher.hear_last(source.answers(), [&](const Notification& answer) { source.arrived(answer); });
    given_up = source.may_be_answered();
    return given_up;
  }
  // An answer may be heard twice: where it stands, and when it is given.
  void hear_late(const Notification& answer) noexcept {
    if (!source.may_be_answered()) return;
    source.arrived(answer);
    if (source.opened()) say_farewell();
  }
  void say_farewell() noexcept {
    Ticket ticket;
    std::uint64_t word = 0;
    if (source.farewell(ticket, word)) dispatcher.farewell(ticket, word);
  }

  Dispatcher& dispatcher;
  protocols::LibraryPort port;
  protocols::StreamSource<protocols::LibraryPort> source;
  const std::chrono::nanoseconds linger;
  bool opening = true;          // neither open nor in vain
  bool given_up = false;        // its owner has gone, and the receiver may not know that
  bool far = false;             // what is put waits for company in this process
  Clock::time_point left_at{};  // a record that found none under way
};

// Under the lock `step()` does what is to be done, or says why it cannot be done now.
template <class Step>
Status StreamSender::drive(Step step, std::chrono::nanoseconds timeout) noexcept {
  Dispatcher& dispatcher = inside_->dispatcher;
  Dispatcher::PendingCall call(dispatcher, Dispatcher::calls_of(*inside_));
  Status status;
  {
    const Dispatcher::Guard guard(dispatcher);
    if (!guard) return Status::forked;
    status = step();
    if (!protocols::for_now(status)) [[likely]]
      return status;
    if (guard.nested()) return Status::invalid;
    call.begin();
  }
  // For an arrival, a place, room in the link or a piece, whichever it wants. Also without time to wait what
  // has come is heard once: nobody else may run the manager.
  bool opening = false;
  const auto again = [&] {
    status = step();
    opening = inside_->opening;
    return protocols::for_now(status) ? Status::pending : status;
  };
  status = dispatcher.wait(call, again, library::deadline_in(timeout));
  return status == Status::timed_out && opening ? Status::connecting : status;
}

StreamSender::StreamSender(Manager& manager, const Seed& seed, const Options& options, Begin) try
    : manager_(manager) {
  protocols::check_seed(seed, SeedKind::stream);
  if (options.together < 2048 || options.together > 65536)
    throw Error(ErrorCode::invalid_argument, "small records are gathered in 2048 to 65536 bytes");
  if (options.linger < 0ns || (options.linger > kLongestLinger && options.linger != kOnlyOnFlush))
    throw Error(ErrorCode::invalid_argument, "small records linger for up to a second, or kOnlyOnFlush");
  const Dispatcher::Guard guard(manager.inside());
  if (!guard) throw_forked();
  inside_ = std::make_unique<Inside>(manager, seed.ticket, options);
  if (!inside_->settle()) inside_->dispatcher.add(*inside_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a sender of streams");
}

StreamSender::~StreamSender() {
  Dispatcher& dispatcher = inside_->dispatcher;
  bool given_up = false;
  if (const Dispatcher::Guard guard(dispatcher); guard && !inside_->source.opened())
    given_up = inside_->give_up();
  if (given_up) {  // goes on hearing what comes for it
    static_cast<void>(dispatcher.close_and_drain(Dispatcher::calls_of(*inside_)));  // no forked child
    const Dispatcher::Guard guard(dispatcher);
    dispatcher.keep_until_settled(std::move(inside_));
    return;
  }
  inside_->retire();
  const Dispatcher::Guard guard(dispatcher);
  if (!guard) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  inside_->say_farewell();
  inside_.reset();
}

Status StreamSender::opened(std::chrono::nanoseconds timeout) noexcept {
  const auto ready = [&] {
    const Status status = inside_->go_on_opening();
    return protocols::for_now(status) ? Status::pending : status;
  };
  return inside_->dispatcher.receive(*inside_, ready, timeout);
}

void StreamSender::open(std::chrono::nanoseconds timeout) try {
  if (const Status status = opened(timeout); status != Status::ok) throw_unopened(status);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a sender of streams");
}

void StreamSender::throw_unopened(Status status) {
  Refusal refusal = Refusal::none;
  if (const Dispatcher::Guard guard(inside_->dispatcher); guard) refusal = inside_->source.refusal();
  if (refusal != Refusal::none && status == Status::refused) protocols::throw_refused_seed(refusal);
  if (status == Status::invalid) protocols::throw_nested("a stream");
  library::throw_if_no_link("no stream was opened", manager_.interface(), inside_->source.peer());
  switch (status) {
    case Status::refused:
      throw Error(ErrorCode::peer_refused, "the receiver does not want this sender");
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, "the receiver has not looked at who wants to send");
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, "cancelled while the stream was opened");
    case Status::forked:
      throw_forked();
    default:
      throw Error(ErrorCode::peer_died, "the receiver's process has ended, or its link has");
  }
}

Status StreamSender::send(std::span<const std::byte> data, std::chrono::nanoseconds timeout) noexcept {
  {
    Inside& inside = *inside_;
    const Dispatcher::Guard guard(inside.dispatcher);
    if (guard && inside.gathers() && inside.source.gather(data)) [[likely]] {
      inside.dispatcher.add_before_wait(inside);
      return Status::ok;
    }
  }
  return send_or_wait(data, timeout);
}

Status StreamSender::send_or_wait(std::span<const std::byte> data,
                                  std::chrono::nanoseconds timeout) noexcept {
  SendHandle handle;
  bool begun = false;
  std::uint32_t sequence = 0;
  Dispatcher::PendingCall call(inside_->dispatcher, Dispatcher::calls_of(*inside_));
  const auto step = [&] {
    const bool first = !inside_->source.staged();
    if (first) inside_->dispatcher.hear(inside_->source.answers());
    const Status status = inside_->source.post(data, &handle);
    begun = status == Status::pending;
    sequence = inside_->source.last_sequence();
    if (begun || status == Status::closed) [[unlikely]]
      call.begin();
    if (status == Status::ok && inside_->source.staged()) inside_->see_to_company(first);
    return begun ? Status::ok : status;
  };
  const Status status = drive(step, timeout);
  if (status == Status::closed) say_end();
  if (!begun) [[likely]]
    return status;
  return await_leaving(handle, sequence);
}

// Waits for a record that is on its way: the buffer is free when it has left, which the link's own deadlines
// bound, if it has any. A cancel leaves it some time to leave whole.
Status StreamSender::await_leaving(SendHandle handle, std::uint32_t sequence) noexcept {
  Terminus& terminus = inside_->port.terminus();
  inside_->dispatcher.settle_before_other_wait();  // what other streams have put together
  Deadline patience;
  for (;;) {
    const Status left = terminus.wait(handle, left_until(patience));
    if (left == Status::ok || left == Status::forked) return left;
    if (left == Status::cancelled && !patience && terminus.status(handle) == Status::pending) {
      patience = Clock::now() + kCancelled;
      continue;
    }
    const Dispatcher::Guard guard(inside_->dispatcher);
    if (!guard) return Status::forked;
    if (left != Status::timed_out && left != Status::cancelled) return why_over(left);
    if (left == Status::cancelled && Clock::now() < *patience) continue;
    patience = Clock::now() + kCancelled;
    static_cast<void>(terminus.cancel(handle));                  // its status says it
    if (terminus.status(handle) != Status::cancelled) continue;  // it was over, or is still read
    inside_->source.cut_short(sequence);
    inside_->say_what_is_due();
    return Status::cancelled;
  }
}

Status StreamSender::bind(std::uint32_t tag, SendBufferArea& area) {
  return inside_->port.terminus().bind(tag, area);
}

Status StreamSender::send(const Piece& piece, SendHandle& handle, std::chrono::nanoseconds timeout) noexcept {
  handle = {};
  const Deadline deadline = library::deadline_in(timeout);
  const auto first = [&] { return inside_->source.first_if_full(); };
  if (const Status room = wait_for(first, deadline); room != Status::ok) return room;
  const auto step = [&] {
    const Status status = inside_->source.post(piece, &handle);
    return status == Status::pending ? Status::ok : status;
  };
  const Status status = drive(step, left_until(deadline));
  if (status == Status::closed) say_end();
  return status;
}

Status StreamSender::wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept {
  return wait_for([&] { return handle; }, library::deadline_in(timeout));
}

// Until the handle that `which` gives, under the lock, is over.
template <class Which>
Status StreamSender::wait_for(Which which, Deadline deadline) noexcept {
  Dispatcher& dispatcher = inside_->dispatcher;
  Dispatcher::PendingCall call(dispatcher, Dispatcher::calls_of(*inside_));
  SendHandle handle;
  {
    const Dispatcher::Guard guard(dispatcher);
    if (!guard) return Status::forked;
    handle = which();
    const Status status = inside_->port.status(handle);
    if (status == Status::ok || status == Status::invalid) return status;
    if (status != Status::pending) return why_over(status);
    if (guard.nested()) return Status::invalid;
    call.begin();
    if (inside_->source.staged() && !inside_->settle()) dispatcher.add(*inside_);
  }
  const auto over = [&] {
    return inside_->port.status(handle) != Status::pending ? Status::ok : Status::pending;
  };
  const Status waited = dispatcher.wait(call, over, deadline);
  if (waited != Status::ok) return waited;
  const Dispatcher::Guard guard(dispatcher);
  if (!guard) return Status::forked;
  const Status ended = inside_->port.status(handle);
  return ended == Status::ok ? ended : why_over(ended);
}

// How the stream has ended, if it has, when a message is over in that way: it may not have heard of it yet.
// Under the lock.
Status StreamSender::why_over(Status status) noexcept {
  inside_->dispatcher.assert_held();
  inside_->source.take_back();
  inside_->say_what_is_due();
  const Status end = inside_->source.end();
  return end != Status::ok || status == Status::ok ? end : Status::link_ended;
}

// The receiver has closed, and waits to hear where the stream ends; whoever sends may never run the manager
// again.
void StreamSender::say_end() noexcept {
  Dispatcher::PendingCall call(inside_->dispatcher, Dispatcher::calls_of(*inside_));
  const auto said = [&] {
    // Without a link the receiver was told by the link's end.
    const bool over = inside_->source.settle() || !inside_->port.linked(inside_->source.peer());
    return over ? Status::ok : Status::pending;
  };
  static_cast<void>(
      inside_->dispatcher.wait(call, said, Clock::now() + kEndSaid));  // then nobody hears of it
}

std::size_t StreamSender::longest() const noexcept {
  const Dispatcher::Guard guard(inside_->dispatcher);
  return inside_->source.most();  // 0 until it is open
}

Status StreamSender::write(std::span<const std::byte> data) noexcept {
  while (!data.empty()) {
    const std::size_t most = std::min(kWritten, longest());
    if (most == 0) {
      if (const Status status = opened(std::chrono::nanoseconds::max()); status != Status::ok) return status;
      continue;
    }
    const std::span<const std::byte> part = data.first(std::min(data.size(), most));
    if (const Status status = send(part); status != Status::ok) return status;
    data = data.subspan(part.size());
  }
  return Status::ok;
}

Status StreamSender::flush(std::chrono::nanoseconds timeout) noexcept {
  Deadline deadline;
  SendHandle lent;
  const auto step = [&] {
    if (lent.sequence == 0) {
      lent = inside_->source.last_lent();
      if (lent.sequence != 0) [[unlikely]]
        deadline = library::deadline_in(timeout);
    }
    const Status drained = inside_->source.drain();
    if (drained != Status::ok || !inside_->far) [[likely]]
      return drained;
    return library::departed(inside_->dispatcher.interface, inside_->source.ring().interface);
  };
  const Status status = drive(step, timeout);
  if (status != Status::ok || lent.sequence == 0) [[likely]]
    return status;
  for (;;) {
    SendHandle first;
    const Status taken = wait_for([&] { return first = inside_->source.first_lent(lent); }, deadline);
    if (first.sequence == 0) break;
    if (taken != Status::ok) return taken;
  }
  const Dispatcher::Guard guard(inside_->dispatcher);
  return guard ? why_over(Status::ok) : Status::forked;
}

Status StreamSender::close(std::chrono::nanoseconds timeout) noexcept {
  const Status status = drive([&] { return inside_->source.close(); }, timeout);
  if (status == Status::abandoned) [[unlikely]] {
    const Dispatcher::Guard guard(inside_->dispatcher);
    if (guard) inside_->say_what_is_due();
  }
  return status;
}

Status StreamSender::end() const noexcept {
  const Dispatcher::Guard guard(inside_->dispatcher);
  return guard ? inside_->source.end() : Status::forked;
}

}  // namespace hamlyn
