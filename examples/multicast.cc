// One message to a list of recipients, with a count of those that have got it.
//
//   multicast          sends; starts itself a second time as three members
//   multicast NAME     three members, each with an interface of its own
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr int kMembers = 3;

std::string name_of(const std::string& name, int member) { return name + "." + std::to_string(member); }

struct Member {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.entries = 1}};
};

int take(const std::string& name) {
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < kMembers; ++i) {
    members.push_back(std::make_unique<Member>());
    members.back()->interface.publish(name_of(name, i), members.back()->slot.ticket(0));
  }
  for (auto& member : members) {
    hamlyn::Notification arrival;
    check(member->queue.receive(arrival, 30s));
    require(arrival.kind == hamlyn::Notification::Kind::message,
            "the sender has gone in the middle of its message");
  }
  // The sender's count does not wait for us: it may have gone, or still count.
  hamlyn::Notification end;
  for (auto& member : members) check(member->queue.receive(end, 30s));
  return 0;
}

int send() {
  const std::string name = "multicast." + std::to_string(getpid());
  SecondProcess members{name};
  hamlyn::Multicast::Count count;
  {
    hamlyn::Interface interface;
    std::vector<hamlyn::Ticket> tickets;
    for (int i = 0; i < kMembers; ++i) tickets.push_back(interface.lookup(name_of(name, i), 30s));

    hamlyn::Multicast multicast{interface};
    const std::string_view message = "The sum is 42";
    hamlyn::Status status = multicast.send(tickets, std::as_bytes(std::span{message}));
    // Until each has got it or is known not to; who does not answer in time is left `pending`.
    if (status == hamlyn::Status::ok) status = multicast.wait(30s);
    count = multicast.count();
    std::printf("%zu have got it, %zu have not: %s\n", count.delivered, count.failed + count.waiting,
                hamlyn::name(status));
  }
  return members.wait() && count.delivered == kMembers ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? take(words[1]) : send());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "multicast: %s\n", error.what());
    return 1;
  }
}
