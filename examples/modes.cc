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

#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRoom = 64;  // of each client

// Sends in fast mode, waiting for a place if need be.
bool tell(hamlyn::Terminus& terminus, const hamlyn::Ticket& to, std::span<const std::byte> data) {
  while (terminus.connect(to, 30s) == hamlyn::Status::ok) {
    const hamlyn::Status status = terminus.send_fast(to, data);
    if (status == hamlyn::Status::ok) return true;
    if (status != hamlyn::Status::no_place && status != hamlyn::Status::queue_full) return false;
    terminus.wait_for_place(to, 30s);
  }
  return false;
}

int serve() {
  const std::string name = "modes." + std::to_string(getpid());
  SecondProcess clients{name};

  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 2 * kRoom};
  hamlyn::NotificationQueue queue{interface};
  // Paranoid one-shot: an entry's key stands in the place of the slot's, and the entry takes one message per
  // arming. So no client can write outside of its part, nor change what it has sent, nor have more than one
  // notification in the queue.
  hamlyn::Slot slot{area, queue, {.mode = hamlyn::Mode::paranoid_one_shot, .entries = 2}};
  hamlyn::Ticket ticket[2];
  for (std::uint32_t client = 0; client < 2; ++client) {
    if (slot.arm(client, {client * kRoom, kRoom}) != hamlyn::Status::ok) return 1;
    ticket[client] = slot.ticket(client);
  }
  // Client 1 is no longer wanted. Its ticket is worth nothing from here on, also if its message is half here;
  // the other's is as good as before. Nobody was asked but this process.
  if (slot.revoke(1) != hamlyn::Status::ok) return 1;

  hamlyn::Terminus terminus{interface};
  if (!tell(terminus, interface.lookup(name, 30s), std::as_bytes(std::span{ticket}))) return 1;

  bool served = false, refused = false;
  hamlyn::Notification n;
  while (!(served && refused) && queue.receive(n, 30s) == hamlyn::Status::ok) {
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
      if (slot.arm(n.entry) != hamlyn::Status::ok) return 1;
    }
  }
  return served && refused ? 0 : 1;
}

int ask(const char* name) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot mailbox{area, queue, {}};
  interface.publish(name, mailbox.ticket());
  hamlyn::Notification n;
  do {
    if (queue.receive(n, 30s) != hamlyn::Status::ok) return 1;
  } while (n.kind != hamlyn::Notification::Kind::message);
  hamlyn::Ticket ticket[2];
  if (n.length != sizeof ticket) return 1;
  std::memcpy(ticket, mailbox.bytes(n).data(), sizeof ticket);

  hamlyn::Terminus terminus{interface};
  const std::string_view request = "please";
  for (const hamlyn::Ticket& each : {ticket[1], ticket[0]}) {
    hamlyn::SendHandle handle;
    const hamlyn::Status sent = terminus.send(each, std::as_bytes(std::span{request}), {}, &handle);
    if (sent == hamlyn::Status::pending) terminus.wait(handle, 30s);
  }
  do {
    if (queue.receive(n, 30s) != hamlyn::Status::ok) return 1;
  } while (n.kind != hamlyn::Notification::Kind::link_ended);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return count > 1 ? ask(words[1]) : serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "modes: %s\n", error.what());
    return 1;
  }
}
