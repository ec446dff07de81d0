// Puts, gets, fetches, fences and watches: begun, and waited for.
#include <algorithm>
#include <array>
#include <utility>

#include "base/link_reasons.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "interface/terminus.h"
#include "library/engine.h"
#include "library/terminus_ways.h"

namespace hamlyn {

using library::leave;
using library::queue_of;
using library::waits;
using shm::ShortWay;

namespace {
// A watch that finds no place for so long leaves its caller to look at the word itself.
constexpr std::chrono::nanoseconds kForPlace = std::chrono::milliseconds{50};
}  // namespace

Terminus::Confirmation Terminus::begin_confirm(const Ticket& ticket) noexcept {
  Confirmation confirmation;
  if (const base::RunLockGuard guard(interface_.engine().lock()); guard) {
    terminus_->forget_answer();
    terminus_->ask_again(ticket);
    confirmation.before = terminus_->asked_last(ticket);
  }
  return confirmation;
}

Status Terminus::try_confirm(const Ticket& ticket, Confirmation& confirmation) noexcept {
  const base::RunLockGuard guard(interface_.engine().lock());
  return guard ? confirm_step(ticket, confirmation) : Status::forked;
}

// Remote operations that begin when the owner was asked are answered as the memory is now.
Status Terminus::confirm_step(const Ticket& ticket, Confirmation& confirmation) noexcept {
  interface::Requests& requests = terminus_->requests();
  if (confirmation.asked.sequence == 0) {
    const Status status = terminus_->ready(ticket);
    const std::uint64_t before = confirmation.before;
    if (status != Status::ok || before == 0 || terminus_->asked_last(ticket) != before) return status;
    if (confirmation.again) return Status::connecting;
    const Status asked = requests.look(ticket, &confirmation.asked);
    if (asked != Status::pending) return asked;
    requests.hold(confirmation.asked);  // others may ask for much before somebody looks
  }
  const Outcome outcome = requests.outcome(confirmation.asked);
  if (outcome.status == Status::pending) return Status::pending;
  requests.let_go(requests.find(std::exchange(confirmation.asked, {})));
  interface_.engine().settled();  // somebody may wait for a place
  if (outcome.status != Status::refused || outcome.cause == Refusal::none || confirmation.again)
    return outcome.status;
  confirmation.again = true;  // the news of it is on its way, and then the slot is opened anew
  return Status::connecting;
}

Status Terminus::confirm(const Ticket& ticket, std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  patience.deadline();  // it runs from here on
  library::PendingCall call(interface_.engine().lock(), terminus_->calls());
  if (!call.enter()) return Status::forked;
  Confirmation confirmation = begin_confirm(ticket);
  Status status = Status::pending;
  const auto ready = [&] {
    status = confirm_step(ticket, confirmation);
    return waits(status) || status == Status::pending ? Status::pending : Status::ok;
  };
  const Status waited = interface_.engine().wait(call, ready, patience.deadline());
  if (waited == Status::ok) return status;
  if (const base::RunLockGuard guard(interface_.engine().lock()); guard && confirmation.asked.sequence != 0) {
    interface::Requests& requests = terminus_->requests();
    requests.give_up(requests.find(confirmation.asked));
    requests.let_go(requests.find(confirmation.asked));
  }
  return waited == Status::timed_out && status == Status::no_place ? status : waited;
}

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
  return link != nullptr && !link->far;
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

}  // namespace hamlyn
