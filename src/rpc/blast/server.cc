#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "base/random.h"
#include "base/run_lock.h"
#include "hamlyn/rpc/blast.h"
#include "library/with_memory.h"
#include "rpc/binding.h"
#include "rpc/blast/address.h"
#include "rpc/blast/clock.h"
#include "rpc/blast/port.h"
#include "rpc/blast/server_machine.h"
#include "rpc/blast/watch.h"
#include "rpc/performing.h"
#include "rpc/spin.h"
#include "rpc/table.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::BlastRefused;
using hamlyn::rpc::BlastServerOptions;
using Machine = blast::ServerMachine;

namespace {

using Guard = base::RunLockGuard;

constexpr int kMostAtOnce = 256;           // packets, before other threads have their turn
constexpr std::size_t kReplyHere = 1024;   // bytes of a result that needs no memory of its own
constexpr std::size_t kAnswerHere = 8192;  // of one of the library's own procedures

const BlastServerOptions& checked(const BlastServerOptions& options) {
  if (options.clients == 0 || options.clients > 1024)
    throw Error(ErrorCode::invalid_argument, "a server has 1 to 1024 clients");
  if (options.calls == 0 || options.calls > kMostStacks)
    throw Error(ErrorCode::invalid_argument, "a client has 1 to 1024 calls under way");
  if (std::min(options.frame, options.result) < kLeastFrame ||
      std::max(options.frame, options.result) > kMostLong)
    throw Error(ErrorCode::invalid_argument, "a call, and a result, have 128 bytes to 1 GiB");
  if (options.silence < std::chrono::milliseconds{1} || options.silence > std::chrono::hours{24})
    throw Error(ErrorCode::invalid_argument, "a client is forgotten after 1 ms to 24 h of silence");
  return options;
}

}  // namespace

struct BlastServerCore::Inside {
  Inside(BlastPort at, std::vector<Offered> all, void* of, const BlastServerOptions& asked)
      : options(checked(asked)),
        procedures(std::move(all)),
        table(table_of(procedures)),
        catalogue(table),
        object(of),
        port(std::move(at.port)),
        machine(*port,
                {options.clients, options.calls, options.frame, options.result,
                 static_cast<blast::Time>(std::chrono::nanoseconds{options.silence}.count())},
                base::random_key),
        spin(options.waits),
        watch(lock, *port),
        arrival(port->limit()) {}

  Status serve(std::chrono::nanoseconds timeout) noexcept;
  void hear_standing() noexcept;
  void perform(const Machine::Taken& call) noexcept;
  void administer(const Machine::Taken& call) noexcept;
  void finish(const Machine::Taken& call, Cause cause, bool begun, std::span<const std::byte> data) noexcept {
    const Guard guard(lock);
    if (guard && machine.finish(call, cause, begun, data, blast::now())) watch.changed();
  }

  const BlastServerOptions options;
  const std::vector<Offered> procedures;
  const std::vector<Procedure> table;
  const Catalogue catalogue;
  void* const object;
  const std::unique_ptr<fabric::DatagramPort> port;  // under the lock
  base::RunLock lock;
  Machine machine;  // under the lock, as the next
  Spin spin;
  blast::Watch watch;
  std::vector<std::byte> arrival;
  // Relaxed: whoever sees it late serves one call more.
  std::atomic<bool> stopped{false};
};

// --- one call

namespace blast {

namespace {

struct Serving : rpc::Serving {
  const ServerMachine::Taken* taken = nullptr;
};
const ServerMachine::Taken& taken(const rpc::Serving& serving) noexcept {
  return *static_cast<const Serving&>(serving).taken;
}

}  // namespace

std::size_t procedure(const rpc::Serving& serving) noexcept { return taken(serving).line->first.procedure; }
// Relaxed: whoever sees it late goes on for longer.
bool cancelled(const rpc::Serving& serving) noexcept {
  return taken(serving).session->gone.load(std::memory_order_relaxed) ||
         taken(serving).line->cancelled.load(std::memory_order_relaxed);
}
bool urgent(const rpc::Serving& serving) noexcept {
  return (taken(serving).line->first.flags & Data::kUrgent) != 0;
}

}  // namespace blast

void BlastServerCore::Inside::perform(const Machine::Taken& call) noexcept {
  const std::size_t number = call.line->first.procedure;
  if (number >= kReserved) return administer(call);
  if (number >= procedures.size()) return finish(call, Cause::no_procedure, false, {});
  const std::uint8_t depth = call.line->first.depth;
  if (depth > kMostDepth) return finish(call, Cause::too_deep, false, {});
  blast::Serving serving;
  serving.taken = &call;
  if (call.deadline != blast::kNever) serving.own.deadline = blast::moment_of(call.deadline);
  std::span<std::byte> frame = call.frame;
  Trace trace;
  if ((call.line->first.flags & blast::Data::kTraced) != 0) {
    frame = frame.first(frame.size() - trace.size());  // it is that long
    std::memcpy(trace.data(), frame.data() + frame.size(), trace.size());
    serving.own.trace = &trace;
  }
  alignas(16) std::byte room[kReplyHere];
  const std::size_t most = machine.room(*call.session);
  Reply reply(room, most);
  std::array<char, kMostText> words;
  const Performed done = run_offered(procedures[number], object, serving, depth, frame, reply, most, words);
  finish(call, done.cause, done.begun, done.data);
}

void BlastServerCore::Inside::administer(const Machine::Taken& call) noexcept {
  alignas(16) std::byte room[kAnswerHere];
  Writer reply(room);
  Cause cause = catalogue.answer(call.line->first.procedure, call.frame, reply);
  if (cause == Cause::none && (!reply.fits() || reply.size() > machine.room(*call.session)))
    cause = Cause::result_too_long;
  finish(call, cause, cause == Cause::none,
         cause == Cause::none ? reply.written() : std::span<const std::byte>{});
}

// --- serving

void BlastServerCore::Inside::hear_standing() noexcept {
  lock.assert_held();
  for (int left = kMostAtOnce; left != 0; --left) {
    const auto came = port->receive(arrival);
    if (!came) break;
    machine.hear(came->from, std::span(arrival).first(came->length), blast::now());
  }
  machine.run(blast::now());
}

Status BlastServerCore::Inside::serve(std::chrono::nanoseconds timeout) noexcept {
  library::Patience patience(timeout);
  Spin::Round round(spin);
  for (;;) {
    Machine::Taken call;
    std::uint32_t changes = 0;
    blast::Time due = blast::kNever;
    bool found = false;
    {
      const Guard guard(lock);
      if (!guard) return Status::forked;
      const bool over = stopped.load(std::memory_order_relaxed);
      if (!over) hear_standing();
      found = !over && machine.take(call, blast::now());
      if (found || over) watch.changed();  // another thread looks at the port
      if (over) return Status::cancelled;
      changes = watch.changes();
      due = machine.next();
    }
    if (found) {
      round.found();
      perform(call);
      return Status::ok;
    }
    const library::Deadline until = patience.deadline();
    if (patience.left() <= std::chrono::nanoseconds{0}) {
      const Guard guard(lock);
      if (guard) watch.changed();
      return Status::timed_out;
    }
    if (round.goes_on()) continue;
    if (!watch.wait(changes, blast::earlier(until, due))) return Status::cancelled;
  }
}

// --- the server

BlastServerCore::BlastServerCore(std::string_view address, std::vector<Offered> procedures, void* object,
                                 const BlastServerOptions& options)
    : BlastServerCore(blast::port_at(blast::address_of(address)), std::move(procedures), object, options) {}

BlastServerCore::BlastServerCore(BlastPort port, std::vector<Offered> procedures, void* object,
                                 const BlastServerOptions& options) try
    : inside_(std::make_unique<Inside>(std::move(port), std::move(procedures), object, options)) {
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a server of calls over datagrams");
}

BlastServerCore::~BlastServerCore() {
  bool own = false;
  {
    const Guard guard(inside_->lock);
    own = static_cast<bool>(guard);
  }
  if (!own) (void)inside_.release();  // all of it is the parent's
}

std::string BlastServerCore::address() const { return blast::text_of(inside_->port->address()); }

Status BlastServerCore::run() noexcept {
  Status status = Status::ok;
  while (status == Status::ok) status = inside_->serve(std::chrono::nanoseconds::max());
  // Relaxed: this thread has seen it, if that is why.
  const bool over = inside_->stopped.load(std::memory_order_relaxed);
  return status == Status::cancelled && over ? Status::ok : status;
}

Status BlastServerCore::serve_one(std::chrono::nanoseconds timeout) noexcept {
  return inside_->serve(timeout);
}

void BlastServerCore::stop() noexcept {
  inside_->stopped.store(true, std::memory_order_relaxed);
  if (const Guard guard(inside_->lock); guard) inside_->watch.changed();
}

std::size_t BlastServerCore::clients() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.clients() : 0;
}

std::uint64_t BlastServerCore::refused(BlastRefused cause) const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.refused(cause) : 0;
}

std::uint64_t BlastServerCore::sent_again() const noexcept {
  const Guard guard(inside_->lock);
  return guard ? inside_->machine.sent_again() : 0;
}

}  // namespace hamlyn::internal_::rpc
