#include "hamlyn/protocols/receiver.h"

#include "protocols/dispatcher.h"

namespace hamlyn {

using protocols::Dispatcher;
using protocols::throw_forked;

Receiver::Receiver(Manager& manager) : manager_(manager), calls_(std::make_unique<base::PendingCalls>()) {}
Receiver::~Receiver() { retire(); }

void Receiver::attach(const Slot& slot) {
  const Dispatcher::Guard guard(manager_.inside());
  if (!guard) throw_forked();
  manager_.inside().add(slot.number(), *this);
}

void Receiver::detach(const Slot& slot) noexcept {
  const Dispatcher::Guard guard(manager_.inside());
  if (guard) manager_.inside().remove(slot.number());
}

void Receiver::retire() noexcept { manager_.inside().retire(*this); }

}  // namespace hamlyn
