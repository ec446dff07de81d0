// A server that trusts none of its clients: each has an entry with a key and bounds of its own, and one of
// them loses its right.
//
//   modes          the server; starts itself a second time as the clients
//   modes NAME     the clients
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRoom = 64;  // of each client

// Sends in fast mode, waiting for a place if need be.
void tell(hamlyn::Terminus& terminus, const hamlyn::Ticket& to, std::span<const std::byte> data) {
  check(terminus.connect(to, 30s));
  hamlyn::Status status;
  while ((status = terminus.send_fast(to, data)) == hamlyn::Status::no_place ||
         status == hamlyn::Status::queue_full)
    check(terminus.wait_for_place(to, 30s));
  check(status);
}

void serve(const std::string& name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 2 * kRoom};
  hamlyn::NotificationQueue queue{interface};
  // Paranoid one-shot: an entry's key stands in the place of the slot's, and the entry takes one message per
  // arming. So no client can write outside of its part, nor change what it has sent, nor have more than one
  // notification in the queue.
  hamlyn::Slot slot{area, queue, {.mode = hamlyn::Mode::paranoid_one_shot, .entries = 2}};
  hamlyn::Ticket ticket[2];
  for (std::uint32_t client = 0; client < 2; ++client) {
    check(slot.arm(client, {client * kRoom, kRoom}));
    ticket[client] = slot.ticket(client);
  }
  // Client 1 is no longer wanted. Its ticket is worth nothing from here on, also if its message is half here;
  // the other's is as good as before. Nobody was asked but this process.
  check(slot.revoke(1));

  hamlyn::Terminus terminus{interface};
  tell(terminus, interface.lookup(name, 30s), std::as_bytes(std::span{ticket}));

  bool served = false, refused = false;
  hamlyn::Notification n;
  while (!(served && refused)) {
    check(queue.receive(n, 30s));
    if (n.kind == hamlyn::Notification::Kind::protocol_error) {
      std::printf("refused: %s\n", hamlyn::name(n.cause));
      refused = n.cause == hamlyn::Refusal::bad_key;
    } else if (n.kind == hamlyn::Notification::Kind::message) {
      const auto bytes = slot.bytes(n);
      std::printf("client %u: %.*s\n", n.entry, static_cast<int>(bytes.size()),
                  reinterpret_cast<const char*>(bytes.data()));
      served = n.entry == 0;
      // Nothing changes in its part until this arming, which gives it a new key: the client gets a new ticket
      // with its answer.
      check(slot.arm(n.entry));
    }
  }
}  // and the interface goes, which ends its links

int serve_second_process() {
  const std::string name = "modes." + std::to_string(getpid());
  SecondProcess clients{name};
  serve(name);
  return clients.wait() ? 0 : 1;
}

int ask(const char* name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot mailbox{area, queue, {}};
  interface.publish(name, mailbox.ticket());
  hamlyn::Notification n;
  do {
    check(queue.receive(n, 30s));
  } while (n.kind != hamlyn::Notification::Kind::message);
  hamlyn::Ticket ticket[2];
  require(n.length == sizeof ticket, "these are no two tickets");
  std::memcpy(ticket, mailbox.bytes(n).data(), sizeof ticket);

  hamlyn::Terminus terminus{interface};
  const std::string_view request = "please";
  for (const hamlyn::Ticket& each : {ticket[1], ticket[0]}) {
    hamlyn::SendHandle handle;
    const hamlyn::Status sent = terminus.send(each, std::as_bytes(std::span{request}), {}, &handle);
    check(sent == hamlyn::Status::pending ? terminus.wait(handle, 30s) : sent);
  }
  do {
    check(queue.receive(n, 30s));
  } while (n.kind != hamlyn::Notification::Kind::link_ended);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? ask(words[1]) : serve_second_process());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "modes: %s\n", error.what());
    return 1;
  }
}
