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

#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

// What the sender asks, in the application's own words: so many bytes, and where to answer.
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
  while (queue.receive(arrival, 30s) == hamlyn::Status::ok) {
    if (arrival.kind != hamlyn::Notification::Kind::message) return 1;
    if (space && space->holds(arrival)) {
      const auto bytes = space->bytes(arrival);  // in place: nothing was copied on the way here
      std::printf("%zu bytes in space that was asked for\n", bytes.size());
      const bool right = bytes.size() == kBytes && bytes.front() == bytes.back();
      space.reset();  // from here on the ticket is worth nothing
      return sender.wait() && right ? 0 : 1;
    }
    Request request;
    if (arrival.length != sizeof request) return 1;
    std::memcpy(&request, door.bytes(arrival).data(), sizeof request);
    if (request.bytes == 0 || request.bytes > kMost) return 1;  // how much "large" is, the receiver says
    space.emplace(queue, request.bytes);
    const hamlyn::Ticket offer = space->offer();
    hamlyn::SendHandle handle;
    hamlyn::Status status = terminus.send(request.answer, std::as_bytes(std::span{&offer, 1}), {}, &handle);
    if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);
    if (status != hamlyn::Status::ok) return 1;
  }
  return 1;
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
  hamlyn::Notification answer;
  if (status == hamlyn::Status::ok) status = queue.receive(answer, 30s);
  if (status != hamlyn::Status::ok || answer.length != sizeof(hamlyn::Ticket)) return 1;
  hamlyn::Ticket space;
  std::memcpy(&space, mailbox.bytes(answer).data(), sizeof space);

  const std::vector<std::byte> data(kBytes, std::byte{0x2A});
  status = terminus.send(space, data, {.acknowledged = true}, &handle);
  if (status == hamlyn::Status::pending) status = terminus.wait(handle, 30s);  // until all of it has landed
  if (status == hamlyn::Status::ok) return 0;
  std::fprintf(stderr, "bulk: %s: %s\n", hamlyn::name(status), hamlyn::advice(status));
  return 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return count > 1 ? send(words[1]) : receive();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bulk: %s\n", error.what());
    return 1;
  }
}
