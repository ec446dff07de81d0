// Endpoints: requests, replies, and their handlers; and how a bundle is polled.
#include "hamlyn/am/endpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "am/inside.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace am {

using internal_::am::Kind;

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

constexpr Setting kViCredits{"EndpointOptions::credits",
                             "HAMLYN_AM_CREDITS",
                             internal_::am::kStandardViCredits,
                             1,
                             internal_::am::kMostViCredits,
                             1,
                             "1 to 32 over VIs"};

internal_::am::Limits limits_of(Way way, const EndpointOptions& options) {
  const Setting& credits = way == Way::slots ? kCredits : kViCredits;
  return {.credits = static_cast<std::uint32_t>(value_of(credits, options.credits)),
          .ring = value_of(kRing, options.ring)};
}

// Throws Error: invalid_argument.
Way way_of(const EndpointOptions& options) {
  constexpr std::array<const char*, 4> kNames{"", "slots", "vi", "vi3"};
  if (static_cast<std::size_t>(options.way) >= kNames.size())
    throw Error(ErrorCode::invalid_argument, "EndpointOptions::way is to be one of am::Way");
  if (options.way != Way::standard) return options.way;
  const char* const text = ::secure_getenv("HAMLYN_AM_WAY");
  if (text == nullptr || *text == '\0') return Way::slots;
  const auto found = std::ranges::find(kNames, std::string_view(text));
  if (found != kNames.end()) return static_cast<Way>(found - kNames.begin());
  throw Error(ErrorCode::invalid_argument,
              std::string("HAMLYN_AM_WAY is to be slots, vi or vi3, and is ") + text);
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

std::unique_ptr<Endpoint::Inside> Endpoint::Inside::make(Endpoint& of, Bundle::Inside& bundle,
                                                         const EndpointOptions& options) {
  const Way way = way_of(options);
  const internal_::am::Limits limits = limits_of(way, options);
  if (way == Way::slots) return std::make_unique<Of<internal_::am::SlotsPort>>(of, bundle, way, limits);
  return std::make_unique<Of<internal_::am::ViPort>>(of, bundle, way, limits);
}

Endpoint::Inside::Inside(Endpoint& of, Bundle::Inside& bundle, Way by) noexcept
    : way(by), self(of), in(&bundle), on_return(say_and_end) {
  token.inside_ = &token_inside;
  token_inside.of = this;
}

template <class Port>
void Endpoint::Inside::Of<Port>::hand_back() noexcept {
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
  const auto poll = [](auto& of) { return of.poll(); };
  if (endpoints.size() == 1) [[likely]]
    return endpoints.front()->with(poll);
  bool found = false;
  // A handler may make endpoints, and have them move here.
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
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) return entry.why();
  for (; times != 0 && inside_->poll_all(); --times) {
  }
  return Result::ok;
}

// Under the bundle's lock, inside a wait.
template <class Port>
bool Endpoint::Inside::Of<Port>::look() noexcept {
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
  bool found = false;
  for (Endpoint::Inside* const each : endpoints) found |= each->with([](auto& of) { return of.look(); });
  return found;
}

// Hears what has come, and calls no handler any more.
template <class Port>
void Endpoint::Inside::Of<Port>::hear_the_last() noexcept {
  constexpr int kMostAtOnce = 256;
  for (int left = kMostAtOnce; left != 0; --left) {
    typename Port::Event next;
    Delivery last;
    if (held)
      next = *std::exchange(held, std::nullopt);
    else if (!port.take(in.load(std::memory_order_relaxed)->waiting, next))
      break;
    if (port.hear(machine, next, last)) machine.turn_away(last);
  }
}

template <class Port>
void Endpoint::Inside::Of<Port>::release_lent() noexcept {
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
      if (!std::exchange(call.waited, true)) with([](auto& of) { ++of.machine.statistics.waits; });
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
  if (const Entry entry(*this); entry) machine.cancel(moving);  // the data is the caller's again
  return result;
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
  return inside_->with([&](auto& of) { return of.request_long(index, leaving); });
}

Result Endpoint::request_to_async(std::uint32_t index, std::uint64_t offset, HandlerNumber handler,
                                  std::span<const std::byte> data, Arguments arguments) noexcept {
  if (too_much(data, arguments, kMostAsync)) return Result::bad_argument;
  const Entry entry(*inside_);
  if (!entry || entry.in_handler()) return entry.why();
  internal_::am::Leaving leaving{.kind = Kind::request_long,
                                 .handler = handler,
                                 .arguments = arguments,
                                 .data = data,
                                 .offset = offset,
                                 .length = data.size()};
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

// --- the endpoint

Endpoint::Endpoint(Bundle& bundle, const Options& options)
    : inside_(internal_::library::with_memory(
          "an endpoint", [&] { return Inside::make(*this, *bundle.inside_, options); })) {
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
    return std::ranges::none_of(bundle.endpoints, [&](auto* each) {
      return each->with([&](auto& of) { return of.machine.is_of(name); });
    });
  };
  // Tells those that send here, and waits for a moment until they have heard it.
  const auto told = [&] {
    const Entry entry(bundle);
    if (!entry) return Status::ok;
    return inside_->with([&](auto& of) {
      of.hear_the_last();
      return of.machine.say_bye(answers) ? Status::ok : Status::pending;
    });
  };
  if (told() == Status::pending)
    static_cast<void>(
        bundle.waiting.until(told, internal_::library::deadline_in(100ms), bundle.waiting.cancels()));
  const Entry entry(bundle);
  inside_->with([](auto& of) { of.machine.say_gone(); });
  std::erase(bundle.endpoints, inside_.get());
}

const Name& Endpoint::name() const noexcept {
  return inside_->with([](auto& of) -> const Name& { return of.machine.name(); });
}

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
    return with(what);
  } catch (const std::exception&) {
    return Result::resource;
  }
}

Tag Endpoint::tag() const noexcept {
  const Entry entry(*inside_);
  return inside_->with([](auto& of) { return of.machine.tag(); });
}
Result Endpoint::set_tag(Tag tag) noexcept {
  return inside_->locked([&](auto& of) {
    of.machine.set_tag(tag);
    return Result::ok;
  });
}

Result Endpoint::map(std::uint32_t index, const Name& name, Tag tag) noexcept {
  return inside_->locked([&](auto& of) { return of.machine.map(index, name, tag); });
}
Result Endpoint::map_any(std::uint32_t& index, const Name& name, Tag tag) noexcept {
  return inside_->locked([&](auto& of) { return of.machine.map_any(index, name, tag); });
}
Result Endpoint::unmap(std::uint32_t index) noexcept {
  return inside_->locked([&](auto& of) { return of.machine.unmap(index); });
}
bool Endpoint::mapped(std::uint32_t index) const noexcept {
  const Entry entry(*inside_);
  return inside_->with([&](auto& of) { return of.machine.translation(index) != nullptr; });
}
Result Endpoint::translation(std::uint32_t index, Name& name, Tag& tag) const noexcept {
  return inside_->locked([&](auto& of) {
    const auto* const found = of.machine.translation(index);
    if (found == nullptr) return Result::bad_argument;
    name = found->name;
    tag = found->tag;
    return Result::ok;
  });
}
std::uint32_t Endpoint::translations() const noexcept {
  const Entry entry(*inside_);
  return inside_->with([&](auto& of) { return of.machine.translations(); });
}
Result Endpoint::set_translations(std::uint32_t count) noexcept {
  return inside_->locked([&](auto& of) { return of.machine.set_translations(count); });
}

Result Endpoint::set_handler(HandlerNumber number, Handler handler) noexcept {
  return inside_->locked([&](auto& of) {
    if (number == 0 || number >= of.handler_count) return Result::bad_argument;
    if (of.delivery != nullptr && of.delivery->handler == number) return Result::in_use;
    of.machine.set_handler(number, handler != nullptr);
    of.handlers[number] = std::move(handler);
    return Result::ok;
  });
}
Result Endpoint::set_handler_any(HandlerNumber& number, Handler handler) noexcept {
  return inside_->locked([&](auto& of) {
    std::uint32_t free = 1;
    while (free != inside_->handler_count && of.machine.has_handler(static_cast<HandlerNumber>(free))) ++free;
    if (free == inside_->handler_count) return Result::resource;
    number = static_cast<HandlerNumber>(free);
    of.machine.set_handler(number, handler != nullptr);
    of.handlers[number] = std::move(handler);
    return Result::ok;
  });
}
std::uint32_t Endpoint::handlers() const noexcept {
  const Entry entry(*inside_);
  return inside_->handler_count;
}
Result Endpoint::set_handlers(std::uint32_t count) noexcept {
  return inside_->locked([&](auto& of) {
    if (count == 0 || count > kHandlers) return Result::bad_argument;
    if (of.calls_out()) return Result::in_use;
    for (std::uint32_t number = count; number < inside_->handler_count; ++number) {
      of.machine.set_handler(static_cast<HandlerNumber>(number), false);
      of.handlers[number] = nullptr;
    }
    inside_->handler_count = count;
    return Result::ok;
  });
}
Result Endpoint::on_return(ReturnHandler handler) noexcept {
  return inside_->locked([&](auto& of) {
    if (of.calls_out()) return Result::in_use;
    of.on_return = handler != nullptr ? std::move(handler) : say_and_end;
    return Result::ok;
  });
}
Result Endpoint::set_hooks(Hook before, Hook after) noexcept {
  return inside_->locked([&](auto& of) {
    if (of.calls_out()) return Result::in_use;
    of.before = std::move(before);
    of.after = std::move(after);
    return Result::ok;
  });
}

Result Endpoint::set_segment(std::span<std::byte> memory) noexcept {
  return inside_->locked([&](auto& of) { return of.machine.set_segment(memory); });
}
std::span<std::byte> Endpoint::segment() const noexcept {
  const Entry entry(*inside_);
  return inside_->with([&](auto& of) { return of.machine.segment(); });
}
Statistics Endpoint::statistics() const noexcept {
  const Entry entry(*inside_);
  return inside_->with([&](auto& of) { return of.machine.statistics; });
}

}  // namespace am

}  // namespace hamlyn
