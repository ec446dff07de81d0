#include "hamlyn/core/terminus.h"

#include <algorithm>
#include <array>

#include "base/link_reasons.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "interface/terminus.h"

#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

using shm::ShortWay;

namespace {

// A watch that finds no place for so long leaves its caller to look at the word itself.
constexpr std::chrono::nanoseconds kForPlace = std::chrono::milliseconds{50};

// In `ready` functions of waits: these mean that it is worth trying again.
Status try_again(Status status) noexcept {
  return status == Status::connecting || status == Status::no_place || status == Status::queue_full
             ? Status::pending
             : status;
}

bool waits(Status status) noexcept {
  return status != Status::pending && try_again(status) == Status::pending;
}

// Waits until `look` says something that does not change by waiting, or the node that there will be no link.
template <class Look>
Status wait_for_link(library::Engine& engine, interface::Terminus& terminus, const Ticket& ticket,
                     std::chrono::nanoseconds timeout, Look look) noexcept {
  interface::Terminus::LinkWait link {
    .peer = ticket.interface
  };
  library::PendingCall call(engine.lock(), terminus.calls());
  {
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return Status::forked;
    call.begin();
    terminus.ask_anew();
    terminus.add(link);
  }
  const auto ready = [&] { return link.refused ? link.answer : try_again(look(link)); };
  const Status status = engine.wait(call, ready, library::deadline_in(timeout));
  const base::RunLockGuard guard(engine.lock());
  if (guard) terminus.remove(link);
  return status;
}

__attribute__((noinline)) Status ring_and_leave(shm::ShmLink& link, base::RunLock& lock) noexcept {
  link.ring();
  lock.leave_quickly();
  return Status::ok;
}

// Behind what has gone the short way. `asleep`: the link whose peer is to be woken, or null.
__attribute__((always_inline)) inline Status leave(base::RunLock& lock, shm::ShmLink* asleep) noexcept {
  if (asleep != nullptr) [[unlikely]]
    return ring_and_leave(*asleep, lock);
  lock.leave_quickly();
  return Status::ok;
}

// Null: none was named. Nothing: one of another interface.
template <class Options>
std::optional<interface::Queue*> queue_of(const Options& options, const Interface& own) noexcept {
  if (options.queue == nullptr) return nullptr;
  if (&options.queue->interface() != &own) return std::nullopt;
  return &options.queue->inside();
}

}  // namespace

Terminus::Terminus(Interface& interface, const TerminusOptions& options) : interface_(interface) {
  if (options.entries == 0 || options.entries > 4096)
    throw Error(ErrorCode::invalid_argument, "a terminus has 1 to 4096 entries");
  if (static_cast<std::size_t>(options.priority) >= kPriorities)
    throw Error(ErrorCode::invalid_argument,
                "a terminus has one of the levels that hamlyn/values/priority.h names");
  const base::RunLockGuard guard(interface.engine().lock());
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  terminus_ = library::with_memory("a terminus", [&] {
    return new interface::Terminus(interface.engine().core(), options.entries, options.priority);
  });
}

Terminus::~Terminus() {
  if (!interface_.engine().close_and_drain(terminus_->calls())) return;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return;
  delete terminus_;
  interface_.engine().departure_waits();  // it may have left an abandon without room
  interface_.engine().settled();          // who waits for a place may have that of an opening of its
}

base::PendingCalls& Terminus::calls() noexcept { return terminus_->calls(); }

Status Terminus::send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send(ticket, data, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::send_posted(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                             const SendOptions& options, SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const bool plain = !options.acknowledged && options.queue == nullptr && options.metadata.empty() &&
                     options.offset == 0 && options.element == 0;
  if (plain && data.size() <= interface::kInlineData && engine.lock().enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    if (ShortWay::send_posted(*terminus_, ticket, data, word, handle, asleep)) [[likely]]
      return leave(engine.lock(), asleep);
    engine.lock().leave_quickly();
  }
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send_posted(ticket, data, word, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::bind(std::uint32_t tag, SendBufferArea& area) {
  if (&area.interface() != &interface_) return Status::invalid;
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->bind(tag, area.number()) : Status::forked;
}

Status Terminus::unbind(std::uint32_t tag) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->unbind(tag) : Status::forked;
}

Status Terminus::send_gathered(const Ticket& ticket, std::span<const Piece> pieces,
                               const SendOptions& options, SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->send_gathered(ticket, pieces, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::send_gathered(const Share& share, std::span<const Piece> pieces, const SendOptions& options,
                               SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const Status status = terminus_->send_gathered(share, pieces, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  return status;
}

Status Terminus::send(const Share& share, std::span<const std::byte> data, const SendOptions& options,
                      SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const Status status = terminus_->send(share, data, options, handle, *queue);
  if (status == Status::pending) engine.departure_waits();
  return status;
}

Status Terminus::cancel(SendHandle handle) noexcept {
  library::Engine& engine = interface_.engine();
  const base::RunLockGuard guard(engine.lock());
  if (!guard) return Status::forked;
  const Status status = terminus_->cancel(handle);
  engine.departure_waits();
  return status;
}

// The shortest way stands first and calls nothing but, at its end, what is rare: so it needs no room on the
// stack.
Status Terminus::send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                           std::uint64_t offset) noexcept {
  if (data.size() > interface::kInlineData) return send_block(ticket, data, word, offset);
  base::RunLock& lock = interface_.engine().lock();
  if (lock.enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    if (ShortWay::send(*terminus_, ticket, data, word, offset, asleep)) [[likely]]
      return leave(lock, asleep);
    lock.leave_quickly();
  }
  return send_fast_uncached(ticket, data, word, offset);
}

// Sends data that do not fit the header's cell.
Status Terminus::send_block(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                            std::uint64_t offset) noexcept {
  base::RunLock& lock = interface_.engine().lock();
  if (lock.enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    const bool left = data.size() <= interface::kOpenedInline
                          ? ShortWay::send_opened(*terminus_, ticket, data, word, offset, asleep)
                          : ShortWay::send_block(*terminus_, ticket, data, word, offset, asleep);
    if (left) [[likely]]
      return leave(lock, asleep);
    lock.leave_quickly();
  }
  return send_fast_uncached(ticket, data, word, offset);
}

Status Terminus::send_fast_uncached(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                                    std::uint64_t offset) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->send_fast(ticket, data, word, offset) : Status::forked;
}

Status Terminus::send_fast_row(const Ticket& ticket, std::span<const FastMessage> row,
                               std::size_t& sent) noexcept {
  sent = 0;
  while ((sent += send_row(ticket, row.subspan(sent))) != row.size()) {
    const FastMessage& next = row[sent];
    const Status status = send_fast_uncached(ticket, next.data, next.word, next.offset);
    if (status != Status::ok) return status;
    ++sent;
  }
  return Status::ok;
}

Status Terminus::put_row(const Ticket& ticket, std::span<const PutMessage> row, std::size_t& sent) noexcept {
  sent = 0;
  const base::RunLockGuard guard(interface_.engine().lock());
  if (!guard) return Status::forked;
  while ((sent += ShortWay::put_row(*terminus_, ticket, row.subspan(sent))) != row.size()) {
    const Status status = terminus_->put_now(ticket, row[sent].data, row[sent].offset);
    if (status != Status::ok) return status;
    ++sent;
  }
  return Status::ok;
}

// As far as the shortest way goes. Returns how many have left.
std::size_t Terminus::send_row(const Ticket& ticket, std::span<const FastMessage> row) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? ShortWay::send_row(*terminus_, ticket, row) : 0;  // forked: the slow way says it
}

Status Terminus::connect(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  if (const base::RunLockGuard guard(interface_.engine().lock()); guard) terminus_->ask_again(ticket);
  return wait_for_link(interface_.engine(), *terminus_, ticket, timeout,
                       [&](const auto&) { return terminus_->ready(ticket); });
}

Status Terminus::try_connect(const Ticket& ticket) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->ready(ticket) : Status::forked;
}

Status Terminus::confirm(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  patience.deadline();  // it runs from here on
  std::uint64_t before = 0;
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  if (const base::RunLockGuard guard(interface_.engine().lock()); guard) {
    call.begin();
    terminus_->ask_again(ticket);
    before = terminus_->asked_last(ticket);
  }
  bool over = false;
  // Remote operations that begin from here on are answered as the memory is now.
  const auto look = [&](RemoteHandle* handle) {
    const Status status = terminus_->ready(ticket);
    if (status != Status::ok || before == 0 || terminus_->asked_last(ticket) != before) return status;
    return over ? Status::connecting : terminus_->requests().look(ticket, handle);
  };
  Outcome outcome = ask(ticket, patience.left(), look);
  if (outcome.status == Status::refused && outcome.cause != Refusal::none) {
    over = true;  // the news of it is on its way, and then the slot is opened anew
    outcome = ask(ticket, patience.left(), look);
  }
  return outcome.status;
}

Status Terminus::wait_for_place(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  const auto look = [&](const auto& link) {
    const bool ended = terminus_->take_end(ticket.interface) || link.ended;
    return ended ? Status::link_ended : terminus_->place_free(ticket);
  };
  const Status status = wait_for_link(interface_.engine(), *terminus_, ticket, timeout, look);
  // Room that was found is no room wanted any more, for which the peer rings: others who want it look again.
  if (status == Status::ok) interface_.engine().look_again();
  return status;
}

Status Terminus::send_fast_waiting(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                                   std::uint64_t offset, std::chrono::nanoseconds timeout) noexcept {
  return wait_for_link(interface_.engine(), *terminus_, ticket, timeout, [&](const auto& link) {
    const bool ended = terminus_->take_end(ticket.interface) || link.ended;
    return ended ? Status::link_ended : terminus_->send_fast(ticket, data, word, offset);
  });
}

std::uint64_t Terminus::sequence() const noexcept { return terminus_->sequence(); }

Status Terminus::put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                     SendHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  base::RunLock& lock = engine.lock();
  if (lock.enter_quickly()) [[likely]] {
    shm::ShmLink* asleep;
    if (ShortWay::put(*terminus_, ticket, data, options, asleep)) [[likely]] {
      if (handle != nullptr) *handle = {};
      return leave(lock, asleep);
    }
    lock.leave_quickly();
  }
  if (!lock.enter()) return Status::forked;
  const Status status = terminus_->put(ticket, data, options, handle);
  if (status == Status::pending) engine.departure_waits();
  engine.lock().leave();
  return status;
}

Status Terminus::put_with_signal(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset,
                                 std::span<const std::byte> value, const PutOptions& signal,
                                 std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  bool left = false;
  Status status = Status::forked;
  if (const base::RunLockGuard guard(interface_.engine().lock()); guard) {
    shm::ShmLink* asleep = nullptr;
    left = ShortWay::put(*terminus_, ticket, data, {.offset = offset}, asleep);
    if (asleep != nullptr) asleep->ring();
    status = left ? terminus_->put(ticket, value, signal, nullptr)
                  : terminus_->put_with_signal(ticket, data, offset, value, signal, left);
  }
  if (!waits(status)) return status;
  if (!left) status = put(ticket, data, {.offset = offset}, patience.left());
  return left || status == Status::ok ? put(ticket, value, signal, patience.left()) : status;
}

Status Terminus::put_signal_of(const Ticket& ticket, std::span<const std::byte> value,
                               const PutOptions& signal, Terminus& before, const Ticket& of,
                               std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  library::PendingCall behind(interface_.engine().lock(), before.calls());
  if (!behind.enter()) return Status::forked;
  return when_it_can(ticket, patience, call, [&] {
    return behind.closing() ? Status::cancelled
                            : terminus_->put_signal_of(ticket, value, signal, *before.terminus_, of);
  });
}

Opened Terminus::opened(const Ticket& ticket) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->opened(ticket) : Opened{};
}

Status Terminus::fence(const Ticket& ticket, const RemoteOptions& options, RemoteHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  const base::RunLockGuard guard(engine.lock());
  return guard ? terminus_->requests().fence(ticket, options, *queue, handle) : Status::forked;
}

Outcome Terminus::flush(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  interface::Requests::Mark mark;
  return flush_over(ticket, ask(ticket, timeout, [&](RemoteHandle* handle) {
                      return terminus_->requests().fence(ticket, {}, nullptr, handle, &mark);
                    }));
}

Outcome Terminus::put_flushed(const Ticket& ticket, std::span<const std::byte> data,
                              const PutOptions& options, std::chrono::nanoseconds timeout) noexcept {
  interface::Requests::Mark mark;
  SendHandle sent;
  std::uint64_t by = 0;
  const Outcome outcome = ask(ticket, timeout, [&](RemoteHandle* handle) {
    return by != 0 ? terminus_->fence_behind(ticket, by, mark, handle)
                   : terminus_->put_and_fence(ticket, data, options, &sent, handle, mark, by);
  });
  // Gives the buffer back to the caller, and cannot fail: a put has no parts in send buffer areas.
  if (outcome.status != Status::ok && by != 0) static_cast<void>(cancel(sent));
  return flush_over(ticket, outcome);
}

bool Terminus::linked_near(const Ticket& ticket) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  const interface::Link* const link =
      guard ? interface_.engine().core().find_link(ticket.interface) : nullptr;
  return link != nullptr && !link->by_gate;
}

Outcome Terminus::flush_over(const Ticket& ticket, Outcome outcome) noexcept {
  if (outcome.status != Status::link_ended || outcome.why().reason != LinkReason::none) return outcome;
  // A fence that could not leave, or was under way, does not know it.
  const base::RunLockGuard guard(interface_.engine().lock());
  if (guard) outcome.value = base::word_of(terminus_->why_no_link(ticket.interface));
  return outcome;
}

// All ask, and then all are waited for at once: a process that sleeps meanwhile is woken by whichever answer
// comes, and looks at all of them.
void Terminus::flush(std::span<Flush> flushes, std::chrono::nanoseconds timeout) noexcept {
  struct Asking {
    interface::Requests::Mark mark;
    RemoteHandle handle;
    interface::Terminus::LinkWait link;
    bool waits = false;  // to be asked
  };
  std::array<Asking, kFlushes> askings;
  const auto asks = [](const Flush& flush) { return flush.terminus != nullptr; };
  const auto some = std::ranges::find_if(flushes, asks);
  if (some == flushes.end()) return;
  Terminus& first = *some->terminus;
  library::Engine& engine = first.interface_.engine();
  const auto look = [](Flush& flush, Asking& asking) {
    interface::Requests& requests = flush.terminus->terminus_->requests();
    if (asking.waits) {
      Status status = Status::pending;
      if (asking.link.refused) {
        status = asking.link.answer;
      } else {
        status = requests.fence(*flush.ticket, {}, nullptr, &asking.handle, &asking.mark);
        if (waits(status)) return;
      }
      asking.waits = false;
      if (status == Status::pending) requests.hold(asking.handle);
      flush.outcome = {status, Refusal::none, 0};
    }
    if (flush.outcome.status == Status::pending) flush.outcome = requests.outcome(asking.handle);
  };
  const auto look_at_all = [&] {
    bool over = true;
    for (std::size_t i = 0; i != flushes.size(); ++i) {
      if (!asks(flushes[i])) continue;
      look(flushes[i], askings[i]);
      over &= !askings[i].waits && flushes[i].outcome.status != Status::pending;
    }
    return over ? Status::ok : Status::pending;
  };
  library::PendingCall call(engine.lock(), first.terminus_->calls());
  Status waited = Status::forked;
  if (const base::RunLockGuard guard(engine.lock()); guard) {
    for (std::size_t i = 0; i != flushes.size(); ++i) {
      if (!asks(flushes[i])) continue;
      interface::Terminus& terminus = *flushes[i].terminus->terminus_;
      terminus.forget_answer();
      askings[i].link.peer = flushes[i].ticket->interface;
      askings[i].waits = true;
      terminus.add(askings[i].link);
    }
    waited = look_at_all();
    call.begin();
  }
  if (waited == Status::pending) waited = engine.wait(call, look_at_all, library::deadline_in(timeout));
  const base::RunLockGuard guard(engine.lock());
  for (std::size_t i = 0; i != flushes.size(); ++i) {
    if (!asks(flushes[i])) continue;
    Outcome& outcome = flushes[i].outcome;
    const bool over = !askings[i].waits && outcome.status != Status::pending;
    if (!over) outcome = {guard ? waited : Status::forked, Refusal::none, 0};
    if (!guard) continue;
    interface::Terminus& terminus = *flushes[i].terminus->terminus_;
    interface::Requests& requests = terminus.requests();
    if (!over) requests.give_up(requests.find(askings[i].handle));
    requests.let_go(requests.find(askings[i].handle));
    terminus.remove(askings[i].link);
    if (outcome.status == Status::link_ended && outcome.why().reason == LinkReason::none)
      outcome.value = base::word_of(terminus.why_no_link(flushes[i].ticket->interface));
  }
  if (guard) engine.settled();  // somebody may wait for a place
}

Status Terminus::fetch_unanswered(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options,
                                  std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  return when_it_can(ticket, patience, call,
                     [&] { return terminus_->requests().fetch(ticket, fetch, options, nullptr, nullptr); });
}

Outcome Terminus::fetch(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options,
                        std::chrono::nanoseconds timeout) noexcept {
  return ask(ticket, timeout, [&](RemoteHandle* handle) {
    return terminus_->requests().fetch(ticket, fetch, options, nullptr, handle);
  });
}

Outcome Terminus::get(const Ticket& ticket, Slot& into, std::uint64_t at, std::size_t length,
                      const RemoteOptions& options, std::chrono::nanoseconds timeout) noexcept {
  if (&into.interface() != &interface_) return {Status::invalid, Refusal::none, 0};
  return ask(ticket, timeout, [&](RemoteHandle* handle) {
    return terminus_->requests().get(ticket, {interface::index_of(into.number()), at, length}, options,
                                     nullptr, handle);
  });
}

Outcome Terminus::get(const Ticket& ticket, std::span<std::byte> into, const RemoteOptions& options,
                      std::chrono::nanoseconds timeout) noexcept {
  return ask(ticket, timeout, [&](RemoteHandle* handle) {
    return terminus_->requests().get(ticket, {.length = into.size(), .to = into.data()}, options, nullptr,
                                     handle);
  });
}

Status Terminus::call_owner(const Ticket& ticket) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->call_owner(ticket) : Status::forked;
}

Outcome Terminus::watch(const Ticket& ticket, std::uint64_t offset, std::uint64_t seen,
                        std::chrono::nanoseconds timeout) noexcept {
  const auto attempt = [&](RemoteHandle* handle) {
    return terminus_->requests().watch(ticket, sizeof seen, seen, {.offset = offset}, handle);
  };
  return ask(ticket, timeout, attempt, Answer::late);
}

Status Terminus::put(const Ticket& ticket, std::span<const std::byte> data, const PutOptions& options,
                     std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  SendHandle handle;
  Status status = put(ticket, data, options, &handle);
  if (waits(status))
    status =
        when_it_can(ticket, patience, call, [&] { return terminus_->put(ticket, data, options, &handle); });
  if (status != Status::pending) return status;
  status = interface_.engine().wait(
      call, [&] { return terminus_->status(handle); }, patience.deadline());
  // Gives the buffer back to the caller, and cannot fail: a put has no parts in send buffer areas.
  if (status == Status::timed_out || status == Status::cancelled) static_cast<void>(cancel(handle));
  return status;
}

// Tries until the answer is one that does not change by waiting, or there is nobody to answer.
template <class Try>
Status Terminus::when_it_can(const Ticket& ticket, library::Patience& patience, library::PendingCall& call,
                             Try attempt) noexcept {
  library::Engine& engine = interface_.engine();
  interface::Terminus::LinkWait link {
    .peer = ticket.interface
  };
  Status status = Status::forked;
  {
    const base::RunLockGuard guard(engine.lock());
    if (!guard) return status;
    terminus_->forget_answer();
    status = attempt();
    if (status == Status::pending) {
      engine.departure_waits();
      call.begin();
    }
    if (!waits(status)) return status;
    call.begin();
    terminus_->add(link);
  }
  const auto ready = [&] {
    status = link.refused ? link.answer : attempt();
    return waits(status) ? Status::pending : Status::ok;
  };
  const Status waited = engine.wait(call, ready, patience.deadline());
  const base::RunLockGuard guard(engine.lock());
  if (guard) terminus_->remove(link);
  return waited == Status::ok ? status : waited;
}

template <class Try>
Outcome Terminus::ask(const Ticket& ticket, std::chrono::nanoseconds timeout, Try attempt,
                      Answer answer) noexcept {
  library::Patience patience(timeout);
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  RemoteHandle handle;
  interface::Requests& requests = terminus_->requests();
  bool full = false;
  const auto held = [&] {
    const Status status = attempt(&handle);
    full = status == Status::no_place;
    if (status == Status::pending) requests.hold(handle);  // others may ask for much before we have looked
    return status;
  };
  library::Patience places(std::min<std::chrono::nanoseconds>(timeout, kForPlace));
  const bool late = answer == Answer::late;
  if (late) patience.deadline();
  Status status = when_it_can(ticket, late ? places : patience, call, held);
  if (late && status == Status::timed_out && timeout > kForPlace) status = Status::queue_full;
  if (status == Status::timed_out && full) status = Status::no_place;
  if (status != Status::pending) return {status, Refusal::none, 0};
  library::Engine& engine = interface_.engine();
  Outcome outcome;
  if (answer == Answer::soon) {
    outcome = engine.spin_for_reply(requests, handle, call);
    if (outcome.status != Status::pending) return outcome;
    engine.reply_was_slow();
  }
  outcome = wait_for_slow_outcome(handle, patience.left(), call);
  if (const base::RunLockGuard guard(engine.lock()); guard) {
    requests.give_up(requests.find(handle));
    requests.let_go(requests.find(handle));
    engine.settled();  // somebody may wait for a place
  }
  return outcome;
}

Status Terminus::fetch(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options,
                       RemoteHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->requests().fetch(ticket, fetch, options, *queue, handle);
  engine.lock().leave();
  return status;
}

Status Terminus::get(const Ticket& ticket, Slot& into, std::uint64_t at, std::size_t length,
                     const RemoteOptions& options, RemoteHandle* handle) noexcept {
  library::Engine& engine = interface_.engine();
  const auto queue = queue_of(options, interface_);
  if (!queue || &into.interface() != &interface_) return Status::invalid;
  if (!engine.lock().enter()) [[unlikely]]
    return Status::forked;
  const Status status = terminus_->requests().get(ticket, {interface::index_of(into.number()), at, length},
                                                  options, *queue, handle);
  engine.lock().leave();
  return status;
}

Status Terminus::get(const Ticket& ticket, std::span<std::byte> into, const RemoteOptions& options,
                     RemoteHandle* handle) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->requests().get(ticket, {.length = into.size(), .to = into.data()}, options,
                                           nullptr, handle)
               : Status::forked;
}

void Terminus::give_up(RemoteHandle handle) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  if (guard) terminus_->requests().give_up(terminus_->requests().find(handle));
}

Outcome Terminus::outcome(RemoteHandle handle) const noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->requests().outcome(handle) : Outcome{Status::forked, Refusal::none, 0};
}

Outcome Terminus::wait_outcome(RemoteHandle handle, std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  const Outcome outcome = interface_.engine().spin_for_reply(terminus_->requests(), handle, call);
  if (outcome.status != Status::pending) return outcome;
  interface_.engine().reply_was_slow();
  return wait_for_slow_outcome(handle, timeout, call);
}

// Waits asleep for an outcome that is not worth to be spun for.
Outcome Terminus::wait_for_slow_outcome(RemoteHandle handle, std::chrono::nanoseconds timeout,
                                        library::PendingCall& call) noexcept {
  library::Engine& engine = interface_.engine();
  interface::Requests& requests = terminus_->requests();
  Outcome outcome;
  const auto ready = [&] {
    outcome = requests.outcome(handle);
    return outcome.status;
  };
  const Status status = engine.wait(call, ready, library::deadline_in(timeout));
  return status == outcome.status ? outcome : Outcome{status, Refusal::none, 0};
}

Status Terminus::status(SendHandle handle) const noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->status(handle) : Status::forked;
}

Refusal Terminus::refusal(SendHandle handle) const noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? terminus_->refusal(handle) : Refusal::none;
}

Status Terminus::wait(SendHandle handle, std::chrono::nanoseconds timeout) noexcept {
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  return interface_.engine().wait(
      call, [&] { return terminus_->status(handle); }, library::deadline_in(timeout));
}

}  // namespace hamlyn
