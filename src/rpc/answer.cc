#include "hamlyn/rpc/answer.h"

#include <algorithm>
#include <new>

#include "rpc/server_inside.h"

namespace hamlyn::internal_::rpc {

// A call that goes on when its handler has returned. Whoever goes last has it end.
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
    {
      const Guard its(server->lock);
      if (!its) return Status::forked;
      --server->owed;
    }
    server->finish(call, fits ? cause : Cause::result_too_long, true,
                   fits ? data : std::span<const std::byte>{}, began);
    return gone ? Status::link_ended : fits ? Status::ok : Status::too_long;
  }

  const std::shared_ptr<Home> home;
  const Machine::Taken call;
  const Clock::time_point deadline, began;
  bool over = false;  // under the lock of its home
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

bool Owed::cancelled() const noexcept {
  const base::RunLockGuard guard(call_->home->lock);
  if (!guard || call_->over || call_->home->server == nullptr) return true;
  return Clock::now() >= call_->deadline || call_->home->server->cancelled(call_->call);
}

}  // namespace hamlyn::internal_::rpc
