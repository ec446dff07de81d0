#include "hamlyn/rpc/server.h"

#include <atomic>
#include <cstring>
#include <exception>

#include "library/with_memory.h"
#include "rpc/performing.h"
#include "rpc/rows.h"
#include "rpc/server_inside.h"
#include "rpc/table.h"

namespace hamlyn {

namespace internal_::rpc {

using hamlyn::rpc::Call;

namespace {

using Guard = base::RunLockGuard;

constexpr int kMostAtOnce = 64;  // notifications, before other threads have their turn

const ServerOptions& checked(const ServerOptions& options) {
  if (options.clients == 0 || options.clients > 1024 || options.of_one == 0)
    throw Error(ErrorCode::invalid_argument,
                "a server has 1 to 1024 clients, and at least 1 of one interface");
  if (options.stacks == 0 || options.stacks > kMostStacks)
    throw Error(ErrorCode::invalid_argument, "a client has 1 to 1024 stacks");
  if (options.frame < kLeastFrame || options.frame > kMostFrame)
    throw Error(ErrorCode::invalid_argument, "a frame has 128 to 8064 bytes");
  if (options.long_frame > kMostLong || options.result > kMostLong)
    throw Error(ErrorCode::invalid_argument, "a long frame, and a result, have 1 GiB at most");
  return options;
}

std::size_t queue_places(const ServerOptions& options) {
  const std::size_t clients = std::size_t{options.clients} * places_for(options.stacks);
  return std::min<std::size_t>(clients + 4096, std::size_t{1} << 20);
}

}  // namespace

ServerCore::Inside::Inside(Interface& from, std::string_view called, std::vector<Offered> all, void* of,
                           const ServerOptions& asked)
    : interface(from),
      waiting(from.waiting()),
      options(checked(asked)),
      procedures(std::move(all)),
      table(table_of(procedures)),
      rows(rows_of(from, library::CallSide::procedure, called, table)),
      object(of),
      name(called),
      queue(from, queue_places(options)),
      watch(from, queue),
      port(from, queue, name),
      machine(port,
              {options.clients, options.of_one, options.stacks, options.frame, options.long_frame,
               options.result},
              table, static_cast<std::uint32_t>(port.door_ticket().key)),
      spin(options.waits, waiting),
      home(std::make_shared<Home>(*this)),
      reach(from) {}

// --- one call

__attribute__((always_inline)) inline void ServerCore::Inside::run_it(const Offered& procedure,
                                                                      Serving& serving,
                                                                      std::span<std::byte> frame,
                                                                      Reply& reply) noexcept {
  const Machine::Taken& call = *serving.call;
  std::array<char, kMostText> words;
  const Performed done = run_offered(procedure, object, serving, call.word.depth(), frame, reply,
                                     machine.room(*call.client), words);
  if (!done.later) finish(call, done.cause, done.begun, done.data, serving.began);
}

// Copies the frame out whole, unless nothing can be written where it is.
template <std::size_t kFrame, std::size_t kReply>
__attribute__((noinline)) void ServerCore::Inside::perform_here(const Offered& procedure,
                                                                Serving& serving) noexcept {
  alignas(16) std::byte frame[kFrame], room[kReply];
  const Machine::Taken& call = *serving.call;
  std::span<std::byte> copy = call.frame;
  if (!call.longer) {
    if constexpr (kFrame == kCopiedShort)
      copy_short(frame, call.frame.data(), call.frame.size());
    else
      std::memcpy(frame, call.frame.data(), call.frame.size());
    copy = {frame, call.frame.size()};
  }
  Trace trace;
  if (call.word.traced()) [[unlikely]] {
    if (copy.size() < trace.size()) return finish(call, Cause::bad_arguments, false, {}, serving.began);
    std::memcpy(trace.data(), copy.last(trace.size()).data(), trace.size());
    serving.own.trace = &trace;
    copy = copy.first(copy.size() - trace.size());
  }
  Reply reply(room, machine.room(*call.client));
  run_it(procedure, serving, copy, reply);
}

// The caller's time is counted from here: when a frame came nobody knows, but a caller whose time is over
// cancels its call.
void ServerCore::Inside::begin_time(Serving& serving) noexcept {
  const Clock::time_point now = Clock::now();
  if (library::CallRow::is_timed(serving.call->word.sequence())) serving.began = now;
  if (serving.call->word.left() != 0) serving.own.deadline = now + time_of(serving.call->word.left());
}
void ServerCore::Inside::note(library::CallRow& row, Cause cause, Clock::time_point began) noexcept {
  if (cause != Cause::none) row.failed(static_cast<std::size_t>(cause));
  if (began != Clock::time_point{}) row.took(Clock::now() - began);
}

// Ends what is no procedure of the object's, or was cancelled.
void ServerCore::Inside::do_not_perform(const Machine::Taken& call) noexcept {
  const std::size_t number = call.word.procedure();
  if (number >= kReserved) return administer(call);
  if (number < procedures.size()) return finish(call, Cause::cancelled, false, {}, {});
  const Guard guard(lock);
  if (guard) machine.finish(call, Cause::no_procedure, false, {});
}

inline void ServerCore::Inside::perform(const Machine::Taken& call) noexcept {
  const std::size_t number = call.word.procedure();
  if (number >= procedures.size() || machine.cancelled(call)) [[unlikely]]
    return do_not_perform(call);
  const Offered& procedure = procedures[number];
  Serving serving{this, &call};
  if (library::CallRow::is_timed(call.word.sequence()) | (call.word.left() != 0)) [[unlikely]]
    begin_time(serving);
  if (call.frame.size() <= kCopiedShort && procedure.short_result) [[likely]]
    perform_here<kCopiedShort, kShortReply>(procedure, serving);
  else
    perform_here<kMostFrame, kMostFrame>(procedure, serving);
}

// --- serving

bool ServerCore::Inside::cancelled(const Machine::Taken& call) noexcept {
  interface.run();
  const Guard guard(lock);
  return !guard || machine.cancelled(call);
}

bool ServerCore::Inside::take_standing(Notification& out) noexcept {
  const library::Lock locked(waiting);
  return locked && queue.take(locked.held(), out) == Status::ok;
}

Status ServerCore::Inside::serve(std::chrono::nanoseconds timeout) noexcept {
  if (stopped.load(std::memory_order_relaxed)) [[unlikely]]
    return Status::cancelled;
  library::Patience patience(timeout);
  Spin::Round round(spin);
  Machine::Taken call;
  Notification next;
  while (round.goes_on()) {
    if (queue.poll({&next, 1}) != 0) [[likely]] {
      const Machine::Heard heard = hear(next, call);
      if (heard == Machine::Heard::call) [[likely]] {
        round.found();
        perform(call);
        return Status::ok;
      }
      if (heard == Machine::Heard::given_up) return Status::ok;
    }
    {
      const Guard guard(lock);
      if (!guard) return Status::forked;
      machine.settle_owed();
    }
    if (stopped.load(std::memory_order_relaxed)) return Status::cancelled;
    if (timeout == std::chrono::nanoseconds::max()) continue;
    static_cast<void>(patience.deadline());
    if (patience.left() <= std::chrono::nanoseconds{0}) return serve_standing(round);
  }
  Machine::Heard heard = Machine::Heard::nothing;
  const Status status = wait_for_call(patience, round.cancels(), heard, call);
  if (status == Status::timed_out) return serve_standing(round);
  if (status != Status::ok || heard != Machine::Heard::call) return status;
  round.found();
  perform(call);
  return Status::ok;
}

// Polls until the queue is empty: then its descriptor tells of what comes. It tells once of all that stands
// there.
Status ServerCore::Inside::serve_standing(Spin::Round& round) noexcept {
  Machine::Taken call;
  Notification next;
  for (std::size_t left = queue.capacity(); left != 0 && queue.poll({&next, 1}) != 0; --left) {
    const Machine::Heard heard = hear(next, call);
    if (heard == Machine::Heard::nothing) continue;
    if (heard == Machine::Heard::given_up) return Status::ok;
    round.found();
    perform(call);
    return Status::ok;
  }
  const auto owes = [&] {
    const Guard guard(lock);
    return guard && !machine.settle_owed();
  };
  if (watch.go_back(owes())) static_cast<void>(owes());
  return Status::timed_out;
}

Status ServerCore::Inside::wait_for_call(library::Patience& patience, std::uint32_t cancels,
                                         Machine::Heard& heard, Machine::Taken& out) noexcept {
  base::PendingCall<Guard, base::RunLock> pending(lock, calls);
  if (!pending.enter()) return Status::forked;
  const auto look = [&] {
    Notification next;
    for (int left = kMostAtOnce; left != 0 && take_standing(next); --left) {
      heard = hear(next, out);
      if (heard != Machine::Heard::nothing) return Status::ok;
      if (left == 1) waiting.changed();
    }
    const Guard guard(lock);
    if (!guard) return Status::forked;
    machine.settle_owed();
    return stopped.load(std::memory_order_relaxed) || pending.closing() ? Status::cancelled : Status::pending;
  };
  return waiting.until(look, patience.deadline(), cancels);
}

void ServerCore::Inside::administer(const Machine::Taken& call) noexcept {
  alignas(16) std::byte frame[kMostFrame], room[kMostFrame];
  std::memcpy(frame, call.frame.data(), std::min(call.frame.size(), sizeof frame));
  const Guard guard(lock);
  if (!guard) return;
  const std::size_t most = std::min(machine.room(*call.client), sizeof room);
  Writer reply{std::span(room).first(most)};
  Cause cause = call.frame.size() <= sizeof frame
                    ? machine.administer(call, {frame, call.frame.size()}, reply)
                    : Cause::bad_arguments;
  if (cause == Cause::none && !reply.fits()) cause = Cause::result_too_long;
  machine.finish(call, cause, cause == Cause::none,
                 cause == Cause::none ? reply.written() : std::span<const std::byte>{});
}

// --- the server

ServerCore::ServerCore(Interface& interface, std::string_view name, std::vector<Offered> procedures,
                       void* object, const ServerOptions& options) try
    : inside_(std::make_unique<Inside>(interface, name, std::move(procedures), object, options)) {
  interface.publish(name, inside_->port.door_ticket(), options.rights);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a server of calls");
}

ServerCore::~ServerCore() {
  stop();
  inside_->home->leave();  // before the drain: an answer that asks after its call enters from there
  const bool own = inside_->calls.close_and_drain<Guard>(inside_->lock, [&] { inside_->waiting.changed(); });
  if (!own) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  if (const Guard guard(inside_->lock); guard) inside_->machine.close();
  try {
    inside_->interface.withdraw(inside_->name);
  } catch (const std::exception&) {  // the node has gone, and will not know it; or there is no memory
  }
}

Status ServerCore::run() noexcept {
  for (;;) {
    const Status status = inside_->serve(std::chrono::nanoseconds::max());
    if (status == Status::ok) [[likely]]
      continue;
    return status == Status::cancelled && inside_->stopped.load(std::memory_order_relaxed) ? Status::ok
                                                                                           : status;
  }
}

Status ServerCore::serve_one(std::chrono::nanoseconds timeout) noexcept { return inside_->serve(timeout); }

void ServerCore::stop() noexcept {
  inside_->stopped.store(true, std::memory_order_relaxed);
  if (const Guard guard(inside_->lock); guard) inside_->waiting.changed();
}

int ServerCore::descriptor() { return inside_->watch.descriptor(); }

std::size_t ServerCore::clients() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.clients() : 0;
}

std::array<std::uint64_t, static_cast<std::size_t>(Refused::count)> ServerCore::refused() const noexcept {
  std::array<std::uint64_t, static_cast<std::size_t>(Refused::count)> out{};
  const Guard guard(inside_->lock);
  for (std::size_t i = 0; guard && i != out.size(); ++i)
    out[i] = inside_->machine.refused(static_cast<Refused>(i));
  return out;
}

}  // namespace internal_::rpc

namespace rpc {

using internal_::rpc::Serving;

namespace blast = internal_::rpc::blast;

std::size_t Call::procedure() const noexcept {
  return serving_.call == nullptr ? blast::procedure(serving_) : serving_.call->word.procedure();
}
std::uint64_t Call::client() const noexcept {
  return serving_.call == nullptr ? 0 : serving_.call->client->peer;
}
std::uint32_t Call::user() const noexcept {
  return serving_.call == nullptr ? ~0u : serving_.call->client->uid;
}
Trace Call::trace() const noexcept { return serving_.own.trace == nullptr ? Trace{} : *serving_.own.trace; }
Priority Call::priority() const noexcept {
  const bool urgent = serving_.call == nullptr ? blast::urgent(serving_) : serving_.call->word.urgent();
  return urgent ? Priority::urgent : Priority::normal;
}
std::chrono::nanoseconds Call::left() const noexcept {
  using std::chrono::nanoseconds;
  if (serving_.own.deadline == library::Clock::time_point::max()) return nanoseconds::max();
  return std::max<nanoseconds>(serving_.own.deadline - library::Clock::now(), nanoseconds{0});
}
bool Call::cancelled() const noexcept {
  if (left() <= std::chrono::nanoseconds{0}) return true;
  return serving_.call == nullptr ? blast::cancelled(serving_) : serving_.server->cancelled(*serving_.call);
}

}  // namespace rpc

}  // namespace hamlyn
