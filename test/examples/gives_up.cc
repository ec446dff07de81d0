// A client that gives a message up before it is whole, as one that dies in the middle of it does, and then
// sends another.
//
//   gives_up NAME     to the datagram receiver that was published as NAME
#include <cstdio>

#include "hamlyn/hamlyn.h"
#include "interface/core.h"
#include "library/engine.h"

namespace {

using namespace hamlyn;
using namespace std::chrono_literals;

bool give_up(Manager& manager, const Ticket& ticket) {
  if (manager.terminus().connect(ticket, 30s) != Status::ok) return false;
  library::Engine& engine = manager.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  interface::Link* const link = engine.core().find_link(ticket.interface);
  if (link == nullptr) return false;
  engine.core().abandon(*link, ticket, engine.core().next_message(), 1, 0);
  return true;
}

}  // namespace

int main(int, char** words) {
  try {
    Manager manager;
    const Seed door = manager.lookup(words[1]);
    DatagramSender sender{manager, door};
    Status status = give_up(manager, door.ticket) ? Status::not_ready : Status::link_ended;
    while (status == Status::not_ready) status = sender.deliver({}, 30s);
    std::puts(name(status));
    return status == Status::ok ? 0 : 1;
  } catch (const Error& error) {
    std::puts(error.what());
    return 1;
  }
}
