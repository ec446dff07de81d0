#include "hamlyn/rpc/answer.h"

#include <algorithm>
#include <new>
#include <optional>
#include <vector>

#include "rpc/server_inside.h"

namespace hamlyn::internal_::rpc {

// A call that goes on when its handler has returned. Whoever goes last has it end. Until the handler has
// returned an answer is kept: the stack, the frame and the client are the handler's to look at.
struct Deferred {
  using Machine = ServerCore::Inside::Machine;
  using Guard = base::RunLockGuard;

  Deferred(const std::shared_ptr<Home>& server, const Serving& serving) noexcept
      : home(server), call(*serving.call), deadline(serving.own.deadline), began(serving.began) {}
  ~Deferred() { static_cast<void>(end(Cause::unanswered, {})); }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  Status end(Cause cause, std::span<const std::byte> data) noexcept {
    const Guard guard(home->lock);
    if (!guard) return Status::forked;
    if (over) return Status::invalid;
    over = true;
    ServerCore::Inside* const server = home->server;
    if (server == nullptr) return Status::link_ended;
    const bool gone = call.client->gone.load(std::memory_order_relaxed);
    const bool fits = data.size() <= server->machine.room(*call.client);
    if (!fits) {
      cause = Cause::result_too_long;
      data = {};
    }
    bool kept = true;
    if (has_returned)
      finish(*server, cause, data);
    else
      kept = keep(cause, data);
    return gone ? Status::link_ended : !fits ? Status::too_long : kept ? Status::ok : Status::no_buffer;
  }
  void returned() noexcept {
    const Guard guard(home->lock);
    if (!guard) return;
    has_returned = true;
    if (over && home->server != nullptr) finish(*home->server, kept_cause, kept_data);
  }
  // Runs the interface without the lock of its home, which other answers want, too.
  bool cancelled() noexcept {
    std::optional<base::PendingCall<Guard, base::RunLock>> pending;  // keeps the server
    ServerCore::Inside* server = nullptr;
    {
      const Guard guard(home->lock);
      if (!guard || over || home->server == nullptr) return true;
      server = home->server;
      pending.emplace(server->lock, server->calls);
      if (!pending->enter()) return true;
    }
    server->interface.run();
    const Guard guard(home->lock);
    if (!guard || over || home->server == nullptr) return true;
    const Guard its(server->lock);
    return !its || server->machine.cancelled(call);
  }

  void finish(ServerCore::Inside& server, Cause cause, std::span<const std::byte> data) noexcept {
    {
      const Guard its(server.lock);
      if (!its) return;
      --server.owed;
    }
    server.finish(call, cause, true, data, began);
  }
  // False: no memory, which the caller is told.
  bool keep(Cause cause, std::span<const std::byte> data) noexcept {
    kept_cause = cause;
    try {
      kept_data.assign(data.begin(), data.end());
      return true;
    } catch (const std::bad_alloc&) {
      if (cause == Cause::none) kept_cause = Cause::no_memory;
      return false;
    }
  }

  const std::shared_ptr<Home> home;
  const Machine::Taken call;
  const Clock::time_point deadline, began;
  // Under the lock of its home, as all that follows.
  bool over = false;
  bool has_returned = false;
  Cause kept_cause = Cause::none;
  std::vector<std::byte> kept_data;
};

std::pair<Owed, Ran> go_on(hamlyn::rpc::Call& call) noexcept {
  const Serving& serving = call.serving();
  if (serving.server == nullptr) return {Owed(nullptr), Ran::unanswered};  // over datagrams none is owed
  auto& server = *serving.server;
  {
    const base::RunLockGuard guard(server.lock);
    if (!guard || server.owed == server.options.owed) return {Owed(nullptr), Ran::too_many};
    ++server.owed;
  }
  try {
    return {Owed(std::make_shared<Deferred>(server.home, serving)), Ran::later};
  } catch (const std::bad_alloc&) {
    const base::RunLockGuard guard(server.lock);
    if (guard) --server.owed;
    return {Owed(nullptr), Ran::no_memory};
  }
}

std::size_t Owed::room() const noexcept {
  const base::RunLockGuard guard(call_->home->lock);
  if (!guard || call_->over || call_->home->server == nullptr) return 0;
  return call_->home->server->machine.room(*call_->call.client);
}

Status Owed::give(std::span<const std::byte> data) noexcept { return call_->end(Cause::none, data); }

Status Owed::fail(Cause cause, std::string_view words) noexcept {
  words = words.substr(0, std::min(kMostText, room()));
  return call_->end(cause, std::as_bytes(std::span(words)));
}

bool Owed::cancelled() const noexcept { return Clock::now() >= call_->deadline || call_->cancelled(); }

void Owed::returned() noexcept { call_->returned(); }

}  // namespace hamlyn::internal_::rpc
