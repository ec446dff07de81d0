// One message with metadata, from one process to another.
//
//   hello          receives; starts itself a second time as the sender
//   hello NAME     sends to whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int receive() {
  const std::string name = "hello." + std::to_string(getpid());
  SecondProcess sender{name};

  hamlyn::Interface interface;
  // Memory that messages may land in; where their arrival is told; and the slot, which protects the memory:
  // it has a key that cannot be guessed, bounds, and here one metadata entry, so it takes one message at a
  // time.
  hamlyn::MessageArea area{interface, 65536};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = 1}};

  // The ticket for entry 0 is a value of 64 bytes. Whoever holds it may send there: here, whoever of this
  // user's processes looks the name up.
  interface.publish(name, slot.ticket(0));

  hamlyn::Notification arrival;
  check(queue.receive(arrival, 30s));
  require(arrival.kind == hamlyn::Notification::Kind::message,
          "the sender has gone in the middle of its message");
  const std::string_view message = text(slot.bytes(arrival));
  const std::string_view metadata = text(slot.metadata(arrival.entry));
  std::printf("%.*s (metadata: %.*s)\n", static_cast<int>(message.size()), message.data(),
              static_cast<int>(metadata.size()), metadata.data());
  const bool right = message == "Hello from another process" && metadata == "English";

  // To take another message there, the entry would now be armed again: slot.arm(arrival.entry).
  return sender.wait() && right ? 0 : 1;
}

int send(const char* name) {
  hamlyn::Interface interface;
  const hamlyn::Ticket ticket = interface.lookup(name, 30s);  // waits for the name to be published
  hamlyn::Terminus terminus{interface};
  check(terminus.connect(ticket, 30s));

  const std::string_view message = "Hello from another process";
  const std::string_view metadata = "English";
  hamlyn::SendHandle handle;
  hamlyn::Status status = terminus.send(ticket, std::as_bytes(std::span{message}),
                                        {.metadata = std::as_bytes(std::span{metadata})}, &handle);
  // `pending`: the interface moves the rest, and the buffer must stay until it has.
  if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);
  check(status);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive());
  } catch (const std::exception& error) {  // set-up throws hamlyn::Error; the data path never throws
    std::fprintf(stderr, "hello: %s\n", error.what());
    return 1;
  }
}
