#include "hamlyn/core/interface.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/longest_time.h"
#include "library/control/control.h"
#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {

constexpr std::chrono::microseconds kLongestSpin = std::chrono::seconds{1};
constexpr std::chrono::milliseconds kLongestDead = std::chrono::days{30};  // it stands in 32 bits of a frame

}  // namespace

Interface::Interface() : Interface(Options{}) {}

Interface::Interface(Options options) {
  if (options.mtu < 64 || options.mtu > interface::kPacketLimit || options.mtu % 64 != 0)
    throw Error(ErrorCode::invalid_argument, "mtu must be a multiple of 64 from 64 to 32768");
  if (options.requests < interface::kOutstanding || options.requests > interface::kMostOutstanding)
    throw Error(ErrorCode::invalid_argument, "16 to 64 requests may be under way by a link");
  if (options.links == 0 || options.links > 65536)
    throw Error(ErrorCode::invalid_argument, "links must be 1 to 65536");
  if (options.stall < std::chrono::milliseconds{0} || options.dead < std::chrono::milliseconds{0})
    throw Error(ErrorCode::invalid_argument, "stall and dead are times from 0 on");
  if (options.consent.users.size() + options.consent.groups.size() > Consent::kMost)
    throw Error(ErrorCode::invalid_argument, "consent names at most 16 users and groups");
  if (options.spin < std::chrono::microseconds{0} || options.spin > kLongestSpin)
    throw Error(ErrorCode::invalid_argument, "spin is a time up to one second");
  options.timeout = base::within_clock(options.timeout);
  options.stall = base::within_clock(options.stall);
  options.dead = std::min(options.dead, kLongestDead);
  engine_ = library::with_memory("an interface", [&] { return std::make_unique<library::Engine>(options); });
}

Interface::~Interface() = default;

std::uint64_t Interface::id() const noexcept { return engine_->id(); }

Attachment Interface::attachment() const {
  if (engine_->lock().forked()) return {false, ErrorCode::forked, "a forked child has no interface"};
  return engine_->control().attachment();
}

Status Interface::wait_attached(bool attached, std::chrono::nanoseconds timeout) noexcept {
  const auto ready = [&] { return engine_->attached() == attached ? Status::ok : Status::pending; };
  return engine_->wait(ready, library::deadline_in(timeout));
}

void Interface::publish(std::string_view name, const Ticket& ticket, Rights rights) {
  if (const char* why = invalid(ticket))
    throw Error(ErrorCode::invalid_argument, std::string("the ticket: ") + why);
  library::with_memory("a name", [&] { engine_->control().publish(name, ticket, rights); });
}

void Interface::withdraw(std::string_view name) {
  library::with_memory("a name", [&] { engine_->control().withdraw(name); });
}

Ticket Interface::lookup(std::string_view name, std::chrono::milliseconds timeout, Registrant* who) {
  return lookup(name, LookupOptions{.timeout = timeout}, who);
}

Ticket Interface::lookup(std::string_view name, const LookupOptions& options, Registrant* who) {
  return library::with_memory("a name", [&] { return engine_->control().lookup(name, options, who); });
}

WhyNoLink Interface::why(std::uint64_t peer) const noexcept {
  const base::RunLockGuard guard(engine_->lock());
  if (!guard) return {};
  if (peer == 0) return engine_->core().last_lack();
  const interface::Link* const link = engine_->core().find_link(peer);
  return link != nullptr && link->made() ? WhyNoLink{} : engine_->core().link_ends().last(peer);
}

library::Waiting& Interface::waiting() noexcept { return engine_->waiting(); }

Status Interface::wait_any(bool (*ready)(void*), void* of, std::chrono::nanoseconds timeout) {
  return engine_->wait_any([&] { return ready(of); }, library::deadline_in(timeout));
}

void Interface::changed() noexcept { engine_->look_again(); }

int Interface::descriptor() { return engine_->change_descriptor(); }

void Interface::cancel() noexcept { engine_->cancel(); }

bool Interface::run() noexcept {
  const base::RunLockGuard guard(engine_->lock());
  return guard && engine_->run_for_memory();
}

namespace internal_::library {

NameClaims& name_claims(Interface& interface) noexcept { return interface.engine().name_claims(); }

}  // namespace internal_::library

}  // namespace hamlyn
