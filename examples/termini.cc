// Termini: several at once, a full work queue, and the sequence word.
//
//   termini          starts itself a second time and sends to it from three termini
//   termini NAME     receives, for whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kTermini = 3;
constexpr std::uint32_t kMessages = 8;  // each sends
constexpr std::size_t kBytes = 100'000;

// Gives out a ticket for each entry, then takes one message into each.
int receive(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, kTermini * kMessages * kBytes};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = kTermini * kMessages}};
  for (std::uint32_t entry = 0; entry < kTermini * kMessages; ++entry)
    interface.publish(name + "." + std::to_string(entry), slot.ticket(entry));
  for (std::uint32_t i = 0; i < kTermini * kMessages; ++i) {
    hamlyn::Notification arrival;
    check(queue.receive(arrival, 30s));
    require(arrival.length == kBytes, "a message came that was not sent, or the sender has gone");
  }
  return 0;
}

int send() {
  const std::string name = "termini." + std::to_string(getpid());
  SecondProcess other{name};
  hamlyn::Interface interface;
  // Each has a work queue of its own, of four entries here. Busy ones take turns, packet by packet.
  std::array<hamlyn::Terminus, kTermini> termini{hamlyn::Terminus{interface, {.entries = 4}},
                                                 hamlyn::Terminus{interface, {.entries = 4}},
                                                 hamlyn::Terminus{interface, {.entries = 4}}};
  const std::vector<std::byte> data(kBytes);
  int full = 0;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    for (std::uint32_t t = 0; t < kTermini; ++t) {
      const std::uint32_t entry = t * kMessages + i;
      const hamlyn::Ticket ticket = interface.lookup(name + "." + std::to_string(entry), 30s);
      hamlyn::Status status;
      // A full queue is a status, not a wait: here the interface is run until an entry is free.
      while ((status = termini[t].send(ticket, data, {.offset = entry * kBytes})) ==
             hamlyn::Status::queue_full) {
        ++full;
        interface.run();
      }
      // pending: the interface moves the rest, and `data` must stay as it is.
      if (status != hamlyn::Status::pending) check(status);
    }
  }
  // The sequence word tells, without a lock, up to which send everything is over and its buffer free.
  for (hamlyn::Terminus& terminus : termini) {
    while (terminus.sequence() != kMessages) interface.run();
  }
  std::printf("%u termini have sent %u messages each\n", kTermini, kMessages);
  std::printf("(a queue was found full %d times)\n", full);
  return other.wait() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? receive(words[1]) : send());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "termini: %s\n", error.what());
    return 1;
  }
}
