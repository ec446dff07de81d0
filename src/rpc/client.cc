#include "hamlyn/rpc/client.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/longest_time.h"
#include "library/no_link.h"
#include "library/with_memory.h"
#include "rpc/client_inside.h"
#include "rpc/ending.h"
#include "rpc/inherited.h"
#include "rpc/rows.h"
#include "rpc/traced_frame.h"

namespace hamlyn {

namespace internal_::rpc {

using Machine = ClientMachine<ClientPort>;
using library::CallEnd;

namespace {

using Guard = base::RunLockGuard;

constexpr int kMostAtOnce = 64;  // notifications, before other threads have their turn

const ClientOptions& checked(const ClientOptions& options) {
  if (options.stacks == 0 || options.stacks > kMostStacks)
    throw Error(ErrorCode::invalid_argument, "a client has 1 to 1024 stacks");
  if (options.frame < kLeastFrame || options.frame > kMostFrame)
    throw Error(ErrorCode::invalid_argument, "a frame has 128 to 8064 bytes");
  if (options.result > kMostLong) throw Error(ErrorCode::invalid_argument, "a result has 1 GiB at most");
  return options;
}

}  // namespace

ClientCore::Inside::Inside(Interface& from, std::string_view called, std::vector<Procedure> all,
                           const ClientOptions& asked)
    : interface(from),
      waiting(from.waiting()),
      options(checked(asked)),
      procedures(std::move(all)),
      name(called),
      queue(from, std::size_t{places_for(options.stacks)} * 2),
      port(from, queue),
      machine(port, {options.stacks, options.frame, options.result}, procedures),
      rows(rows_of(from, library::CallSide::caller, called, procedures)),
      places(options.stacks, kNone),
      began(options.stacks),
      spin(options.waits, waiting) {}

// --- opening

void ClientCore::Inside::open(const Ticket& to) {
  if (to.purpose != 0 || !to.fast())
    throw Error(ErrorCode::seed_wrong_kind, "something else than a server of calls is registered there");
  const Guard guard(lock);
  if (!guard) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (!machine.ended()) return;  // another thread was first
  door = to;
  // The queue has news of the time before, the end of that link among them.
  for (Notification old; take_standing(old);) static_cast<void>(machine.hear(old));
  machine.open(door);
  std::ranges::fill(began, Clock::time_point{});
  timed = 0;
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
  lock.assert_held();
  Notification next;
  bool others = false;
  int left = kMostAtOnce;
  for (; left != 0 && take_standing(next); --left) others |= machine.hear(next);
  return others || left == 0;
}

// --- calls

bool ClientCore::Inside::over(CallId call, Landing& into, Ending& out) noexcept {
  lock.assert_held();
  const Machine::Look look = machine.look(call);
  if (look == Machine::Look::out && !machine.ended()) return false;
  out.call = call;
  ReplyWord reply;
  switch (look) {
    case Machine::Look::out:
      note_failure(call, static_cast<std::size_t>(CallEnd::link_ended));
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
  tell(reply, into, out);
  if (look == Machine::Look::done)
    note_result(call);
  else
    note_failure(call, static_cast<std::size_t>(reply.cause));
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
      library::throw_if_no_link("the server cannot be called", interface, inside_->door.interface);
      throw Error(ErrorCode::peer_refused, "the server has as many clients as it may have");
    case Status::no_buffer:
      throw std::bad_alloc();
    default:
      library::throw_if_no_link("the server cannot be called", interface, inside_->door.interface);
      if (status == Status::link_ended)
        throw Error(ErrorCode::peer_died, "the server cannot be called: it has ended, and its name is old");
      throw Error(ErrorCode::peer_refused,
                  std::string("the server cannot be called: ") + hamlyn::name(status));
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

namespace {
Status reopening_failed(ErrorCode code) noexcept {
  switch (code) {
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
}
}  // namespace

// Several threads may: the first one opens it, and all wait for that.
Status ClientCore::reopen(std::chrono::nanoseconds timeout) noexcept {
  Inside& inside = *inside_;
  library::Patience patience(timeout);
  patience.deadline();
  Ticket door;
  {
    const Guard guard(inside.lock);
    if (!guard) return Status::forked;
    if (inside.machine.ended()) door = inside.door;
  }
  if (door.interface == 0) return inside.opened(patience);
  try {
    if (!inside.name.empty())
      door = inside.interface.lookup(
          inside.name, std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::min<std::chrono::nanoseconds>(patience.left(), std::chrono::hours{1})));
    inside.open(door);
  } catch (const Error& error) {
    return reopening_failed(error.code());
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
  // The short way: not from a handler, no deadline, no trace, no row, and a free stack.
  const bool plain = (row == nullptr) & (terms.time == std::chrono::nanoseconds::max()) &
                     (terms.priority == Priority::normal) & (terms.trace == nullptr) &
                     (inherited() == nullptr);
  if (plain) [[likely]] {
    Ending out;
    const Guard guard(inside.lock);
    if (guard) [[likely]] {
      const Clock::time_point now = inside.time_of_start();
      out.status = inside.machine.start(place, frame, {}, out.call);
      if (out.status == Status::ok) [[likely]] {
        inside.note_start(static_cast<std::uint32_t>(place), out.call, now);
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
  const Inherited own = inherited() != nullptr ? *inherited() : Inherited{};
  const bool has_time = terms.time != std::chrono::nanoseconds::max();
  Clock::time_point deadline = own.deadline;
  if (has_time || deadline != Clock::time_point::max()) [[unlikely]] {
    const Clock::time_point now = Clock::now();
    if (has_time && terms.time < deadline - now) deadline = now + terms.time;
    terms.time = deadline - now;
    if (terms.time <= std::chrono::nanoseconds{0})
      return inside.not_started(place, ended(Status::timed_out, Fate::not_done));
  }
  if (own.depth > kMostDepth) {
    Ending out = ended(Status::refused, Fate::not_done);
    out.cause = Cause::too_deep;
    return inside.not_started(place, std::move(out));
  }
  const TracedFrame traced(frame, terms.trace != nullptr ? terms.trace : own.trace);
  if (!traced.good()) return inside.not_started(place, ended(Status::no_buffer, Fate::not_done));
  CallId call;
  Manner how{.depth = own.depth, .urgent = terms.priority == Priority::urgent, .traced = traced.traced()};
  const auto attempt = [&] {
    if (deadline != Clock::time_point::max()) how.left = time_word(terms.time);
    return inside.leave_or_join(place, traced.bytes(), how, row, call);
  };
  Status status;
  {
    const Guard guard(inside.lock);
    status = guard ? attempt() : Status::forked;
  }
  if (may_start_later(status) && wait) [[unlikely]] {
    const auto ready = [&] {
      if (inside.machine.step() != Machine::Step::open) {
        const Status opening = inside.machine.advance();
        if (opening != Status::ok) return opening;
      }
      if (deadline != Clock::time_point::max()) terms.time = deadline - Clock::now();
      const Status again = attempt();
      return may_start_later(again) ? Status::pending : again;
    };
    status = inside.wait(ready, deadline == Clock::time_point::max() ? library::Deadline{} : deadline);
  }
  if (status == Status::ok) [[likely]]
    return ended(Status::pending, Fate::unknown, call);
  Ending out = ended(status, Fate::not_done);
  if (status == Status::refused) out.cause = Cause::no_procedure;
  return inside.not_started(place, std::move(out));
}

// Has a call leave, or wait in its row.
Status ClientCore::Inside::leave_or_join(std::size_t place, std::span<const std::byte> frame, Manner how,
                                         Row* row, CallId& call) noexcept {
  const Clock::time_point now = time_of_start();
  if (row == nullptr) {
    const Status status = machine.start(place, frame, how, call);
    if (status == Status::ok) note_start(static_cast<std::uint32_t>(place), call, now);
    if (status == Status::queue_full) rows[place]->retried();
    return status;
  }
  if (frame.size() > kMostFrame) return Status::too_long;
  try {
    row->all.push_back({{frame.begin(), frame.end()}, {}, 0});
  } catch (const std::bad_alloc&) {
    return Status::no_buffer;
  }
  const Status status = machine.reserve(place, frame.size(), how, call, row->all.back().word);
  if (status == Status::ok) {
    note_start(static_cast<std::uint32_t>(place), call, now);
    row->all.back().call = call;
  } else {
    row->all.pop_back();
  }
  return status;
}

// --- counting

Ending ClientCore::Inside::not_started(std::size_t place, Ending why) noexcept {
  const Guard guard(lock);
  if (!guard || why.status == Status::queue_full) return why;
  rows[place]->begun();
  if (why.cause != Cause::none)
    rows[place]->failed(static_cast<std::size_t>(why.cause));
  else
    rows[place]->failed(CallEnd::not_sent);
  return why;
}
void ClientCore::Inside::note_time(CallId call, bool ended_well) noexcept {
  lock.assert_held();
  const Clock::time_point at = std::exchange(began[call.stack], Clock::time_point{});
  if (at == Clock::time_point{}) return;
  --timed;
  if (ended_well && places[call.stack] != kNone) rows[places[call.stack]]->took(Clock::now() - at);
}
void ClientCore::Inside::note_failure(CallId call, std::size_t cause) noexcept {
  lock.assert_held();
  if (places[call.stack] != kNone) rows[places[call.stack]]->failed(cause);
  note_time(call, false);
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
      inside.note_result(call);
      if (inside.calls.count() != 0) [[unlikely]]
        inside.waiting.changed();  // a stack is free
      round.found();
      return {Status::ok, Cause::none, Fate::done, call, nullptr};
    }
    const bool others = came && inside.machine.hear(next);
    inside.machine.settle_owed();
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
  const Status status = inside.wait(ready, patience.deadline(), round.cancels());
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
  inside.machine.settle_owed();
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
  if (inside_->machine.is_out(call)) inside_->note_failure(call, static_cast<std::size_t>(CallEnd::given_up));
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
