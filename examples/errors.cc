// Errors that a receiver is told of: a message that lost its rest, an entry whose time has
// passed, packets that were refused; and what its sender is told when the receiver goes.
//
//   errors         receives; starts itself a second time as a sender that does all of that
//   errors NAME    that sender
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

void receive(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, std::size_t{64} << 20};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = 2}};
  // Entry 1 waits for nobody in particular, and not for ever.
  check(slot.fail_after(1, 100ms));
  interface.publish(name, slot.ticket(0));

  bool abandoned = false, timed_out = false, refused = false;
  hamlyn::Notification n;
  while (!(abandoned && timed_out && refused)) {
    check(queue.receive(n, 30s));
    switch (n.kind) {
      case hamlyn::Notification::Kind::message:
        abandoned = true;  // it was whole before its sender could give it up
        break;
      case hamlyn::Notification::Kind::failed:
        // The part that has landed is not to be used. Its late packets are refused; the entry may be armed
        // again.
        std::printf("entry %u failed: %s\n", n.entry, hamlyn::name(n.failure()));
        abandoned |= n.failure() == hamlyn::Failure::abandoned;
        timed_out |= n.failure() == hamlyn::Failure::timed_out;
        break;
      case hamlyn::Notification::Kind::protocol_error:
      case hamlyn::Notification::Kind::resource_exhausted:  // the same, where something here has run out
        // One notification for many: `word` says how many, since the one before of this peer and cause.
        std::printf("refused: %s\n", hamlyn::name(n.cause));
        refused = true;
        break;
      default:
        break;
    }
  }
}  // and the interface goes, which ends its links

int receive_from_second_process() {
  const std::string name = "errors." + std::to_string(getpid());
  SecondProcess sender{name};
  receive(name);
  return sender.wait() ? 0 : 1;
}

int send(const char* name) {
  hamlyn::Interface interface;
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Ticket ticket = interface.lookup(name, 30s);
  hamlyn::Terminus terminus{interface};
  check(terminus.connect(ticket, 30s));

  // Half of a message leaves; then its sender has had enough, and says so in one packet.
  const std::vector<std::byte> data(ticket.bound);
  hamlyn::SendHandle handle;
  require(terminus.send(ticket, data, {}, &handle) == hamlyn::Status::pending, "all of it has left at once");
  check(terminus.cancel(handle));

  // A key that was guessed.
  ticket.key ^= 1;
  const hamlyn::Status sent = terminus.send(ticket, {}, {}, &handle);
  check(sent == hamlyn::Status::pending ? terminus.wait(handle, 30s) : sent);  // it has left: that is all

  hamlyn::Notification n;
  do {
    check(queue.receive(n, 30s));
  } while (n.kind != hamlyn::Notification::Kind::link_ended);  // the receiver has seen it all, and left
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive_from_second_process());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "errors: %s\n", error.what());
    return 1;
  }
}
