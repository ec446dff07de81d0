// Endpoints: requests, replies, and their handlers; and how a bundle is polled.
#include "hamlyn/am/endpoint.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "am/inside.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace am {

using internal_::am::Kind;
using internal_::am::SlotsPort;

namespace {

constexpr std::size_t kMostAsync = std::size_t{1} << 20;  // bytes that are copied, so as not to wait
constexpr std::uint32_t kPollEach = 8;                    // requests

// The default for what comes back: a program that sends to whom it cannot is wrong. Whoever asked it for
// something and does not take the answer must not end it.
void say_and_end(const Returned& returned) {
  if (returned.operation >= Operation::reply_short && returned.operation <= Operation::reply_long) return;
  std::fprintf(stderr, "hamlyn: active message: %s to handler %u has come back: %s\n",
               name(returned.operation), static_cast<unsigned>(returned.handler), name(returned.why));
  std::_Exit(1);  // locks are held: nothing else of the program is to run
}

// A setting of an endpoint: an option, or a variable of the environment if that is 0.
struct Setting {
  const char* option;
  const char* variable;
  std::size_t otherwise;
  std::size_t least, most, multiple_of;
  const char* range;
};
constexpr Setting kCredits{
    "EndpointOptions::credits", "HAMLYN_AM_CREDITS", 128, 1, internal_::am::kMostCredits, 1, "1 to 512"};
constexpr Setting kRing{"EndpointOptions::ring",
                        "HAMLYN_AM_RING",
                        65536,
                        internal_::am::kLeastRing,
                        internal_::am::kMostRing,
                        internal_::am::kUnit,
                        "32768 to 1048576 bytes, a multiple of 64"};

// Throws Error: invalid_argument, with the setting's name, its range, and what it is.
std::size_t value_of(const Setting& setting, std::size_t option) {
  const char* text = option == 0 ? std::getenv(setting.variable) : nullptr;
  if (text != nullptr && *text == '\0') text = nullptr;
  std::size_t value = option != 0 ? option : setting.otherwise;
  bool good = true;
  if (text != nullptr) {
    const char* const end = text + std::strlen(text);
    const std::from_chars_result read = std::from_chars(text, end, value);
    good = read.ec == std::errc{} && read.ptr == end;
  }
  if (good && value >= setting.least && value <= setting.most && value % setting.multiple_of == 0)
    return value;
  throw Error(ErrorCode::invalid_argument, std::string(text != nullptr ? setting.variable : setting.option) +
                                               " is to be " + setting.range + ", and is " +
                                               (text != nullptr ? text : std::to_string(value)));
}

internal_::am::Limits limits_of(const EndpointOptions& options) {
  return {.credits = static_cast<std::uint32_t>(value_of(kCredits, options.credits)),
          .ring = value_of(kRing, options.ring)};
}

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

Endpoint::Inside::Inside(Endpoint& of, Bundle::Inside& bundle, const internal_::am::Limits& limits)
    : self(of), in(&bundle), port(bundle.interface), machine(port, limits), on_return(say_and_end) {
  token.inside_ = &token_inside;
  token_inside.of = this;
}

void Endpoint::Inside::hand_back() noexcept {
  const Returned returned = machine.take_returned();
  const Handling now(*in.load(std::memory_order_relaxed));
  handing_back = true;
  on_return(returned);
  handing_back = false;
}

// Whether functions run that were given to this endpoint. They must stay until they have returned.
bool Endpoint::Inside::calls_out() const noexcept { return token_inside.delivery != nullptr || handing_back; }

__attribute__((always_inline)) inline void Endpoint::Inside::handle(Delivery& delivery) noexcept {
  call_handler(delivery);
  machine.finish(delivery);
}

__attribute__((always_inline)) inline void Endpoint::Inside::call_handler(Delivery& delivery) noexcept {
  const Handling now(*in.load(std::memory_order_relaxed));
  token_inside.delivery = &delivery;
  if (delivery.kind == Kind::get) [[unlikely]] {
    static_cast<void>(machine.reply_long(delivery, {.kind = Kind::reply_long,
                                                    .handler = delivery.handler,
                                                    .arguments = {delivery.arguments.data(), delivery.count},
                                                    .data = delivery.data,
                                                    .offset = delivery.offset}));
  } else {
    if (before) [[unlikely]]
      before(token);
    handlers[delivery.handler](token, {{delivery.arguments.data(), delivery.count}, delivery.data});
    if (after) [[unlikely]]
      after(token);
  }
  token_inside.delivery = nullptr;
}

__attribute__((always_inline)) inline bool Endpoint::Inside::poll() noexcept {
  if (machine.has_returned()) [[unlikely]] {
    hand_back();
    return true;
  }
  Delivery delivery;
  if (machine.restless()) [[unlikely]] {
    machine.step();
    if (machine.hear_early(delivery)) {
      handle(delivery);
      return true;
    }
  }
  if (!lent.empty()) [[unlikely]]
    release_lent();
  Notification next;
  if (held) [[unlikely]] {
    next = *std::exchange(held, std::nullopt);
  } else if (!port.poll(next)) {
    return false;
  }
  if (port.hear(machine, next, delivery)) handle(delivery);
  return true;
}

inline bool Bundle::Inside::poll_all() noexcept {
  if (endpoints.size() == 1) [[likely]]
    return endpoints.front()->poll();
  bool found = false;
  // A handler may make endpoints, and have them move here.
  for (std::size_t i = 0; i < endpoints.size(); ++i) found |= endpoints[i]->poll();
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
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) return entry.why();
  for (; times != 0 && inside_->poll_all(); --times) {
  }
  return Result::ok;
}

// Under the bundle's lock, inside a wait.
bool Endpoint::Inside::look() noexcept {
  constexpr int kMostAtOnce = 64;
  for (int left = kMostAtOnce; left != 0 && !held; --left) {
    Notification next;
    if (!port.take(in.load(std::memory_order_relaxed)->waiting, next)) break;
    Delivery delivery;
    if (port.is_message(next))
      held = next;
    else
      static_cast<void>(port.hear(machine, next, delivery));
  }
  if (machine.restless()) machine.step();
  return held.has_value() || machine.has_returned() || machine.has_early();
}

// Hears what has come, and calls no handler any more.
void Endpoint::Inside::hear_the_last() noexcept {
  constexpr int kMostAtOnce = 256;
  for (int left = kMostAtOnce; left != 0; --left) {
    Notification next;
    Delivery delivery;
    if (held)
      next = *std::exchange(held, std::nullopt);
    else if (!port.take(in.load(std::memory_order_relaxed)->waiting, next))
      break;
    if (port.hear(machine, next, delivery)) machine.turn_away(delivery);
  }
}

void Endpoint::Inside::release_lent() noexcept {
  std::erase_if(lent, [&](const Lent& each) { return machine.moved(each.moving) != Status::pending; });
}

// --- requests

// Sleeps until there is something to handle, or `attempt` ends, whose end is `tried`.
template <class Attempt>
void Endpoint::Inside::sleep(Call& call, Attempt attempt, Try& tried) noexcept {
  Bundle::Inside& bundle = call.bundle();
  const auto look = [&] {
    const Bundle::Inside::Guard guard(bundle.lock);
    if (!guard || call.closing()) return Status::cancelled;
    if (in.load(std::memory_order_relaxed) != &bundle || bundle.look()) return Status::ok;
    tried = attempt();
    return tried != Try::later ? Status::ok : Status::pending;
  };
  static_cast<void>(bundle.waiting.until(look, {}, bundle.waiting.cancels()));
}

template <class Attempt>
Result Endpoint::Inside::until_taken(Call& call, Attempt attempt) noexcept {
  for (;;) {
    bool stays = false, found = false;
    {
      const Entry entry(*this);
      if (!entry || entry.in_handler()) return entry.why();
      stays = call.begin(entry.bundle());
      if (call.closing()) return Result::not_init;
      if (const Try tried = attempt(); tried != Try::later) return answer(tried);
      if (!std::exchange(call.waited, true)) ++machine.statistics.waits;
      found = entry.bundle().poll_all();
    }
    if (!stays) {
      call.leave();
      continue;
    }
    if (found) continue;
    Try tried = Try::later;
    sleep(call, attempt, tried);
    if (tried != Try::later) return answer(tried);
  }
}

__attribute__((always_inline)) inline Result Endpoint::Inside::request(std::uint32_t index,
                                                                       Leaving& leaving) noexcept {
  {
    const Entry entry(*this);
    if (!entry || entry.in_handler()) [[unlikely]]
      return entry.why();
    const Try tried = machine.request(index, leaving);
    if (++requests % kPollEach == 0) static_cast<void>(entry.bundle().poll_all());
    if (tried != Try::later) [[likely]]
      return answer(tried);
  }
  Call call(*this);
  return until_taken(call, [&] { return machine.request(index, leaving); });
}

// The data first, then the message.
Result Endpoint::Inside::request_long(std::uint32_t index, Leaving& leaving) noexcept {
  Call call(*this);
  Moving moving;
  Result result = until_taken(call, [&] { return machine.begin_long(index, leaving, moving); });
  if (result != Result::ok || moving.pair == 0) return result;
  result = until_taken(call, [&] { return machine.moved(moving) == Status::pending ? Try::later : Try::ok; });
  if (result == Result::ok)
    result = until_taken(call, [&] { return machine.end_long(moving, leaving, false); });
  if (result == Result::ok) return result;
  if (const Entry entry(*this); entry) machine.cancel(moving);  // the data is the caller's again
  return result;
}

// Handles what has come: the other side's segment may be another now.
Result Endpoint::Inside::hear_all() noexcept {
  constexpr int kMost = 256;
  const Entry entry(*this);
  if (!entry || entry.in_handler()) return entry.why();
  for (int left = kMost; left != 0 && poll(); --left) {
  }
  return Result::ok;
}

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
  internal_::am::Leaving leaving{.kind = Kind::request_long,
                                 .handler = handler,
                                 .arguments = arguments,
                                 .data = data,
                                 .offset = offset,
                                 .length = data.size()};
  if (const Result heard = inside_->hear_all(); heard != Result::ok) return heard;
  return inside_->request_long(index, leaving);
}

Result Endpoint::request_to_async(std::uint32_t index, std::uint64_t offset, HandlerNumber handler,
                                  std::span<const std::byte> data, Arguments arguments) noexcept {
  if (too_much(data, arguments, kMostAsync)) return Result::bad_argument;
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) return entry.why();
  inside_->release_lent();
  std::unique_ptr<std::byte[]> copy;
  try {
    copy = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(data.size(), 1));
    inside_->lent.reserve(inside_->lent.size() + 1);
  } catch (const std::bad_alloc&) {
    return Result::resource;
  }
  if (!data.empty()) std::memcpy(copy.get(), data.data(), data.size());
  internal_::am::Leaving leaving{.kind = Kind::request_long,
                                 .handler = handler,
                                 .arguments = arguments,
                                 .data = {copy.get(), data.size()},
                                 .offset = offset,
                                 .length = data.size()};
  Inside::Moving moving;
  Result result = answer(inside_->machine.begin_long(index, leaving, moving));
  if (result == Result::ok && moving.pair != 0) {
    result = answer(inside_->machine.end_long(moving, leaving, true));
    inside_->lent.push_back({std::move(copy), moving});  // it has room
  }
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
  if (inside_->delivery == nullptr || arguments.size() > kMostArguments) [[unlikely]]
    return Result::bad_argument;
  internal_::am::Leaving leaving{.kind = Kind::reply_short, .handler = handler, .arguments = arguments};
  return answer(inside_->of->machine.reply(*inside_->delivery, leaving));
}

Result Token::reply(HandlerNumber handler, std::span<const std::byte> data, Arguments arguments) noexcept {
  if (inside_->delivery == nullptr || too_much(data, arguments, kMostMedium)) return Result::bad_argument;
  internal_::am::Leaving leaving{.kind = Kind::reply_medium,
                                 .handler = handler,
                                 .arguments = arguments,
                                 .data = data,
                                 .length = data.size()};
  return answer(inside_->of->machine.reply(*inside_->delivery, leaving));
}

Result Token::reply_to(std::uint64_t offset, HandlerNumber handler, std::span<const std::byte> data,
                       Arguments arguments) noexcept {
  if (inside_->delivery == nullptr || too_much(data, arguments, kMostLong)) return Result::bad_argument;
  return answer(inside_->of->machine.reply_long(*inside_->delivery, {.kind = Kind::reply_long,
                                                                     .handler = handler,
                                                                     .arguments = arguments,
                                                                     .data = data,
                                                                     .offset = offset,
                                                                     .length = data.size()}));
}

const Name& Token::source() const noexcept {
  static const Name nobody;
  return inside_->delivery != nullptr ? inside_->delivery->pair->name : nobody;
}
Endpoint* Token::endpoint() const noexcept {
  return inside_->delivery != nullptr ? &inside_->of->self : nullptr;
}
Tag Token::tag() const noexcept {
  return inside_->delivery != nullptr ? inside_->delivery->pair->tag : kNoTag;
}

// --- the endpoint

Endpoint::Endpoint(Bundle& bundle, const Options& options)
    : inside_(internal_::library::with_memory("an endpoint", [&] {
        return std::make_unique<Inside>(*this, *bundle.inside_, limits_of(options));
      })) {
  const Entry entry(*bundle.inside_);
  if (!entry) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  internal_::library::with_memory("an endpoint", [&] {
    bundle.inside_->endpoints.push_back(inside_.get());
    return 0;
  });
}

Endpoint::~Endpoint() {
  using namespace std::chrono_literals;
  Bundle::Inside& bundle = *inside_->in.load(std::memory_order_acquire);
  if (bundle.waiting.forked()) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  static_cast<void>(inside_->calls.close_and_drain<Entry>(*inside_, [&] { bundle.waiting.changed(); }));
  // Nobody polls those of the same bundle meanwhile.
  const auto answers = [&](const Name& name) {
    return std::ranges::none_of(bundle.endpoints, [&](const auto* of) { return of->machine.is_of(name); });
  };
  // Tells those that send here, and waits for a moment until they have heard it.
  const auto told = [&] {
    const Entry entry(bundle);
    if (!entry) return Status::ok;
    inside_->hear_the_last();
    return inside_->machine.say_bye(answers) ? Status::ok : Status::pending;
  };
  if (told() == Status::pending)
    static_cast<void>(
        bundle.waiting.until(told, internal_::library::deadline_in(100ms), bundle.waiting.cancels()));
  const Entry entry(bundle);
  inside_->machine.say_gone();
  std::erase(bundle.endpoints, inside_.get());
}

const Name& Endpoint::name() const noexcept { return inside_->machine.name(); }

Result Endpoint::move_to(Bundle& to) noexcept {
  Bundle::Inside& other = *to.inside_;
  for (;;) {
    Bundle::Inside* from = nullptr;
    {
      const Entry here(*inside_);
      if (!here || here.in_handler()) return here.why();
      from = &here.bundle();
    }
    if (from == &other) return Result::ok;
    if (&from->interface != &other.interface) return Result::bad_argument;
    // Two threads that move endpoints to and fro take the locks in the same order.
    const bool first = std::less<>{}(from, &other);
    const Entry one(first ? *from : other);
    const Entry two(first ? other : *from);
    if (!one || !two) return one ? two.why() : one.why();
    if (inside_->in.load(std::memory_order_relaxed) != from) continue;  // another thread has moved it
    return inside_->move(*from, other);
  }
}

// Under the locks of both.
Result Endpoint::Inside::move(Bundle::Inside& from, Bundle::Inside& to) noexcept {
  try {
    to.endpoints.push_back(this);
  } catch (const std::bad_alloc&) {
    return Result::resource;
  }
  std::erase(from.endpoints, this);
  in.store(&to, std::memory_order_release);
  to.waiting.changed();
  return Result::ok;
}

// Does `what` under the lock; memory that has run out is resource.
template <class What>
Result Endpoint::Inside::locked(What what) noexcept {
  const Entry entry(*this);
  if (!entry) return entry.why();
  try {
    return what();
  } catch (const std::exception&) {
    return Result::resource;
  }
}

Tag Endpoint::tag() const noexcept {
  const Entry entry(*inside_);
  return inside_->machine.tag();
}
Result Endpoint::set_tag(Tag tag) noexcept {
  return inside_->locked([&] {
    inside_->machine.set_tag(tag);
    return Result::ok;
  });
}

Result Endpoint::map(std::uint32_t index, const Name& name, Tag tag) noexcept {
  return inside_->locked([&] { return inside_->machine.map(index, name, tag); });
}
Result Endpoint::map_any(std::uint32_t& index, const Name& name, Tag tag) noexcept {
  return inside_->locked([&] { return inside_->machine.map_any(index, name, tag); });
}
Result Endpoint::unmap(std::uint32_t index) noexcept {
  return inside_->locked([&] { return inside_->machine.unmap(index); });
}
bool Endpoint::mapped(std::uint32_t index) const noexcept {
  const Entry entry(*inside_);
  return inside_->machine.translation(index) != nullptr;
}
Result Endpoint::translation(std::uint32_t index, Name& name, Tag& tag) const noexcept {
  return inside_->locked([&] {
    const Inside::Machine::Translation* const found = inside_->machine.translation(index);
    if (found == nullptr) return Result::bad_argument;
    name = found->name;
    tag = found->tag;
    return Result::ok;
  });
}
std::uint32_t Endpoint::translations() const noexcept {
  const Entry entry(*inside_);
  return inside_->machine.translations();
}
Result Endpoint::set_translations(std::uint32_t count) noexcept {
  return inside_->locked([&] { return inside_->machine.set_translations(count); });
}

Result Endpoint::set_handler(HandlerNumber number, Handler handler) noexcept {
  return inside_->locked([&] {
    if (number == 0 || number >= inside_->handler_count) return Result::bad_argument;
    const Token::Inside& now = inside_->token_inside;
    if (now.delivery != nullptr && now.delivery->handler == number) return Result::in_use;
    inside_->machine.set_handler(number, handler != nullptr);
    inside_->handlers[number] = std::move(handler);
    return Result::ok;
  });
}
Result Endpoint::set_handler_any(HandlerNumber& number, Handler handler) noexcept {
  return inside_->locked([&] {
    std::uint32_t free = 1;
    while (free != inside_->handler_count && inside_->machine.has_handler(static_cast<HandlerNumber>(free)))
      ++free;
    if (free == inside_->handler_count) return Result::resource;
    number = static_cast<HandlerNumber>(free);
    inside_->machine.set_handler(number, handler != nullptr);
    inside_->handlers[number] = std::move(handler);
    return Result::ok;
  });
}
std::uint32_t Endpoint::handlers() const noexcept {
  const Entry entry(*inside_);
  return inside_->handler_count;
}
Result Endpoint::set_handlers(std::uint32_t count) noexcept {
  return inside_->locked([&] {
    if (count == 0 || count > kHandlers) return Result::bad_argument;
    if (inside_->calls_out()) return Result::in_use;
    for (std::uint32_t number = count; number < inside_->handler_count; ++number) {
      inside_->machine.set_handler(static_cast<HandlerNumber>(number), false);
      inside_->handlers[number] = nullptr;
    }
    inside_->handler_count = count;
    return Result::ok;
  });
}
Result Endpoint::on_return(ReturnHandler handler) noexcept {
  return inside_->locked([&] {
    if (inside_->calls_out()) return Result::in_use;
    inside_->on_return = handler != nullptr ? std::move(handler) : say_and_end;
    return Result::ok;
  });
}
Result Endpoint::set_hooks(Hook before, Hook after) noexcept {
  return inside_->locked([&] {
    if (inside_->calls_out()) return Result::in_use;
    inside_->before = std::move(before);
    inside_->after = std::move(after);
    return Result::ok;
  });
}

Result Endpoint::set_segment(std::span<std::byte> memory) noexcept {
  return inside_->locked([&] { return inside_->machine.set_segment(memory); });
}
std::span<std::byte> Endpoint::segment() const noexcept {
  const Entry entry(*inside_);
  return inside_->machine.segment();
}
Statistics Endpoint::statistics() const noexcept {
  const Entry entry(*inside_);
  return inside_->machine.statistics;
}

}  // namespace am

}  // namespace hamlyn
