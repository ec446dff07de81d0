// Bundles, and waiting for messages. messages.cc has how they are polled.
#include "am/inside.h"
#include "base/assert.h"
#include "library/wait/deadline.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace am {

const char* name(Result result) noexcept {
  constexpr const char* kNames[] = {"ok", "not_init", "bad_argument", "resource", "not_sent", "in_use"};
  const auto at = static_cast<std::size_t>(result);
  return at < std::size(kNames) ? kNames[at] : "unknown";
}

const char* name(Why why) noexcept {
  constexpr const char* kNames[] = {"none",        "bad_arguments", "bad_entry",     "bad_tag",
                                    "bad_handler", "bad_offset",    "bad_length",    "bad_endpoint",
                                    "congestion",  "unreachable",   "reply_rejected"};
  const auto at = static_cast<std::size_t>(why);
  return at < std::size(kNames) ? kNames[at] : "unknown";
}

const char* name(Operation operation) noexcept {
  constexpr const char* kNames[] = {"none",        "request_short", "request_medium", "request_long",
                                    "reply_short", "reply_medium",  "reply_long",     "get"};
  const auto at = static_cast<std::size_t>(operation);
  return at < std::size(kNames) ? kNames[at] : "unknown";
}

Bundle::Bundle(Interface& interface, const Options& options)
    : inside_(internal_::library::with_memory(
          "a bundle", [&] { return std::make_shared<Inside>(interface, options.events); })) {
  if (inside_->waiting.forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
}

Bundle::~Bundle() {
  HAMLYN_ASSERT(!Handling::bars(inside_->interface), "a handler keeps its bundle");
  static_cast<void>(
      inside_->calls.close_and_drain<Inside::Guard>(inside_->lock, [&] { inside_->waiting.changed(); }));
}

bool Bundle::events() const noexcept { return inside_->events.load(std::memory_order_relaxed); }
void Bundle::set_events(bool wanted) noexcept { inside_->events.store(wanted, std::memory_order_relaxed); }

Result Bundle::wait(std::chrono::nanoseconds timeout) noexcept {
  if (const Entry entry(*inside_); !entry || entry.in_handler()) return entry.why();
  if (!events()) return Result::bad_argument;
  Inside::Pending pending(inside_->lock, inside_->calls);
  if (!pending.enter()) return Result::not_init;
  const std::uint32_t cancels = inside_->waiting.cancels();
  const auto look = [&] {
    const Inside::Guard guard(inside_->lock);
    if (!guard || pending.closing()) return Status::cancelled;
    return inside_->look() ? Status::ok : Status::pending;
  };
  const Status status = inside_->waiting.until(look, internal_::library::deadline_in(timeout), cancels);
  if (status == Status::ok) return Result::ok;
  return status == Status::forked || pending.closing() ? Result::not_init : Result::not_sent;
}

Interface& Bundle::interface() noexcept { return inside_->interface; }

}  // namespace am

}  // namespace hamlyn
