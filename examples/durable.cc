// A message that is acknowledged when it is on the receiver's disk, and found there after a crash.
#include <hamlyn/hamlyn.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "check.h"
#include "spawn_self.h"

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kBytes = 1 << 16;
constexpr const char kWords[] = "prepare to commit";

// Takes what comes, until it is killed.
int receive(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, {.path = name}, kBytes};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = 1}};
  interface.publish(std::filesystem::path(name).filename().string(), slot.ticket(0));
  hamlyn::Notification arrival;
  check(queue.receive(arrival, 30s));
  require(arrival.kind == hamlyn::Notification::Kind::message,
          "the sender has gone in the middle of its message");
  // The message has landed, and may not be on the disk yet. To be sure of that here, too:
  check(area.sync(arrival.offset, arrival.length, 30s));
  check(queue.receive(arrival, 30s));
  throw std::runtime_error("nothing more was to come");
}

// Sends a message to another process, has it crash, and looks into what it has left.
int send_and_find() {
  const auto file = std::filesystem::temp_directory_path() / ("durable." + std::to_string(getpid()));
  {
    SecondProcess receiver{file.string()};
    hamlyn::Interface interface;
    const hamlyn::Ticket ticket = interface.lookup(file.filename().string(), 30s);
    hamlyn::Terminus terminus{interface};
    hamlyn::SendHandle handle;
    const hamlyn::Status status =
        terminus.send(ticket, std::as_bytes(std::span(kWords)), {.acknowledged = true}, &handle);
    check(status == hamlyn::Status::pending ? terminus.wait(handle, 30s) : status);
    receiver.signal(SIGKILL);
  }
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, {.path = file.string()}, kBytes};
  std::printf("In the file: %s\n", reinterpret_cast<const char*>(area.bytes().data()));
  const bool found = std::memcmp(area.bytes().data(), kWords, sizeof kWords) == 0;
  std::filesystem::remove(file);
  return found ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? receive(words[1]) : send_and_find());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "durable: %s\n", error.what());
    return 1;
  }
}
