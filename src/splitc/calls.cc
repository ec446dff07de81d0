// Functions that ranks call at each other. A call waits in the control block of the rank that it goes to,
// which looks at it when it polls.
#include <cstring>
#include <exception>

#include "base/copy.h"
#include "library/wait/waiting.h"
#include "splitc/functions.h"
#include "splitc/runtime.h"

namespace hamlyn::internal_::splitc {
namespace {

void put_text(Reply& reply, const char* text) noexcept {
  reply.bytes = static_cast<std::uint32_t>(::strnlen(text, kMostResult));
  std::memcpy(reply.result.data(), text, reply.bytes);
}

}  // namespace

void Runtime::poll() {
  go_on();
  outside_of_calls("a poll");
  look_if_due();
  leave();
  if (vi_ != nullptr)
    drain_vi();
  else
    static_cast<void>(run());
  give_way();
  serve();
}

// Looks at all ranks: the count is read before their requests, which are there before it.
void Runtime::take_calls() {
  calls_seen_ = word_at(own_);
  more_calls_ = held_calls_ = false;
  handled_when_held_ = handled_over_vi();
  for (std::uint32_t rank = 0; rank != ranks_; ++rank) take_calls_of(rank);
}

void Runtime::take_calls_of(std::uint32_t rank) {
  Peer& peer = peers_[rank];
  std::uint32_t taken = 0;
  for (; taken != kCalls; ++taken) {
    const std::byte* const at = own_ + request_at(rank, peer.taken + 1);
    if (word_at(at) != peer.taken + 1) break;
    Request request;
    base::copy_from_shared(reinterpret_cast<std::byte*>(&request), at, sizeof request);
    if (!has_handled(rank, request.behind)) {
      held_calls_ = true;
      break;
    }
    ++peer.taken;
    try {
      answer(rank, request);
    } catch (...) {
      if (failure_ || interface_.waiting().forked()) throw;
      keep_thrown();
    }
  }
  if (taken == kCalls) more_calls_ = true;
  if (taken != 0) tell(rank, other_at(rank_), {}, other_at(rank_) + offsetof(Other, handled), peer.taken);
}

// Runs a call. Throws what its function threw, if nobody waits for the answer.
void Runtime::answer(std::uint32_t rank, const Request& request) {
  Reply reply;
  reply.number = request.number;
  reply.done = run(request, reply);
  if (request.answered == 0) return;
  if (vi_ != nullptr && rank != rank_) {
    const std::uint64_t behind = sent_to(rank);
    expect(import(rank).write(other_at(rank_) + offsetof(Other, behind), std::as_bytes(std::span(&behind, 1)),
                              kForEver),
           rank);
  }
  const std::uint64_t place = other_at(rank_) + offsetof(Other, reply);
  const auto all = std::as_bytes(std::span(&reply, 1));
  tell(rank, place + offsetof(Reply, done), all.subspan(offsetof(Reply, done), kReplyHead + reply.bytes),
       place, reply.number);
}

Done Runtime::run(const Request& request, Reply& reply) {
  if (request.function >= functions().size()) return Done::refused;
  const Function& function = functions()[request.function];
  if (request.bytes != function.arguments) return Done::refused;
  struct Inside {
    explicit Inside(Runtime& of) : runtime(of) {
      runtime.in_call_ = true;
      runtime.set_view();
    }
    ~Inside() {
      runtime.in_call_ = false;
      runtime.set_view();
    }
    Runtime& runtime;
  };
  const Inside inside(*this);
  try {
    function.run(request.arguments.data(), reply.result.data());
    reply.bytes = function.result;
    return Done::ok;
  } catch (const std::exception& error) {
    if (request.answered == 0) throw;
    put_text(reply, error.what());
  } catch (...) {
    if (request.answered == 0) throw;
    put_text(reply, "something that is no exception");
  }
  return Done::threw;
}

void Runtime::send_call(std::uint32_t who, Request& request) {
  Peer& peer = peers_[who];
  const std::byte* const handled = own_ + other_at(who) + offsetof(Other, handled);
  wait([&] { return peer.sent < word_at(handled) + kCalls; });
  request.number = ++peer.sent;
  request.behind = static_cast<std::uint32_t>(sent_to(who));
  const std::uint64_t place = request_at(rank_, request.number);
  const auto all = std::as_bytes(std::span(&request, 1));
  const auto data = all.subspan(offsetof(Request, function), kRequestHead + request.bytes);
  tell(who, place + offsetof(Request, function), data, place, request.number);
  if (base(who) == nullptr)
    return expect(import(who).write_signal(0, {}, offsetof(Head, calls), 1, Signal::add, kForEver), who);
  // Pairs with Runtime::take_calls there.
  const std::atomic_ref<std::uint64_t> calls(*reinterpret_cast<std::uint64_t*>(base(who)));
  calls.fetch_add(1, std::memory_order_release);
  static_cast<void>(import(who).changed());
}

void Runtime::call(std::uint32_t who, std::uint32_t function, const std::byte* arguments, std::byte* result) {
  go_on();
  outside_of_calls("a call");
  if (who >= ranks_)
    refuse(ErrorCode::invalid_argument, "a call of " + name_of(who) + " of " + std::to_string(ranks_));
  leave();
  Request request;
  request.function = function;
  request.bytes = functions()[function].arguments;
  request.answered = result != nullptr;
  std::memcpy(request.arguments.data(), arguments, request.bytes);
  Reply reply;
  if (who == rank_) {
    reply.done = run(request, reply);
  } else {
    send_call(who, request);
    if (result == nullptr) return;
    const std::byte* const at = own_ + other_at(who) + offsetof(Other, reply);
    const std::byte* const behind = own_ + other_at(who) + offsetof(Other, behind);
    wait([&] {
      return word_at(at) == request.number && has_handled(who, static_cast<std::uint32_t>(word_at(behind)));
    });
    base::copy_from_shared(reinterpret_cast<std::byte*>(&reply), at, sizeof reply);
  }
  if (reply.done == Done::ok) {
    if (result != nullptr) std::memcpy(result, reply.result.data(), functions()[function].result);
    return;
  }
  if (reply.done == Done::threw)
    refuse(ErrorCode::not_permitted, "a function threw at " + name_of(who) + ": " +
                                         std::string(reinterpret_cast<const char*>(reply.result.data()),
                                                     std::min<std::size_t>(reply.bytes, kMostResult)));
  refuse(ErrorCode::invalid_argument, name_of(who) + " has no such function");
}

}  // namespace hamlyn::internal_::splitc
