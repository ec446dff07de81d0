// Endpoints: how they are made, moved and end, and what they know: mappings, handlers, a segment.
#include "hamlyn/am/endpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "am/inside.h"
#include "am/settings.h"
#include "base/assert.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace am {

namespace {

// The default for what comes back: a program that sends to whom it cannot is wrong. A reply that comes back
// does not end the program: its asker, who has not taken it, is not to be able to.
void say_and_end(const Returned& returned) {
  if (returned.operation >= Operation::reply_short && returned.operation <= Operation::reply_long) return;
  std::fprintf(stderr, "hamlyn: active message: %s to handler %u has come back: %s\n",
               name(returned.operation), static_cast<unsigned>(returned.handler), name(returned.why));
  std::_Exit(1);  // locks are held: nothing else of the program is to run
}

}  // namespace

// --- how they begin and end

std::unique_ptr<Endpoint::Inside> Endpoint::Inside::make(Endpoint& of, Bundle::Inside& bundle,
                                                         const EndpointOptions& options) {
  const Way way = internal_::am::way_of(options);
  const internal_::am::Limits limits = internal_::am::limits_of(way, options);
  if (way == Way::slots) return std::make_unique<Of<internal_::am::SlotsPort>>(of, bundle, way, limits);
  return std::make_unique<Of<internal_::am::ViPort>>(of, bundle, way, limits);
}

Endpoint::Inside::Inside(Endpoint& of, Bundle::Inside& bundle, Way by) noexcept
    : way(by), self(of), in(&bundle), on_return(say_and_end) {
  token.inside_ = &token_inside;
  token_inside.of = this;
}

// Hears what has come, and calls no handler any more.
template <class Port>
void Endpoint::Inside::Of<Port>::hear_the_last() noexcept {
  assert_held();
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

Endpoint::Endpoint(Bundle& bundle, const Options& options)
    : inside_(internal_::library::with_memory(
          "an endpoint", [&] { return Inside::make(*this, *bundle.inside_, options); })) {
  const Entry entry(*bundle.inside_);
  if (!entry && Handling::bars(bundle.inside_->interface))
    throw Error(ErrorCode::invalid_argument, "a handler makes endpoints in its own bundle alone");
  if (!entry) throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  internal_::library::with_memory("an endpoint", [&] {
    inside_->been_in.push_back(bundle.inside_);
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
  HAMLYN_ASSERT(!Handling::bars(bundle.interface), "calls that a handler waits for would never leave");
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
  from.lock.assert_held();
  to.lock.assert_held();
  try {
    const std::shared_ptr<Bundle::Inside> kept = to.shared_from_this();
    if (std::ranges::find(been_in, kept) == been_in.end()) been_in.push_back(kept);
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
  return entry ? inside_->with([](auto& of) { return of.machine.tag(); }) : kNoTag;
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
  return entry && inside_->with([&](auto& of) { return of.machine.translation(index) != nullptr; });
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
  return entry ? inside_->with([&](auto& of) { return of.machine.translations(); }) : 0;
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
  return entry ? inside_->handler_count : 0;
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
  const bool all = internal_::am::is_address_space(memory);
  return inside_->locked([&](auto& of) {
    if (all && (!of.machine.is_member() || !internal_::am::AddressSpace::is_dumpable()))
      return Result::bad_argument;
    if (all && !internal_::am::AddressSpace::works()) return Result::resource;
    return of.machine.set_segment(memory);
  });
}
std::span<std::byte> Endpoint::segment() const noexcept {
  const Entry entry(*inside_);
  return entry ? inside_->with([&](auto& of) { return of.machine.segment(); }) : std::span<std::byte>{};
}
Statistics Endpoint::statistics() const noexcept {
  const Entry entry(*inside_);
  return entry ? inside_->with([&](auto& of) { return of.machine.statistics; }) : Statistics{};
}

}  // namespace am

}  // namespace hamlyn
