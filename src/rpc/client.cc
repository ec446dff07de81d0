#include "hamlyn/rpc/client.h"

#include <array>
#include <cstring>
#include <string>

#include "base/longest_time.h"
#include "base/run_lock.h"
#include "library/no_link.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "rpc/client_machine.h"
#include "rpc/client_port.h"
#include "rpc/inherited.h"
#include "rpc/spin.h"

namespace hamlyn {

namespace internal_::rpc {

using hamlyn::rpc::ClientOptions;
using Machine = ClientMachine<ClientPort>;
using library::Clock;

namespace {

using Guard = base::RunLockGuard;

constexpr int kMostAtOnce = 64;  // notifications, before other threads have their turn
constexpr std::chrono::milliseconds kStillRunningPause{1};

const ClientOptions& checked(const ClientOptions& options) {
  if (options.stacks == 0 || options.stacks > kMostStacks)
    throw Error(ErrorCode::invalid_argument, "a client has 1 to 1024 stacks");
  if (options.frame < kLeastFrame || options.frame > kMostFrame)
    throw Error(ErrorCode::invalid_argument, "a frame has 128 to 8064 bytes");
  if (options.result > kMostLong) throw Error(ErrorCode::invalid_argument, "a result has 1 GiB at most");
  return options;
}

Ending ended(Status status, Fate fate, CallId call = {}) noexcept {
  Ending out;
  out.status = status;
  out.fate = fate;
  out.call = call;
  return out;
}

}  // namespace

struct ClientCore::Inside {
  Inside(Interface& from, std::string_view called, std::vector<Procedure> all, const ClientOptions& asked)
      : interface(from),
        waiting(from.waiting()),
        options(checked(asked)),
        procedures(std::move(all)),
        name(called),
        queue(from, std::size_t{places_for(options.stacks)} * 2),
        port(from, queue),
        machine(port, {options.stacks, options.frame, options.result}, procedures),
        spin(options.waits) {}

  void open(const Ticket& door);
  Status opened(library::Patience& patience) noexcept;
  // Hears what stands in the queue, then asks `ready`, under the lock. False: somebody else may wait for what
  // came.
  bool hear_standing() noexcept;
  bool take_standing(Notification& out) noexcept;
  template <class Ready>
  Status wait(Ready ready, library::Deadline deadline) noexcept;
  // Under the lock. False: it goes on.
  bool over(CallId call, Landing& into, Ending& out) noexcept;
  Fate fate_now(CallId call) noexcept;
  Fate ask(CallId call, library::Patience& patience) noexcept;

  Interface& interface;
  library::Waiting& waiting;
  const ClientOptions options;
  const std::vector<Procedure> procedures;
  const std::string name;  // empty: it was given the door
  Ticket door;
  NotificationQueue queue;
  ClientPort port;
  base::RunLock lock;
  Machine machine;  // under the lock
  Spin spin;
  base::PendingCalls calls;
};

// --- opening

void ClientCore::Inside::open(const Ticket& to) {
  if (to.purpose != 0 || !to.fast())
    throw Error(ErrorCode::seed_wrong_kind, "something else than a server of calls is registered there");
  door = to;
  const Guard guard(lock);
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  // The queue has news of the time before, the end of that link among them.
  for (Notification old; take_standing(old);) static_cast<void>(machine.hear(old));
  machine.open(door);
}

Status ClientCore::Inside::opened(library::Patience& patience) noexcept {
  const auto ready = [&] { return machine.advance(); };
  {
    Notification next;
    for (std::size_t most = queue.capacity(); most != 0 && queue.poll({&next, 1}) != 0; --most) {
      const Guard guard(lock);
      if (!guard) return Status::forked;
      if (machine.hear(next) && calls.count() != 0) waiting.changed();
    }
    const Guard guard(lock);
    if (!guard) return Status::forked;
    const Status status = machine.advance();
    if (status != Status::pending) return status;
  }
  if (patience.left() <= std::chrono::nanoseconds{0}) return Status::timed_out;
  return wait(ready, patience.deadline());
}

// --- waiting

bool ClientCore::Inside::take_standing(Notification& out) noexcept {
  const library::Lock locked(waiting);
  return locked && queue.take(locked.held(), out) == Status::ok;
}

bool ClientCore::Inside::hear_standing() noexcept {
  Notification next;
  bool others = false;
  int left = kMostAtOnce;
  for (; left != 0 && take_standing(next); --left) others |= machine.hear(next);
  return others || left == 0;
}

template <class Ready>
Status ClientCore::Inside::wait(Ready ready, library::Deadline deadline) noexcept {
  base::PendingCall<Guard, base::RunLock> pending(lock, calls);
  const std::uint32_t cancels = waiting.cancels();
  if (!pending.enter()) return Status::forked;
  const auto look = [&] {
    const Guard guard(lock);
    if (!guard) return Status::forked;
    if (pending.closing()) return Status::cancelled;
    const bool others = hear_standing();
    const Status status = ready();
    // A call that ends frees its stack, too.
    if ((others || status != Status::pending) && calls.count() > 1) waiting.changed();
    return status;
  };
  return waiting.until(look, deadline, cancels);
}

// --- calls

bool ClientCore::Inside::over(CallId call, Landing& into, Ending& out) noexcept {
  const Machine::Look look = machine.look(call);
  if (look == Machine::Look::out && !machine.ended()) return false;
  out.call = call;
  ReplyWord reply;
  switch (look) {
    case Machine::Look::out:
      out.status = Status::link_ended;
      out.fate = Fate::unknown;
      return true;
    case Machine::Look::none:
      out.fate = machine.fate(call);
      out.status = call.session != 0 && out.fate == Fate::unknown ? Status::link_ended : Status::invalid;
      return true;
    case Machine::Look::done:
    case Machine::Look::failed:
      break;
  }
  if (!machine.take(call, into, reply)) {
    out.status = Status::no_buffer;
    out.fate = machine.fate(call);
    return true;
  }
  out.fate = look == Machine::Look::done || reply.begun ? Fate::done : Fate::not_done;
  out.cause = reply.cause;
  out.status = look == Machine::Look::done             ? Status::ok
               : reply.cause == Cause::result_too_long ? Status::too_long
                                                       : Status::refused;
  if (reply.cause == Cause::threw) {
    const std::size_t length = std::min(into.bytes.size(), kMostText);
    out.text.reset(new (std::nothrow) std::string(reinterpret_cast<const char*>(into.bytes.data()), length));
  }
  return true;
}

ClientCore::ClientCore(Interface& interface, std::string_view name, std::vector<Procedure> procedures,
                       const ClientOptions& options) try
    : inside_(std::make_unique<Inside>(interface, name, std::move(procedures), options)) {
  library::Patience patience(base::within_clock(options.timeout));
  patience.deadline();
  inside_->open(interface.lookup(name, options.timeout));
  const Status status = inside_->opened(patience);
  if (status != Status::ok) {
    // The server may have let it in: then its place is free again.
    if (const Guard guard(inside_->lock); guard) inside_->machine.say_farewell();
  }
  switch (status) {
    case Status::ok:
      return;
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, "the server did not let this client in in time");
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, "cancelled while the server was to let this client in");
    case Status::forked:
      throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
    case Status::stale:
      throw Error(ErrorCode::version_mismatch, inside_->machine.wrong());
    case Status::refused:
      throw Error(ErrorCode::peer_refused, "the server has as many clients as it may have");
    default:
      library::throw_if_no_link("the server cannot be called", interface, inside_->door.interface);
      throw Error(ErrorCode::peer_died, std::string("the server cannot be called: ") + hamlyn::name(status));
  }
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a client of calls");
}

ClientCore::ClientCore(Interface& interface, const Ticket& door, std::vector<Procedure> procedures,
                       const ClientOptions& options) try
    : inside_(std::make_unique<Inside>(interface, "", std::move(procedures), options)) {
  inside_->open(door);
  library::Patience none(std::chrono::nanoseconds{0});
  static_cast<void>(inside_->opened(none));  // the greeting leaves, if it can
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a client of calls");
}

ClientCore::~ClientCore() {
  const bool own = inside_->calls.close_and_drain<Guard>(inside_->lock, [&] { inside_->waiting.changed(); });
  if (!own) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  const Guard guard(inside_->lock);
  if (!guard) return;
  inside_->machine.say_farewell();
  inside_->port.close();
}

Status ClientCore::opened(std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  return inside_->opened(patience);
}

Status ClientCore::reopen(std::chrono::nanoseconds timeout) noexcept {
  Inside& inside = *inside_;
  library::Patience patience(timeout);
  patience.deadline();
  {
    const Guard guard(inside.lock);
    if (!guard) return Status::forked;
    if (!inside.machine.ended()) return Status::ok;
  }
  try {
    Ticket door = inside.door;
    if (!inside.name.empty())
      door = inside.interface.lookup(
          inside.name, std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::min<std::chrono::nanoseconds>(patience.left(), std::chrono::hours{1})));
    inside.open(door);
  } catch (const Error& error) {
    switch (error.code()) {
      case ErrorCode::forked:
        return Status::forked;
      case ErrorCode::cancelled:
        return Status::cancelled;
      case ErrorCode::timed_out:
      case ErrorCode::name_unknown:
        return Status::timed_out;
      default:
        return Status::refused;
    }
  } catch (const std::exception&) {
    return Status::no_buffer;
  }
  return inside.opened(patience);
}

bool ClientCore::has(std::size_t place) const noexcept {
  const Guard guard(inside_->lock);
  return guard && inside_->machine.has(place);
}

Ending ClientCore::start(std::size_t place, std::span<const std::byte> frame, Terms& terms, bool wait,
                         Row* row) noexcept {
  Inside& inside = *inside_;
  const Inherited& own = inherited();
  // The short way: no deadline, no row, and a free stack.
  const bool plain = (row == nullptr) & (terms.time == std::chrono::nanoseconds::max()) &
                     (own.deadline == Clock::time_point::max()) & (own.depth <= kMostDepth) &
                     (terms.priority == Priority::normal);
  if (plain) [[likely]] {
    Ending out;
    const Guard guard(inside.lock);
    if (guard) [[likely]] {
      out.status = inside.machine.start(place, frame, 0, own.depth, false, out.call);
      if (out.status == Status::ok) [[likely]] {
        out.status = Status::pending;
        out.fate = Fate::unknown;
        return out;
      }
    }
  }
  return start_slowly(place, frame, terms, wait, row);
}

Ending ClientCore::start_slowly(std::size_t place, std::span<const std::byte> frame, Terms& terms, bool wait,
                                Row* row) noexcept {
  Inside& inside = *inside_;
  const Inherited& own = inherited();
  const bool has_time = terms.time != std::chrono::nanoseconds::max();
  Clock::time_point deadline = own.deadline;
  if (has_time || deadline != Clock::time_point::max()) [[unlikely]] {
    const Clock::time_point now = Clock::now();
    if (has_time && terms.time < deadline - now) deadline = now + terms.time;
    terms.time = deadline - now;
    if (terms.time <= std::chrono::nanoseconds{0}) return ended(Status::timed_out, Fate::not_done);
  }
  if (own.depth > kMostDepth) {
    Ending out = ended(Status::refused, Fate::not_done);
    out.cause = Cause::too_deep;
    return out;
  }
  CallId call;
  const bool urgent = terms.priority == Priority::urgent;
  const auto attempt = [&] {
    const std::uint16_t left =
        deadline == Clock::time_point::max() ? std::uint16_t{0} : time_word(terms.time);
    if (row == nullptr) return inside.machine.start(place, frame, left, own.depth, urgent, call);
    return inside.machine.reserve(place, frame.size(), left, own.depth, call, row->all.back().word);
  };
  Status status;
  if (row != nullptr) {
    if (frame.size() > kMostFrame) return ended(Status::too_long, Fate::not_done);
    try {
      row->all.push_back({{frame.begin(), frame.end()}, {}, 0});
    } catch (const std::bad_alloc&) {
      return ended(Status::no_buffer, Fate::not_done);
    }
  }
  {
    const Guard guard(inside.lock);
    status = guard ? attempt() : Status::forked;
  }
  if (row != nullptr) {
    if (status == Status::ok)
      row->all.back().call = call;
    else
      row->all.pop_back();
  }
  const auto retry = [](Status of) { return of == Status::queue_full || of == Status::connecting; };
  if (retry(status) && wait) [[unlikely]] {
    const auto ready = [&] {
      if (inside.machine.step() != Machine::Step::open) {
        const Status opening = inside.machine.advance();
        if (opening != Status::ok) return opening;
      }
      if (deadline != Clock::time_point::max()) terms.time = deadline - Clock::now();
      const Status again = attempt();
      return retry(again) ? Status::pending : again;
    };
    status = inside.wait(ready, deadline == Clock::time_point::max() ? library::Deadline{} : deadline);
  }
  if (status == Status::ok) [[likely]]
    return ended(Status::pending, Fate::unknown, call);
  Ending out = ended(status, Fate::not_done);
  if (status == Status::refused) out.cause = Cause::no_procedure;
  return out;
}

Ending ClientCore::finish(CallId call, std::chrono::nanoseconds timeout, Landing& into) noexcept {
  Inside& inside = *inside_;
  Ending out;
  library::Patience patience(timeout);
  const bool timed = timeout != std::chrono::nanoseconds::max();
  Spin::Round round(inside.spin);
  Notification next;
  while (round.goes_on()) {
    const bool came = inside.queue.poll({&next, 1}) != 0;
    const Guard guard(inside.lock);
    if (!guard) return ended(Status::forked, Fate::unknown, call);
    if (came && inside.machine.take_now(next, call, into)) [[likely]] {
      if (inside.calls.count() != 0) [[unlikely]]
        inside.waiting.changed();  // a stack is free
      round.found();
      return ended(Status::ok, Fate::done, call);
    }
    const bool others = came && inside.machine.hear(next);
    const bool over = inside.over(call, into, out);
    if ((others || over) && inside.calls.count() != 0) inside.waiting.changed();
    if (over) {
      round.found();
      return out;
    }
    if (!came && timed) {
      static_cast<void>(patience.deadline());
      if (patience.left() <= std::chrono::nanoseconds{0})
        return ended(Status::timed_out, Fate::unknown, call);
    }
  }
  const auto ready = [&] { return inside.over(call, into, out) ? Status::ok : Status::pending; };
  const Status status = inside.wait(ready, patience.deadline());
  if (status != Status::ok) return ended(status, Fate::unknown, call);
  round.found();
  return out;
}

Ending ClientCore::look(CallId call, Landing& into) noexcept {
  Inside& inside = *inside_;
  Notification next;
  bool came = inside.queue.poll({&next, 1}) != 0;
  Ending out;
  const Guard guard(inside.lock);
  if (!guard) return ended(Status::forked, Fate::unknown, call);
  for (int left = kMostAtOnce; came && left != 0; --left) {
    static_cast<void>(inside.machine.hear(next));
    came = inside.take_standing(next);
  }
  if (came) static_cast<void>(inside.machine.hear(next));
  const bool over = inside.over(call, into, out);
  if (inside.calls.count() != 0) inside.waiting.changed();
  if (over) return out;
  return ended(Status::timed_out, Fate::unknown, call);
}

void ClientCore::cancel(CallId call) noexcept {
  const Guard guard(inside_->lock);
  if (guard) inside_->machine.cancel(call);
}

void ClientCore::forget(CallId call) noexcept {
  const Guard guard(inside_->lock);
  if (!guard) return;
  inside_->machine.forget(call);
  if (inside_->calls.count() != 0) inside_->waiting.changed();
}

// --- rows

Status ClientCore::leave(Row& row) noexcept {
  Inside& inside = *inside_;
  const Guard guard(inside.lock);
  if (!guard) return Status::forked;
  std::array<FastMessage, 64> messages;
  while (row.left != row.all.size()) {
    if (!inside.machine.may_leave(row.all[row.left].call)) {
      // Its session has ended: those that are left never leave.
      for (; row.left != row.all.size(); ++row.left) inside.machine.take_back(row.all[row.left].call);
      row.all.clear();
      row.left = 0;
      inside.waiting.changed();
      return Status::link_ended;
    }
    const std::size_t most = std::min(messages.size(), row.all.size() - row.left);
    std::size_t count = 0;
    for (; count != most; ++count) {
      const std::size_t i = count;
      const Row::Each& each = row.all[row.left + i];
      if (!inside.machine.may_leave(each.call)) break;
      messages[i] = {each.frame, each.word, inside.machine.place_of(each.call.stack)};
    }
    std::size_t sent = 0;
    const Status status =
        inside.port.send_row(inside.machine.server(), std::span(messages).first(count), sent);
    row.left += sent;
    if (status != Status::ok) return status;
  }
  row.all.clear();
  row.left = 0;
  return Status::ok;
}

void ClientCore::drop(Row& row) noexcept {
  const Guard guard(inside_->lock);
  if (!guard) return;
  for (; row.left != row.all.size(); ++row.left) inside_->machine.take_back(row.all[row.left].call);
}

// --- what became of a call

Fate ClientCore::Inside::fate_now(CallId call) noexcept { return machine.fate(call); }

Fate ClientCore::settle(CallId call, std::chrono::nanoseconds timeout) noexcept {
  Inside& inside = *inside_;
  library::Patience patience(timeout);
  patience.deadline();
  if (call.sequence == 0) return Fate::not_done;
  const auto known = [&] {
    if (inside.machine.fate(call) != Fate::unknown) return Status::ok;
    return inside.machine.is_out(call) && !inside.machine.ended() ? Status::pending : Status::stale;
  };
  if (inside.wait(known, patience.deadline()) == Status::ok) {
    const Guard guard(inside.lock);
    return guard ? inside.machine.fate(call) : Fate::unknown;
  }
  // The link may end again and again.
  while (reopen(patience.left()) == Status::ok && inside.door.interface == call.server) {
    const Fate fate = inside.ask(call, patience);
    const Guard guard(inside.lock);
    if (fate != Fate::unknown || !guard || !inside.machine.ended()) return fate;
  }
  return Fate::unknown;
}

// Asks the server in a new session. A procedure that is still running there has an end.
Fate ClientCore::Inside::ask(CallId call, library::Patience& patience) noexcept {
  const FateQuestion question =
      protocols::in_wire_order(FateQuestion{call.session, call.stack, call.sequence});
  while (patience.left() > std::chrono::nanoseconds{0}) {
    CallId asked;
    const auto send = [&] {
      const Status status = machine.ask(Own::settle, std::as_bytes(std::span{&question, 1}), asked);
      return status == Status::queue_full ? Status::pending : status;
    };
    if (wait(send, patience.deadline()) != Status::ok) return Fate::unknown;
    Landing landing;
    Ending out;
    const auto answered = [&] { return over(asked, landing, out) ? Status::ok : Status::pending; };
    if (wait(answered, patience.deadline()) != Status::ok) {
      const Guard guard(lock);
      if (guard) machine.forget(asked);
      return Fate::unknown;
    }
    if (out.status != Status::ok || landing.bytes.size() != 1) return Fate::unknown;
    const auto said = static_cast<std::uint8_t>(landing.bytes[0]);
    if (said != kStillRunning)
      return said <= static_cast<std::uint8_t>(Fate::unknown) ? static_cast<Fate>(said) : Fate::unknown;
    const auto never = [] { return Status::pending; };
    const auto until = std::min<std::chrono::nanoseconds>(patience.left(), kStillRunningPause);
    const Status paused = wait(never, library::deadline_in(until));
    if (paused != Status::timed_out) return Fate::unknown;
  }
  return Fate::unknown;
}

std::size_t ClientCore::stacks() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.stacks() : 0;
}
std::size_t ClientCore::longest() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.longest() : 0;
}
Interface& ClientCore::interface() noexcept { return inside_->interface; }
const ClientOptions& ClientCore::options() const noexcept { return inside_->options; }

}  // namespace internal_::rpc

}  // namespace hamlyn
