#include <new>
#include <string>

#include "base/random.h"
#include "base/run_lock.h"
#include "hamlyn/rpc/blast.h"
#include "library/with_memory.h"
#include "rpc/blast/address.h"
#include "rpc/blast/client_machine.h"
#include "rpc/blast/clock.h"
#include "rpc/blast/port.h"
#include "rpc/blast/watch.h"
#include "rpc/ending.h"
#include "rpc/inherited.h"
#include "rpc/spin.h"
#include "rpc/traced_frame.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::BlastClientOptions;
using Machine = blast::ClientMachine;
using library::Clock;

namespace {

using Guard = base::RunLockGuard;

constexpr int kMostAtOnce = 256;  // packets, before other threads have their turn

const BlastClientOptions& checked(const BlastClientOptions& options, std::size_t limit) {
  const std::size_t most = limit - sizeof(blast::Data);
  if (options.calls == 0 || options.calls > kMostStacks)
    throw Error(ErrorCode::invalid_argument, "a client has 1 to 1024 calls under way");
  if (options.result < kLeastFrame || options.result > kMostLong)
    throw Error(ErrorCode::invalid_argument, "a result has 128 bytes to 1 GiB");
  if (options.packet != 0 && (options.packet < blast::kLeastPacket || options.packet > most))
    throw Error(ErrorCode::invalid_argument,
                "a packet has 16 to " + std::to_string(most) + " bytes of data here");
  if (options.unit < blast::kLeastUnit || options.unit > blast::kMostUnit)
    throw Error(ErrorCode::invalid_argument, "a unit has 1 to 64 packets");
  return options;
}

blast::ClientLimits limits_of(const BlastClientOptions& options) noexcept {
  return {options.calls, options.result, options.packet, static_cast<std::uint8_t>(options.unit),
          static_cast<blast::Time>(std::chrono::nanoseconds{options.dead}.count())};
}

BlastPort port_towards(std::span<const std::byte> server, const std::string& address) {
  const blast::Address own =
      address.empty() ? blast::Address{blast::way_to(server), {}} : blast::address_of(address);
  return blast::port_at(own);
}

std::vector<std::byte> server_words(std::string_view text) {
  const blast::Address address = blast::address_of(text);
  if (address.port.empty()) throw Error(ErrorCode::invalid_argument, "a server's address has a port");
  return blast::words_of(address);
}

fabric::DatagramPort::Peer named(fabric::DatagramPort& port, std::span<const std::byte> server) {
  const auto peer = port.insert(server);
  if (peer == fabric::DatagramPort::kNobody)
    throw Error(ErrorCode::invalid_argument, "the server's address is of another kind than this side's");
  return peer;
}

}  // namespace

struct BlastClientCore::Inside {
  Inside(BlastPort at, std::span<const std::byte> server, std::vector<Procedure> all,
         const BlastClientOptions& asked)
      : port(std::move(at.port)),
        options(checked(asked, port->limit())),
        procedures(std::move(all)),
        machine(*port, named(*port, server), limits_of(options), procedures, base::random_key),
        spin(options.waits),
        watch(lock, *port),
        arrival(port->limit()) {}

  // Under the lock.
  void hear_standing() noexcept;
  // Under the lock. False: it goes on.
  bool over(CallId call, Landing& into, Ending& out) noexcept;
  // Looks once.
  Ending look(CallId call, Landing& into) noexcept;
  // Asks `ready`, under the lock, until it does not say `pending`.
  template <class Ready>
  Status wait(Ready ready, library::Patience& patience) noexcept;

  const std::unique_ptr<fabric::DatagramPort> port;  // under the lock
  const BlastClientOptions options;
  const std::vector<Procedure> procedures;
  base::RunLock lock;
  Machine machine;  // under the lock, as the next
  Spin spin;
  blast::Watch watch;
  std::vector<std::byte> arrival;
};

// --- waiting

void BlastClientCore::Inside::hear_standing() noexcept {
  lock.assert_held();
  bool some = false;
  for (int left = kMostAtOnce; left != 0; --left) {
    const auto came = port->receive(arrival);
    if (!came) break;
    machine.hear(came->from, std::span(arrival).first(came->length), blast::now());
    some = true;
  }
  machine.run(blast::now());
  if (some) watch.changed();  // somebody else may wait for it
}

template <class Ready>
Status BlastClientCore::Inside::wait(Ready ready, library::Patience& patience) noexcept {
  Spin::Round round(spin);
  for (;;) {
    std::uint32_t changes = 0;
    blast::Time due = blast::kNever;
    {
      const Guard guard(lock);
      if (!guard) return Status::forked;
      hear_standing();
      Status status = ready();
      const library::Deadline until = patience.deadline();
      if (status == Status::pending && until && Clock::now() >= *until) status = Status::timed_out;
      if (status != Status::pending) {
        watch.changed();  // another thread looks at the port, or takes the line that is free
        round.found();
        return status;
      }
      changes = watch.changes();
      due = machine.next();
    }
    if (round.goes_on()) continue;
    if (!watch.wait(changes, blast::earlier(patience.deadline(), due))) return Status::cancelled;
  }
}

// --- the client

BlastClientCore::BlastClientCore(std::string_view server, std::vector<Procedure> procedures,
                                 const BlastClientOptions& options)
    : BlastClientCore(port_towards(server_words(server), options.address), server_words(server),
                      std::move(procedures), options) {}

BlastClientCore::BlastClientCore(BlastPort port, std::span<const std::byte> server,
                                 std::vector<Procedure> procedures, const BlastClientOptions& options) try
    : inside_(std::make_unique<Inside>(std::move(port), server, std::move(procedures), options)) {
  library::Patience patience(options.timeout);
  const Status status = inside_->wait([&] { return inside_->machine.opened(); }, patience);
  if (status != Status::ok) {
    // The server may have let it in: then its place is free again.
    if (const Guard guard(inside_->lock); guard) inside_->machine.leave();
  }
  switch (status) {
    case Status::ok:
      return;
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, "the server did not let this client in in time");
    case Status::forked:
      throw Error(ErrorCode::forked, "a forked child has no port of its parent's");
    case Status::stale:
      throw Error(ErrorCode::version_mismatch, inside_->machine.wrong());
    case Status::refused:
      throw Error(ErrorCode::peer_refused,
                  "the server has as many clients as it may have, or takes no such packets");
    case Status::no_buffer:
      throw std::bad_alloc();
    default:
      throw Error(ErrorCode::peer_refused, "the server answers what no server does");
  }
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a client of calls over datagrams");
}

BlastClientCore::~BlastClientCore() {
  bool own = false;
  {
    const Guard guard(inside_->lock);
    own = static_cast<bool>(guard);
    if (own) inside_->machine.leave();
  }
  if (!own) (void)inside_.release();  // all of it is the parent's
}

bool BlastClientCore::has(std::size_t place) const noexcept {
  const Guard guard(inside_->lock);
  return guard && inside_->machine.has(place);
}

// --- calls

Ending BlastClientCore::start(std::size_t place, std::span<const std::byte> frame, Terms& terms,
                              bool wait) noexcept {
  Inside& inside = *inside_;
  const Inherited own = inherited() != nullptr ? *inherited() : Inherited{};
  Clock::time_point deadline = own.deadline;
  const Clock::time_point begun = Clock::now();
  if (terms.time < deadline - begun) deadline = begun + terms.time;
  const bool timed = deadline != Clock::time_point::max();
  const TracedFrame traced(frame, terms.trace != nullptr ? terms.trace : own.trace);
  if (!traced.good()) return ended(Status::no_buffer, Fate::not_done);
  const int flags = (terms.priority == Priority::urgent ? blast::Data::kUrgent : 0) |
                    (traced.traced() ? blast::Data::kTraced : 0);
  CallId call;
  const auto attempt = [&] {
    const Clock::time_point now = Clock::now();
    if (timed) terms.time = deadline - now;
    if (terms.time <= std::chrono::nanoseconds{0}) return Status::timed_out;
    return inside.machine.start(place, traced.bytes(), timed ? time_word(terms.time) : std::uint16_t{0},
                                own.depth, static_cast<std::uint8_t>(flags), blast::time_of_moment(now),
                                call);
  };
  Status status = Status::forked;
  if (own.depth > kMostDepth) {
    status = Status::refused;
  } else if (const Guard guard(inside.lock); guard) {
    status = attempt();
    if (may_start_later(status)) {
      // Hears what frees a line: nobody may ever wait.
      inside.hear_standing();
      status = attempt();
    }
    if (status == Status::ok) inside.watch.changed();  // who sleeps has more to look after
  }
  if (may_start_later(status) && wait) {
    const auto ready = [&] {
      const Status again = attempt();
      return may_start_later(again) ? Status::pending : again;
    };
    library::Patience patience(terms.time);
    status = inside.wait(ready, patience);
  }
  if (status == Status::ok) return ended(Status::pending, Fate::unknown, call);
  Ending out = ended(status, Fate::not_done);
  if (status == Status::refused) out.cause = own.depth > kMostDepth ? Cause::too_deep : Cause::no_procedure;
  return out;
}

bool BlastClientCore::Inside::over(CallId call, Landing& into, Ending& out) noexcept {
  lock.assert_held();
  const Machine::Look look = machine.look(call);
  if (look == Machine::Look::out && !machine.silent(call, blast::now())) return false;
  out.call = call;
  if (look == Machine::Look::out || look == Machine::Look::none) {
    out.fate = machine.fate(call);
    out.status = call.sequence == 0 ? Status::invalid : Status::link_ended;
    machine.cancel(call, blast::now());
    machine.forget(call);
    return true;
  }
  ReplyWord reply;
  static_cast<void>(machine.take(call, into, reply));  // cannot fail: its memory is the line's
  tell(reply, into, out);
  return true;
}

// A look that finds nothing has nobody else look again: it may be repeated without end.
Ending BlastClientCore::Inside::look(CallId call, Landing& into) noexcept {
  Ending out;
  const Guard guard(lock);
  if (!guard) return ended(Status::forked, Fate::unknown, call);
  hear_standing();
  if (!over(call, into, out)) return ended(Status::timed_out, Fate::unknown, call);
  watch.changed();  // a line is free
  return out;
}

Ending BlastClientCore::finish(CallId call, std::chrono::nanoseconds timeout, Landing& into) noexcept {
  Inside& inside = *inside_;
  if (timeout <= std::chrono::nanoseconds{0}) return inside.look(call, into);
  Ending out;
  library::Patience patience(timeout);
  const auto ready = [&] { return inside.over(call, into, out) ? Status::ok : Status::pending; };
  const Status status = inside.wait(ready, patience);
  return status == Status::ok ? std::move(out) : ended(status, Fate::unknown, call);
}

// `ready` is asked behind the packets that have come, and not under the lock: it looks at calls, and starts
// some.
Status BlastClientCore::wait_any(const std::function<bool()>& ready) {
  Inside& inside = *inside_;
  Spin::Round round(inside.spin);
  for (;;) {
    std::uint32_t changes = 0;
    blast::Time due = blast::kNever;
    {
      const Guard guard(inside.lock);
      if (!guard) return Status::forked;
      inside.hear_standing();
      changes = inside.watch.changes();
      due = inside.machine.next();
    }
    if (ready()) break;
    if (round.goes_on()) continue;
    if (!inside.watch.wait(changes, blast::earlier({}, due))) return Status::cancelled;
  }
  round.found();
  const Guard guard(inside.lock);
  if (!guard) return Status::forked;
  inside.watch.changed();  // another thread looks at the port
  return Status::ok;
}

void BlastClientCore::cancel(CallId call) noexcept {
  const Guard guard(inside_->lock);
  if (!guard) return;
  inside_->machine.cancel(call, blast::now());
  inside_->watch.changed();  // asks sooner
}

void BlastClientCore::forget(CallId call) noexcept {
  const Guard guard(inside_->lock);
  if (!guard) return;
  inside_->machine.forget(call);
  inside_->watch.changed();
}

Fate BlastClientCore::settle(CallId call, std::chrono::nanoseconds timeout) noexcept {
  Inside& inside = *inside_;
  if (call.sequence == 0) return Fate::not_done;
  library::Patience patience(timeout);
  Fate fate = Fate::unknown;
  const auto ready = [&] {
    fate = inside.machine.fate(call);
    return fate != Fate::unknown || !inside.machine.is_out(call) ? Status::ok : Status::pending;
  };
  static_cast<void>(inside.wait(ready, patience));
  return fate;
}

std::size_t BlastClientCore::calls() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.lines() : 0;
}
std::size_t BlastClientCore::longest() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.longest() : 0;
}
std::uint64_t BlastClientCore::refused() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.refused() : 0;
}
std::uint64_t BlastClientCore::sent_again() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.sent_again() : 0;
}
const BlastClientOptions& BlastClientCore::options() const noexcept { return inside_->options; }

}  // namespace hamlyn::internal_::rpc
