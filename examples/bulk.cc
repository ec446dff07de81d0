// Bulk transfer into space that is negotiated just before.
//
//   bulk          receives; starts itself a second time as the sender
//   bulk NAME     asks whoever has published NAME for space, and fills it
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

// Request of the sender, in the application's own words: so many bytes, and where to answer.
struct Request {
  std::uint64_t bytes;
  hamlyn::Ticket answer;
};

constexpr std::size_t kBytes = 3 << 20;  // what is sent
constexpr std::size_t kMost = 16 << 20;  // what a receiver would give anybody

int receive() {
  const std::string name = "bulk." + std::to_string(getpid());
  SecondProcess sender{name};
  hamlyn::Interface interface;
  hamlyn::NotificationQueue queue{interface};
  // Small requests have their memory ready at any time; large data has not.
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::Slot door{area, queue, {.entries = 1}};
  interface.publish(name, door.ticket(0));

  hamlyn::Terminus terminus{interface};
  std::optional<hamlyn::BulkSpace> space;
  hamlyn::Notification arrival;
  for (;;) {
    check(queue.receive(arrival, 30s));
    require(arrival.kind == hamlyn::Notification::Kind::message,
            "the sender has gone before it had sent all");
    if (space && space->holds(arrival)) {
      const auto bytes = space->bytes(arrival);  // in place: nothing was copied on the way here
      std::printf("%zu bytes in space that was asked for\n", bytes.size());
      const bool right = bytes.size() == kBytes && bytes.front() == bytes.back();
      space.reset();  // from here on the ticket is worth nothing
      return sender.wait() && right ? 0 : 1;
    }
    Request request;
    require(arrival.length == sizeof request, "this is no request");
    std::memcpy(&request, door.bytes(arrival).data(), sizeof request);
    // How much "large" is, the receiver says.
    require(request.bytes != 0 && request.bytes <= kMost, "the sender asks for more than there is");
    space.emplace(queue, request.bytes);
    const hamlyn::Ticket offer = space->offer();
    hamlyn::SendHandle handle;
    hamlyn::Status status = terminus.send(request.answer, std::as_bytes(std::span{&offer, 1}), {}, &handle);
    if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);
    check(status);
  }
}

int send(const char* name) {
  hamlyn::Interface interface;
  hamlyn::NotificationQueue queue{interface};
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::Slot mailbox{area, queue, {.entries = 1}};
  hamlyn::Terminus terminus{interface};

  const Request request{kBytes, mailbox.ticket(0)};
  hamlyn::SendHandle handle;
  hamlyn::Status status =
      terminus.send(interface.lookup(name, 30s), std::as_bytes(std::span{&request, 1}), {}, &handle);
  if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);
  check(status);
  hamlyn::Notification answer;
  check(queue.receive(answer, 30s));
  require(answer.length == sizeof(hamlyn::Ticket), "the receiver has no space for us");
  hamlyn::Ticket space;
  std::memcpy(&space, mailbox.bytes(answer).data(), sizeof space);

  const std::vector<std::byte> data(kBytes, std::byte{0x2A});
  status = terminus.send(space, data, {.acknowledged = true}, &handle);
  if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);  // until all of it has landed
  check(status);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bulk: %s\n", error.what());
    return 1;
  }
}
