// Messages of endpoints: requests, replies, and their handlers; and how a bundle is polled.
#include <algorithm>
#include <cstring>
#include <utility>

#include "am/inside.h"
#include "hamlyn/am/endpoint.h"

namespace hamlyn {

namespace am {

using internal_::am::Kind;

namespace {

constexpr std::size_t kMostAsync = std::size_t{1} << 20;  // bytes that are copied, so as not to wait
constexpr std::uint32_t kPollEach = 8;                    // requests

Result answer(internal_::am::Try tried) noexcept {
  switch (tried) {
    case internal_::am::Try::ok:
      return Result::ok;
    case internal_::am::Try::later:
      return Result::not_sent;
    case internal_::am::Try::bad_argument:
      return Result::bad_argument;
    case internal_::am::Try::resource:
      return Result::resource;
  }
  return Result::bad_argument;
}

bool too_much(std::span<const std::byte> data, Arguments arguments, std::size_t most) noexcept {
  return data.size() > most || arguments.size() > kMostArguments;
}

}  // namespace

// --- handling

template <class Port>
void Endpoint::Inside::Of<Port>::hand_back() noexcept {
  assert_held();
  const Returned returned = machine.take_returned();
  const Handling now(*in.load(std::memory_order_relaxed));
  handing_back = true;
  on_return(returned);
  handing_back = false;
}

template <class Port>
__attribute__((always_inline)) inline void Endpoint::Inside::Of<Port>::handle(Delivery& to) noexcept {
  call_handler(to);
  machine.finish(to);
}

template <class Port>
__attribute__((always_inline)) inline void Endpoint::Inside::Of<Port>::call_handler(Delivery& to) noexcept {
  assert_held();
  const Handling now(*in.load(std::memory_order_relaxed));
  delivery = &to;
  if (to.kind == Kind::get) [[unlikely]] {
    static_cast<void>(machine.reply_long(to, {.kind = Kind::reply_long,
                                              .handler = to.handler,
                                              .arguments = {to.arguments.data(), to.count},
                                              .data = to.data,
                                              .offset = to.offset}));
  } else {
    if (before) [[unlikely]]
      before(token);
    handlers[to.handler](token, {{to.arguments.data(), to.count}, to.data});
    if (after) [[unlikely]]
      after(token);
  }
  delivery = nullptr;
}

template <class Port>
__attribute__((always_inline)) inline bool Endpoint::Inside::Of<Port>::poll() noexcept {
  assert_held();
  if (machine.has_returned()) [[unlikely]] {
    hand_back();
    return true;
  }
  Delivery next_one;
  if (machine.restless()) [[unlikely]] {
    machine.step();
    if (machine.hear_early(next_one)) {
      handle(next_one);
      return true;
    }
  }
  if (!lent.empty()) [[unlikely]]
    release_lent();
  typename Port::Event next;
  if (held) [[unlikely]] {
    next = *std::exchange(held, std::nullopt);
  } else if (!port.poll(next)) {
    return false;
  }
  if (port.hear(machine, next, next_one)) handle(next_one);
  return true;
}

inline bool Bundle::Inside::poll_all() noexcept {
  lock.assert_held();
  const auto poll = [](auto& of) { return of.poll(); };
  if (endpoints.size() == 1) [[likely]]
    return endpoints.front()->with(poll);
  bool found = false;
  // A handler may make endpoints.
  for (std::size_t i = 0; i < endpoints.size(); ++i) found |= endpoints[i]->with(poll);
  return found;
}

Result Bundle::poll() noexcept {
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) [[unlikely]]
    return entry.why();
  static_cast<void>(inside_->poll_all());
  return Result::ok;
}

Result Bundle::poll(std::uint32_t times) noexcept {
  bool left = false;
  return poll(times, left);
}

Result Bundle::poll(std::uint32_t times, bool& left) noexcept {
  left = false;
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) return entry.why();
  do {
    left = times != 0 && inside_->poll_all();
  } while (left && --times != 0);
  return Result::ok;
}

// Under the bundle's lock, inside a wait.
template <class Port>
bool Endpoint::Inside::Of<Port>::look() noexcept {
  assert_held();
  constexpr int kMostAtOnce = 64;
  for (int left = kMostAtOnce; left != 0 && !held; --left) {
    typename Port::Event next;
    if (!port.take(in.load(std::memory_order_relaxed)->waiting, next)) break;
    Delivery none;
    if (port.is_message(next))
      held = next;
    else
      static_cast<void>(port.hear(machine, next, none));
  }
  if (machine.restless()) machine.step();
  return held.has_value() || machine.has_returned() || machine.has_early();
}

bool Bundle::Inside::look() noexcept {
  lock.assert_held();
  bool found = false;
  for (Endpoint::Inside* const each : endpoints) found |= each->with([](auto& of) { return of.look(); });
  return found;
}

template <class Port>
void Endpoint::Inside::Of<Port>::release_lent() noexcept {
  assert_held();
  std::erase_if(lent, [&](const Lent& each) { return machine.moved(each.moving) != Status::pending; });
}

// --- requests

// Sleeps until there is something to handle, or `attempt` ends, whose end is `tried`. False: the interface's
// calls were cancelled.
template <class Attempt>
bool Endpoint::Inside::sleep(Call& call, Attempt attempt, Try& tried) noexcept {
  Bundle::Inside& bundle = call.bundle();
  const auto look = [&] {
    const Bundle::Inside::Guard guard(bundle.lock);
    if (!guard || call.closing()) return Status::ok;  // whoever tries again hears it
    if (in.load(std::memory_order_relaxed) != &bundle || bundle.look()) return Status::ok;
    tried = attempt();
    return tried != Try::later ? Status::ok : Status::pending;
  };
  return bundle.waiting.until(look, {}, call.cancels) != Status::cancelled;
}

template <class Attempt>
Result Endpoint::Inside::until_taken(Call& call, Attempt attempt) noexcept {
  for (;;) {
    bool stays = false, found = false;
    {
      const Entry entry(*this);
      if (!entry || entry.in_handler()) return entry.why();
      stays = call.begin(entry.bundle());
      if (stays) {
        if (call.closing()) return Result::not_init;
        if (const Try tried = attempt(); tried != Try::later) return answer(tried);
        if (!std::exchange(call.waited, true)) with([](auto& of) { ++of.machine.statistics.waits; });
        found = entry.bundle().poll_all();
      }
    }
    if (!stays) {
      call.leave();
      continue;
    }
    if (found) continue;
    Try tried = Try::later;
    if (!sleep(call, attempt, tried)) return Result::not_sent;
    if (tried != Try::later) return answer(tried);
  }
}

__attribute__((always_inline)) inline Result Endpoint::Inside::request(std::uint32_t index,
                                                                       Leaving& leaving) noexcept {
  {
    const Entry entry(*this);
    if (!entry || entry.in_handler()) [[unlikely]]
      return entry.why();
    const Try tried = with([&](auto& of) { return of.machine.request(index, leaving); });
    if (++requests % kPollEach == 0) static_cast<void>(entry.bundle().poll_all());
    if (tried != Try::later) [[likely]]
      return answer(tried);
  }
  Call call(*this);
  return until_taken(call,
                     [&] { return with([&](auto& of) { return of.machine.request(index, leaving); }); });
}

// The data first, then the message.
template <class Port>
Result Endpoint::Inside::Of<Port>::request_long(std::uint32_t index, Leaving& leaving) noexcept {
  Call call(*this);
  Moving moving;
  Result result = until_taken(call, [&] { return machine.begin_long(index, leaving, moving); });
  if (result != Result::ok || moving.pair == 0) return result;
  result = until_taken(call, [&] { return machine.moved(moving) == Status::pending ? Try::later : Try::ok; });
  if (result == Result::ok)
    result = until_taken(call, [&] { return machine.end_long(moving, leaving, false); });
  if (result == Result::ok) return result;
  if (const Entry entry(*this); entry && !machine.cancel(moving)) return Result::ok;
  return result;  // the data is the caller's again
}

// Handles what has come: the other side's segment may be another now.
Result Endpoint::Inside::hear_all() noexcept {
  constexpr int kMost = 256;
  const Entry entry(*this);
  if (!entry || entry.in_handler()) return entry.why();
  with([](auto& of) {
    for (int left = kMost; left != 0 && of.poll(); --left) {
    }
  });
  return Result::ok;
}

template <class Port>
Result Endpoint::Inside::Of<Port>::request_to_async(std::uint32_t index, Leaving& leaving) noexcept {
  assert_held();
  release_lent();
  std::unique_ptr<std::byte[]> copy;
  const std::size_t bytes = leaving.data.size();
  try {
    copy = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(bytes, 1));
    lent.reserve(lent.size() + 1);
  } catch (const std::bad_alloc&) {
    return Result::resource;
  }
  if (bytes != 0) std::memcpy(copy.get(), leaving.data.data(), bytes);
  leaving.data = {copy.get(), bytes};
  Moving moving;
  Result result = answer(machine.begin_long(index, leaving, moving));
  if (result == Result::ok && moving.pair != 0) {
    result = answer(machine.end_long(moving, leaving, true));
    lent.push_back({std::move(copy), moving});  // it has room
  }
  return result;
}

namespace {

internal_::am::Leaving long_request(std::uint64_t offset, HandlerNumber handler,
                                    std::span<const std::byte> data, Arguments arguments) noexcept {
  return {.kind = Kind::request_long,
          .handler = handler,
          .arguments = arguments,
          .data = data,
          .offset = offset,
          .length = data.size()};
}

}  // namespace

Result Endpoint::request(std::uint32_t index, HandlerNumber handler, Arguments arguments) noexcept {
  if (arguments.size() > kMostArguments) [[unlikely]]
    return Result::bad_argument;
  internal_::am::Leaving leaving{.kind = Kind::request_short, .handler = handler, .arguments = arguments};
  return inside_->request(index, leaving);
}

Result Endpoint::request(std::uint32_t index, HandlerNumber handler, std::span<const std::byte> data,
                         Arguments arguments) noexcept {
  if (too_much(data, arguments, kMostMedium)) return Result::bad_argument;
  internal_::am::Leaving leaving{.kind = Kind::request_medium,
                                 .handler = handler,
                                 .arguments = arguments,
                                 .data = data,
                                 .length = data.size()};
  return inside_->request(index, leaving);
}

Result Endpoint::request_to(std::uint32_t index, std::uint64_t offset, HandlerNumber handler,
                            std::span<const std::byte> data, Arguments arguments) noexcept {
  if (too_much(data, arguments, kMostLong)) return Result::bad_argument;
  internal_::am::Leaving leaving = long_request(offset, handler, data, arguments);
  if (const Result heard = inside_->hear_all(); heard != Result::ok) return heard;
  return inside_->with([&](auto& of) { return of.request_long(index, leaving); });
}

Result Endpoint::request_to_async(std::uint32_t index, std::uint64_t offset, HandlerNumber handler,
                                  std::span<const std::byte> data, Arguments arguments) noexcept {
  if (too_much(data, arguments, kMostAsync)) return Result::bad_argument;
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) return entry.why();
  internal_::am::Leaving leaving = long_request(offset, handler, data, arguments);
  const Result result = inside_->with([&](auto& of) { return of.request_to_async(index, leaving); });
  static_cast<void>(entry.bundle().poll_all());
  return result;
}

Result Endpoint::get(std::uint32_t index, std::uint64_t source, HandlerNumber handler, std::uint64_t length,
                     std::uint64_t offset, Arguments arguments) noexcept {
  if (length > kMostLong || arguments.size() > kMostArguments) return Result::bad_argument;
  const auto head = internal_::protocols::in_wire_order(internal_::am::GetHead{source, length, offset});
  internal_::am::Leaving leaving{.kind = Kind::get,
                                 .handler = handler,
                                 .arguments = arguments,
                                 .head = std::as_bytes(std::span(&head, 1)),
                                 .offset = source,
                                 .length = length};
  return inside_->request(index, leaving);
}

// --- replies

Result Token::reply(HandlerNumber handler, Arguments arguments) noexcept {
  return inside_->of->with([&](auto& of) {
    if (of.delivery == nullptr || arguments.size() > kMostArguments) [[unlikely]]
      return Result::bad_argument;
    internal_::am::Leaving leaving{.kind = Kind::reply_short, .handler = handler, .arguments = arguments};
    return answer(of.machine.reply(*of.delivery, leaving));
  });
}

Result Token::reply(HandlerNumber handler, std::span<const std::byte> data, Arguments arguments) noexcept {
  return inside_->of->with([&](auto& of) {
    if (of.delivery == nullptr || too_much(data, arguments, kMostMedium)) return Result::bad_argument;
    internal_::am::Leaving leaving{.kind = Kind::reply_medium,
                                   .handler = handler,
                                   .arguments = arguments,
                                   .data = data,
                                   .length = data.size()};
    return answer(of.machine.reply(*of.delivery, leaving));
  });
}

Result Token::reply_to(std::uint64_t offset, HandlerNumber handler, std::span<const std::byte> data,
                       Arguments arguments) noexcept {
  return inside_->of->with([&](auto& of) {
    if (of.delivery == nullptr || too_much(data, arguments, kMostLong)) return Result::bad_argument;
    return answer(of.machine.reply_long(*of.delivery, {.kind = Kind::reply_long,
                                                       .handler = handler,
                                                       .arguments = arguments,
                                                       .data = data,
                                                       .offset = offset,
                                                       .length = data.size()}));
  });
}

const Name& Token::source() const noexcept {
  static const Name nobody;
  return inside_->of->with(
      [](auto& of) -> const Name& { return of.delivery != nullptr ? of.delivery->pair->name : nobody; });
}
Endpoint* Token::endpoint() const noexcept {
  return inside_->of->with([](auto& of) { return of.delivery != nullptr ? &of.self : nullptr; });
}
Tag Token::tag() const noexcept {
  return inside_->of->with([](auto& of) { return of.delivery != nullptr ? of.delivery->pair->tag : kNoTag; });
}

}  // namespace am

}  // namespace hamlyn
