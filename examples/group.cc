// Many senders, one entry, one notification.
//
//   group          waits for two members; starts itself a second time as both of them
//   group NAME     sends in their place
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPart = 100000;  // what each member writes

void receive(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 2 * kPart};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.mode = hamlyn::Mode::paranoid_one_shot, .entries = 1}};

  // A group of two in entry 0. Its shares are handed out by a type that cannot let them sum wrongly; each
  // gives its member a part of the buffer. If not all has come in 30 s the entry fails, whoever is to blame.
  hamlyn::GroupShares shares;
  check(slot.arm_group(0, 2, shares));
  check(slot.fail_after(0, 30s));
  hamlyn::Share share[2];
  for (std::size_t i = 0; i < 2; ++i) check(shares.next(share[i], {i * kPart, kPart}));

  // Shares are values: here they travel in a message to the members' mailbox.
  const hamlyn::Ticket mailbox = interface.lookup(name, 30s);
  hamlyn::Terminus terminus{interface};
  hamlyn::Status status = terminus.connect(mailbox, 30s);
  while (status == hamlyn::Status::ok) {
    status = terminus.send_fast(mailbox, std::as_bytes(std::span{share}));
    if (status != hamlyn::Status::no_place && status != hamlyn::Status::queue_full) break;
    status = terminus.wait_for_place(mailbox, 30s);
  }

  check(status);
  hamlyn::Notification arrival;
  check(queue.receive(arrival, 60s));
  if (arrival.kind == hamlyn::Notification::Kind::failed)
    throw std::runtime_error(std::string("the group has failed: ") + hamlyn::name(arrival.failure()));
  require(arrival.kind == hamlyn::Notification::Kind::message, "a member has gone");
  const std::span<const std::byte> bytes = slot.bytes(arrival);
  const bool right = bytes.size() == 2 * kPart && bytes.front() == std::byte{'a'} &&
                     bytes[kPart] == std::byte{'b'} && bytes.back() == std::byte{'c'};
  std::printf("%zu bytes from 3 messages, told of once\n", bytes.size());
  require(right, "the members have sent something else");
}

int receive_from_second_process() {
  const std::string name = "group." + std::to_string(getpid());
  SecondProcess members{name};
  receive(name);  // and its interface goes, which ends its links
  return members.wait() ? 0 : 1;
}

// Sends one message as the holder of `share`: all of its part, so that it is used up.
void contribute(hamlyn::Terminus& terminus, const hamlyn::Share& share, char letter) {
  const std::vector<std::byte> data(share.ticket.bound, static_cast<std::byte>(letter));
  hamlyn::SendHandle handle;
  const hamlyn::Status status = terminus.send(share, data, {}, &handle);
  check(status == hamlyn::Status::pending ? terminus.wait(handle, 30s) : status);
}

int send(const char* name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot mailbox{area, queue, {}};
  interface.publish(name, mailbox.ticket());
  hamlyn::Notification arrival;
  do {
    check(queue.receive(arrival, 30s));
  } while (arrival.kind != hamlyn::Notification::Kind::message);
  hamlyn::Share share[2];
  require(arrival.length == sizeof share, "these are no two shares");
  std::memcpy(share, mailbox.bytes(arrival).data(), sizeof share);

  // The second member splits its share: the piece, with the first half of its buffer, could as well be sent
  // on to a helper on any other process. The receiver need not know.
  hamlyn::Share piece;
  check(share[1].split(kPart / 2, piece));
  hamlyn::Terminus terminus{interface};
  check(terminus.connect(share[0].ticket, 30s));
  contribute(terminus, share[1], 'c');
  contribute(terminus, share[0], 'a');
  contribute(terminus, piece, 'b');
  // The group fails if a link ends that had contributed to it: we stay until our peer has gone.
  do {
    check(queue.receive(arrival, 60s));
  } while (arrival.kind != hamlyn::Notification::Kind::link_ended);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive_from_second_process());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "group: %s\n", error.what());
    return 1;
  }
}
