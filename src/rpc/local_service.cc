#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/pending_calls.h"
#include "base/run_lock.h"
#include "hamlyn/rpc/local_call.h"
#include "hamlyn/rpc/server.h"
#include "library/wait/deadline.h"
#include "library/wait/waiting.h"
#include "library/with_memory.h"
#include "rpc/local_call.h"

namespace hamlyn {

namespace local = internal_::rpc::local;

using internal_::rpc::Owed;
using internal_::rpc::Ran;

namespace {

const LocalService::Options& checked(const LocalService::Options& options) {
  if (options.clients == 0 || options.clients > 1024)
    throw Error(ErrorCode::invalid_argument, "a service has 1 to 1024 clients");
  if (options.request == 0) throw Error(ErrorCode::invalid_argument, "a request has at least 1 byte");
  return options;
}

}  // namespace

struct LocalService::Clients {
  using Guard = base::RunLockGuard;

  // A call that was taken, until it is answered.
  struct Record {
    LocalCall call;
    std::vector<std::byte> request;
    Owed owed{nullptr};
  };

  Clients(Interface& from, std::string_view name, const Options& asked)
      : interface(from),
        options(checked(asked)),
        core(from, name, {{local::procedure(), run, true}}, this,
             {.clients = asked.clients,
              .stacks = local::kCalls,
              .frame = local::short_room(asked.request),
              .long_frame = local::long_room(asked.request),
              .result = asked.reply,
              .owed = asked.clients * local::kCalls,
              .rights = asked.rights}) {}

  // Takes a call, in the thread that serves. Its answer is kept until this has returned.
  static Ran run(void* object, std::span<std::byte> frame, internal_::rpc::Reply&, rpc::Call& call) {
    Clients& own = *static_cast<Clients*>(object);
    if (frame.size() > own.options.request) return Ran::bad_arguments;
    auto [owed, ran] = internal_::rpc::go_on(call);
    if (!owed) return ran;
    if (!own.keep(call.client(), owed, frame)) static_cast<void>(owed.fail(rpc::Cause::no_memory, {}));
    owed.returned();
    return Ran::later;
  }
  bool keep(std::uint64_t client, const Owed& owed, std::span<const std::byte> request) noexcept;
  bool take_arrived(LocalCall& out) noexcept;
  // Under the mutex. Null: there is no such call.
  Record* find(const LocalCall& call) noexcept {
    if (call.record >= records.size()) return nullptr;
    Record& record = records[call.record];
    const bool same = record.call.client == call.client && record.call.number == call.number;
    return record.owed && same ? &record : nullptr;
  }
  // Calls that a client has under way at most, and so those that can be served and are no requests.
  std::size_t most() const noexcept { return std::size_t{options.clients} * local::kCalls; }

  Interface& interface;
  const Options options;
  std::mutex mutex;  // of what follows
  std::uint64_t count = 0;
  std::deque<Record> records;
  std::vector<std::uint32_t> free;     // records; as much room as there are
  std::vector<std::uint32_t> arrived;  // that a thread has served and not taken yet; the same room
  base::RunLock lock;
  base::PendingCalls calls;         // waits; under the lock
  internal_::rpc::ServerCore core;  // goes first
};

// False: no memory.
bool LocalService::Clients::keep(std::uint64_t client, const Owed& owed,
                                 std::span<const std::byte> request) noexcept {
  const std::lock_guard guard(mutex);
  try {
    if (free.empty()) {
      free.reserve(records.size() + 1);
      arrived.reserve(records.size() + 1);
      records.emplace_back();
      free.push_back(static_cast<std::uint32_t>(records.size() - 1));
    }
    const std::uint32_t number = free.back();
    Record& record = records[number];
    record.request.assign(request.begin(), request.end());
    record.call = {client, record.request, ++count, number};
    record.owed = owed;
    free.pop_back();
    arrived.push_back(number);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Each thread asks behind each call that it has served. Whichever it takes, another's find what it has left.
bool LocalService::Clients::take_arrived(LocalCall& out) noexcept {
  const std::lock_guard guard(mutex);
  if (arrived.empty()) return false;
  out = records[arrived.back()].call;
  arrived.pop_back();
  return true;
}

LocalService::LocalService(Interface& interface, std::string_view name, const Options& options) try
    : clients_(std::make_unique<Clients>(interface, name, options)) {
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a service");
}

LocalService::~LocalService() {
  clients_->core.stop();
  clients_->calls.close_and_drain<Clients::Guard>(clients_->lock, [] {});
}

Status LocalService::take(LocalCall& out, std::chrono::nanoseconds timeout) noexcept {
  Clients& own = *clients_;
  base::PendingCall<Clients::Guard, base::RunLock> pending(own.lock, own.calls);
  if (!pending.enter()) return Status::forked;
  library::Patience patience(timeout);
  for (std::size_t late = 0;;) {
    const Status status = own.core.serve_one(patience.left());
    if (status != Status::ok) return status;
    if (own.take_arrived(out)) return Status::ok;
    // Calls that are no requests may come without end. But the descriptor tells once of all that stands
    // there, so a thread that hears of no request has seen all of it.
    const bool over = patience.deadline() && patience.left() <= std::chrono::nanoseconds{0};
    if (over && ++late == own.most()) return Status::timed_out;
  }
}

Status LocalService::answer(const LocalCall& call, std::span<const std::byte> reply) noexcept {
  Clients& own = *clients_;
  // There a thread of the parent's may have the mutex.
  if (own.interface.waiting().forked()) return Status::forked;
  Owed owed{nullptr};
  {
    const std::lock_guard guard(own.mutex);
    Clients::Record* const record = own.find(call);
    if (record == nullptr) return Status::invalid;
    if (reply.size() > own.options.reply || reply.size() > record->owed.room()) return Status::too_long;
    std::swap(owed, record->owed);
  }
  const Status status = owed.give(reply);  // which may be the request
  const std::lock_guard guard(own.mutex);
  own.free.push_back(call.record);
  return status;
}

int LocalService::descriptor() { return clients_->core.descriptor(); }

std::size_t LocalService::clients() const { return clients_->core.clients(); }

}  // namespace hamlyn
