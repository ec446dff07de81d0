#pragma once
// Calls in coroutines (hamlyn/protocols/coroutine.h). A header of its own, which nothing else here includes.
//
//   hamlyn::Task ask(hamlyn::Loop& loop, hamlyn::rpc::Client<Calculator>& client) {
//     auto result = co_await hamlyn::rpc::call<&Calculator::minus>(loop, client, 5, 3);
//     if (result) use(*result);
//   }
//
// Threads: a loop and its tasks belong to the thread that runs it. Owner: the client, and the loop's manager,
// are there for longer.
#include <chrono>
#include <utility>

#include "hamlyn/protocols/coroutine.h"
#include "hamlyn/rpc/client.h"

namespace hamlyn {

namespace internal_::rpc {

// Awaits the result of a call that was started.
template <class Returned, class After, class Core>
auto await_result(TaskLoop& loop, hamlyn::rpc::Pending<Returned, After, Core>& pending) {
  using Result = hamlyn::rpc::Result<Returned>;
  return loop.await_value([&pending] {
    Result out = pending.wait(std::chrono::nanoseconds{0});
    const bool over = out.status() != Status::timed_out;
    return over ? std::optional<Result>(std::move(out)) : std::nullopt;
  });
}

// Has `calls` start a call, once a stack is free, and awaits its result.
template <auto kFunction, class Started, class Calls, class... Given>
auto await_call(TaskLoop& loop, Calls& calls, Given... arguments) {
  using Result = hamlyn::rpc::Result<typename ShapeAt<kFunction>::Result>;
  return loop.await_value([&calls, arguments..., pending = std::optional<Started>()]() mutable {
    std::optional<Result> out;
    if (!pending || pending->status() == Status::queue_full)
      pending.emplace(calls.template start<kFunction>(arguments...));
    if (pending->status() == Status::queue_full) return out;
    Result now = pending->wait(std::chrono::nanoseconds{0});
    if (now.status() != Status::timed_out) out.emplace(std::move(now));
    return out;
  });
}

}  // namespace internal_::rpc

namespace rpc {

// Awaits the result of a call that was started. It answers as Pending::wait without a time-out.
template <class Returned, class After>
auto result(Loop& loop, Pending<Returned, After>& pending) {
  return internal_::rpc::await_result(loop, pending);
}

// Calls, and awaits the result; while all stacks are in use it waits for one.
template <auto kFunction, class Type, class Hooks, class... Given>
auto call(Loop& loop, Client<Type, Hooks>& client, Given... arguments) {
  using Started = typename Calls<Type, Hooks>::template Started<kFunction>;
  return internal_::rpc::await_call<kFunction, Started>(loop, client, std::move(arguments)...);
}

}  // namespace rpc

}  // namespace hamlyn
