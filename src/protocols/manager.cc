#include "hamlyn/protocols/manager.h"

#include <string>
#include <utility>

#include "library/with_memory.h"
#include "protocols/dispatcher.h"

namespace hamlyn {

using protocols::Dispatcher;

Manager::Manager() : Manager(Options{}) {}
Manager::Manager(const Options& options)
    : dispatcher_(library::with_memory("a manager", [&] { return std::make_unique<Dispatcher>(options); })) {}
Manager::~Manager() { dispatcher_->close_and_drain(dispatcher_->calls); }

void Manager::publish(std::string_view name, const Seed& seed, Rights rights) {
  if (const char* why = invalid(seed)) throw Error(ErrorCode::seed_invalid, std::string("the seed: ") + why);
  dispatcher_->interface.publish(name, seed.ticket, rights);
}

void Manager::withdraw(std::string_view name) { dispatcher_->interface.withdraw(name); }

Seed Manager::lookup(std::string_view name, std::chrono::milliseconds timeout) {
  dispatcher_->settle_before_other_wait();
  const Seed seed{dispatcher_->interface.lookup(name, timeout)};
  if (seed.kind() == SeedKind::none)
    throw Error(ErrorCode::seed_wrong_kind, "a plain ticket is registered under that name, not a seed");
  return seed;
}

bool Manager::poll() noexcept {
  const Dispatcher::Guard guard(*dispatcher_);
  if (!guard || guard.nested()) return false;
  const bool given = dispatcher_->poll();
  // A look for one receiver may have brought something for another, which may have been looked at before:
  // that counts here, too.
  return std::exchange(happened_by_poll_, dispatcher_->happened()) != dispatcher_->happened() || given;
}

Status Manager::wait(std::chrono::nanoseconds timeout) noexcept { return wait_beyond(happened(), timeout); }

std::uint64_t Manager::happened() const noexcept {
  const Dispatcher::Guard guard(*dispatcher_);
  return dispatcher_->happened();
}

Status Manager::wait_beyond(std::uint64_t known, std::chrono::nanoseconds timeout) noexcept {
  Dispatcher::PendingCall call(*dispatcher_, dispatcher_->calls);
  const auto ready = [&] { return dispatcher_->happened() != known ? Status::ok : Status::pending; };
  return dispatcher_->wait(call, ready, library::deadline_in(timeout));
}

int Manager::descriptor() { return dispatcher_->queue.descriptor(); }
void Manager::cancel() noexcept { dispatcher_->cancel(); }
Interface& Manager::interface() noexcept { return dispatcher_->interface; }
NotificationQueue& Manager::queue() noexcept { return dispatcher_->queue; }
Terminus& Manager::terminus() noexcept { return dispatcher_->terminus; }

}  // namespace hamlyn
