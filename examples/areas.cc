// A long message out of a send buffer area: the receiver copies it once, straight from there.
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "check.h"
#include "spawn_self.h"

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kBytes = 500000;

int send(const char* name) {
  hamlyn::Interface interface;
  const hamlyn::Ticket ticket = interface.lookup(name, 30s);
  hamlyn::Terminus terminus{interface};

  hamlyn::SendBufferArea area{interface, 1 << 20};
  check(terminus.bind(0, area));
  std::memcpy(area.bytes().data(), "Gathered: ", 10);
  std::memset(area.bytes(4096, kBytes).data(), 'x', kBytes);

  const hamlyn::Piece pieces[] = {{0, 0, 10}, {0, 4096, kBytes}};
  hamlyn::SendHandle handle;
  const hamlyn::Status status = terminus.send_gathered(ticket, pieces, {}, &handle);
  if (status != hamlyn::Status::pending) check(status);
  // Only when the receiver has copied may the buffer be written again, or go.
  check(terminus.wait(handle, 30s));
  return 0;
}

int receive_from_second_process() {
  const std::string name = "areas." + std::to_string(getpid());
  SecondProcess sender{name};
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 1 << 20};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = 1}};
  interface.publish(name, slot.ticket(0));

  hamlyn::Notification arrival;
  check(queue.receive(arrival, 30s));
  require(arrival.kind == hamlyn::Notification::Kind::message,
          "the sender has gone in the middle of its message");
  const auto bytes = slot.bytes(arrival);
  std::printf("%.10s%zu bytes\n", reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return sender.wait() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive_from_second_process());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "areas: %s\n", error.what());
    return 1;
  }
}
