// A barrier of several processes by group receive: each round is one group. A member arrives by sending a
// message without bytes under its share, and the keeper is told once, when all have arrived. The share of the
// next round is what lets it go on.
//
//   barrier          keeps the barrier for three members; starts itself again as each of them
//   barrier NAME     is a member at the barrier of whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMembers = 3;
constexpr int kRounds = 50;

// In fast mode, waiting for a place if need be.
template <class T>
void say(hamlyn::Terminus& terminus, const hamlyn::Ticket& to, const T& value, std::uint64_t offset = 0) {
  hamlyn::Status status;
  while ((status = terminus.send_fast(to, std::as_bytes(std::span{&value, 1}), 0, offset)) !=
         hamlyn::Status::ok) {
    if (status == hamlyn::Status::connecting || status == hamlyn::Status::no_place ||
        status == hamlyn::Status::queue_full) {
      check(terminus.wait_for_place(to, 30s));
    } else {
      check(status);
    }
  }
}

// The next message; whatever else may be told of is not for these programs.
hamlyn::Notification next(hamlyn::NotificationQueue& queue) {
  hamlyn::Notification arrival;
  do {
    check(queue.receive(arrival, 30s));
  } while (arrival.kind == hamlyn::Notification::Kind::protocol_error ||
           arrival.kind == hamlyn::Notification::Kind::resource_exhausted);
  if (arrival.kind == hamlyn::Notification::Kind::failed)
    throw std::runtime_error(std::string("a round has failed: ") + hamlyn::name(arrival.failure()));
  if (arrival.kind == hamlyn::Notification::Kind::link_ended)
    throw std::runtime_error("the other side has gone");
  return arrival;
}

int keep() {
  const std::string name = "barrier." + std::to_string(getpid());
  SecondProcess members[] = {SecondProcess{name}, SecondProcess{name}, SecondProcess{name}};
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  // Where members say where they are to be reached, and where they arrive.
  hamlyn::Slot door{area, queue, {.bound = 2048}};
  hamlyn::Slot rounds{area, queue, {.base = 2048, .mode = hamlyn::Mode::paranoid_one_shot, .entries = 1}};
  interface.publish(name, door.ticket());

  std::vector<hamlyn::Ticket> where;
  while (where.size() != kMembers) {
    const hamlyn::Notification arrival = next(queue);
    hamlyn::Ticket ticket;
    if (arrival.length != sizeof ticket) continue;
    std::memcpy(static_cast<void*>(&ticket), door.bytes(arrival).data(), sizeof ticket);
    where.push_back(ticket);
  }
  hamlyn::Terminus terminus{interface};
  for (int round = 0; round < kRounds; ++round) {
    hamlyn::GroupShares shares;
    check(rounds.arm_group(0, kMembers, shares));
    check(rounds.fail_after(0, 30s));  // a member that dies, or sleeps, does not hold up the others for ever
    for (const hamlyn::Ticket& member : where) {
      hamlyn::Share share;
      check(shares.next(share));
      say(terminus, member, share);
    }
    next(queue);  // all have arrived
  }
  bool all = true;
  for (const hamlyn::Ticket& member : where) say(terminus, member, std::uint64_t{0});  // no share: it is over
  for (SecondProcess& member : members) all &= member.wait();
  std::printf("%d rounds of %u members\n", kRounds, kMembers);
  return all ? 0 : 1;
}

int take_part(const char* name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot mailbox{area, queue, {}};
  hamlyn::Terminus terminus{interface};
  const hamlyn::Ticket door = interface.lookup(name, 30s);
  check(terminus.connect(door, 30s));
  static_assert(sizeof(hamlyn::Ticket) == 64);
  // Each writes its ticket where no other member writes: members do not know of each other.
  say(terminus, door, mailbox.ticket(), 64 * (interface.id() % 32));
  for (int round = 0;; ++round) {
    const hamlyn::Notification arrival = next(queue);
    hamlyn::Share share;
    if (arrival.length != sizeof share) return round == kRounds ? 0 : 1;
    std::memcpy(static_cast<void*>(&share), mailbox.bytes(arrival).data(), sizeof share);
    // ... the work of this round ...
    check(terminus.send(share, {}));
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? take_part(words[1]) : keep());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "barrier: %s\n", error.what());
    return 1;
  }
}
