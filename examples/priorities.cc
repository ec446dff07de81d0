// Levels of urgency: a bulk transfer and a question on the same link. The question is answered while the
// transfer goes on.
//
//   priorities          starts itself a second time, sends it bulk and asks
//   priorities NAME     receives the bulk and answers, for whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBulk = 32 << 20;

// One side: a slot and a queue for bulk, a slot and a queue for what is urgent, and a terminus of each level.
struct Side {
  Side(const std::string& own, const std::string& other, std::size_t bulk) : area{interface, bulk + 64} {
    interface.publish(own + ".urgent", urgent_slot.ticket());
    interface.publish(own + ".bulk", bulk_slot.ticket(0));
    urgent_ticket = interface.lookup(other + ".urgent", 30s);
    bulk_ticket = interface.lookup(other + ".bulk", 30s);
    check(urgent.connect(urgent_ticket, 30s));
  }

  hamlyn::Interface interface;
  hamlyn::MessageArea area;
  hamlyn::NotificationQueue urgent_queue{interface};
  hamlyn::NotificationQueue bulk_queue{interface};
  hamlyn::Slot urgent_slot{area, urgent_queue, {.bound = 64}};
  hamlyn::Slot bulk_slot{area, bulk_queue, {.base = 64, .entries = 1}};
  hamlyn::Terminus urgent{interface, {.priority = hamlyn::Priority::urgent}};
  hamlyn::Terminus normal{interface};
  hamlyn::Ticket urgent_ticket, bulk_ticket;
};

void wait_for_message(hamlyn::NotificationQueue& queue) {
  hamlyn::Notification arrival;
  check(queue.receive(arrival, 30s));
  require(arrival.kind == hamlyn::Notification::Kind::message, "the other one has left");
}

int transfer_and_ask() {
  const std::string name = "priorities." + std::to_string(getpid());
  SecondProcess other{name};
  Side side{name, name + ".back", 64};
  const std::vector<std::byte> bulk(kBulk, std::byte{1});
  hamlyn::SendHandle handle;
  if (side.normal.send(side.bulk_ticket, bulk, {}, &handle) != hamlyn::Status::pending)
    throw std::runtime_error("the link has taken 32 MiB at once");

  int answered = 0;
  while (side.normal.status(handle) == hamlyn::Status::pending) {
    check(side.urgent.send_fast(side.urgent_ticket, {}));
    wait_for_message(side.urgent_queue);  // runs the interface, so the bulk goes on meanwhile
    ++answered;
  }
  require(answered != 0, "no answer before the end of the bulk");
  std::printf("answered while the bulk was under way: %d times\n", answered);
  check(side.urgent.send_fast(side.urgent_ticket, {}, 1));  // no more questions
  return other.wait() ? 0 : 1;
}

int receive_and_answer(const std::string& name) {
  Side side{name + ".back", name, kBulk};
  for (;;) {
    hamlyn::Notification question;
    check(side.urgent_queue.receive(question, 30s));
    if (question.kind != hamlyn::Notification::Kind::message || question.word == 1) break;
    check(side.urgent.send_fast(side.urgent_ticket, {}));
  }
  wait_for_message(side.bulk_queue);
  return side.area.bytes()[64 + kBulk - 1] == std::byte{1} ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? receive_and_answer(words[1]) : transfer_and_ask());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "priorities: %s\n", error.what());
    return 1;
  }
}
