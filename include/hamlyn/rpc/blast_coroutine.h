#pragma once
// Calls over datagrams in coroutines (hamlyn/protocols/coroutine.h). A header of its own, which nothing else
// here includes.
//
//   hamlyn::Task ask(hamlyn::rpc::BlastLoop& loop, hamlyn::rpc::BlastClient<Calculator>& client) {
//     auto result = co_await hamlyn::rpc::call<&Calculator::minus>(loop, client, 5, 3);
//     if (result) use(*result);
//   }
//
//   hamlyn::rpc::BlastLoop loop{client};
//   loop.start(ask(loop, client));
//   loop.run();
#include <functional>
#include <utility>

#include "hamlyn/protocols/coroutine.h"
#include "hamlyn/rpc/blast.h"
#include "hamlyn/rpc/coroutine.h"
#include "hamlyn/values/error.h"

namespace hamlyn {

namespace rpc {

// Runs tasks that await calls of one client over datagrams, and has its datagrams go out and come in while
// all of them wait. `run` throws Error(cancelled) if nobody can wait here: there is no memory. Threads: the
// loop and its tasks belong to the thread that runs it; others may use the client meanwhile. Owner: who made
// it; the client, and whatever tasks name, are there for longer.
class BlastLoop final : public TaskLoop {
 public:
  // Sleeps by this client.
  template <class Type, class Hooks>
  explicit BlastLoop(BlastClient<Type, Hooks>& client) noexcept : core_(client.core()) {}
  // For tests.
  explicit BlastLoop(internal_::rpc::BlastClientCore& core) noexcept : core_(core) {}

  // Whether it sleeps by that client.
  template <class Type, class Hooks>
  bool sleeps_by(BlastClient<Type, Hooks>& client) const noexcept {
    return &client.core() == &core_;
  }

 private:
  Status sleep_until(const std::function<bool()>& ready) override { return core_.wait_any(ready); }

  internal_::rpc::BlastClientCore& core_;
};

// Awaits the result of a call of the loop's client that was started. It answers as Pending::wait without a
// time-out.
template <class Returned, class After>
auto result(BlastLoop& loop, Pending<Returned, After, internal_::rpc::BlastClientCore>& pending) {
  return internal_::rpc::await_result(loop, pending);
}

// Calls, and awaits the result; while as many calls are under way as may be it waits for one. Throws
// Error(invalid_argument): the loop sleeps by another client, and would not hear of this one's.
template <auto kFunction, class Type, class Hooks, class... Given>
auto call(BlastLoop& loop, BlastClient<Type, Hooks>& client, Given... arguments) {
  if (!loop.sleeps_by(client))
    throw Error(ErrorCode::invalid_argument, "a loop awaits calls over datagrams of its own client alone");
  using Started = typename internal_::rpc::BlastCalls<Type, Hooks>::template Started<kFunction>;
  return internal_::rpc::await_call<kFunction, Started>(loop, client, std::move(arguments)...);
}

}  // namespace rpc

}  // namespace hamlyn
