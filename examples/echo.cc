// An echo server for any number of clients, a thread for each. A client asks for a stream at the door, a
// datagram receiver that everyone may look up: it sends the seed of the stream that it will listen to, and
// gets that of the stream that it may speak on. Seeds are values: they travel in messages like any other
// bytes.
//
//   echo          serves three clients; starts itself again as each of them
//   echo NAME     is a client of whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

hamlyn::Seed seed_in(std::span<const std::byte> bytes) {
  hamlyn::Seed seed;
  require(bytes.size() == sizeof seed, "this is no seed");
  std::memcpy(static_cast<void*>(&seed), bytes.data(), sizeof seed);
  return seed;
}

std::span<const std::byte> bytes_of(const hamlyn::Seed& seed) { return std::as_bytes(std::span{&seed, 1}); }

// --- the server

// A client that dies, or lies, ends its own session and no other.
void serve(hamlyn::Manager& manager, const hamlyn::Seed& to, const hamlyn::Seed& reply) {
  try {
    hamlyn::StreamReceiver heard{manager};
    hamlyn::DatagramSender answer{manager, reply};
    const hamlyn::Seed seed = heard.make_seed();
    check(answer.deliver(bytes_of(seed), 10s));
    hamlyn::StreamSender echo{manager, to};
    for (const hamlyn::Record& record : heard) check(echo.send(record.bytes()));
    check(echo.close());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "echo: a session has ended: %s\n", error.what());
  }
}

int run_server() {
  const std::string name = "echo." + std::to_string(getpid());
  SecondProcess clients[] = {SecondProcess{name}, SecondProcess{name}, SecondProcess{name}};
  hamlyn::Manager manager;
  hamlyn::DatagramReceiver door{manager, sizeof(hamlyn::Seed)};
  manager.publish(name, door.make_seed());

  std::vector<std::jthread> sessions;
  while (sessions.size() != 3) {
    hamlyn::Datagram knock;
    const hamlyn::Status status = door.receive(knock, 30s);
    if (status == hamlyn::Status::timed_out) check(status);
    // Otherwise, if it is not ok, somebody gave up, or died, in the middle of it.
    if (status == hamlyn::Status::ok && knock.reply && knock.bytes.size() == sizeof(hamlyn::Seed))
      sessions.emplace_back(serve, std::ref(manager), seed_in(knock.bytes), *knock.reply);
    check(door.make_ready());  // one at a time: others are told `not_ready` until now
  }
  sessions.clear();  // waits for each
  bool all = true;
  for (SecondProcess& client : clients) all &= client.wait();
  std::puts(all ? "three clients heard what they had said" : "a client has failed");
  return all ? 0 : 1;
}

// --- a client

int run_client(const char* name) {
  hamlyn::Manager manager;
  hamlyn::StreamReceiver heard{manager};
  hamlyn::DatagramReceiver mailbox{manager, sizeof(hamlyn::Seed)};
  hamlyn::DatagramSender door{manager, manager.lookup(name)};

  const hamlyn::Seed own = heard.make_seed();
  hamlyn::Status status;
  do {
    status = door.deliver(bytes_of(own), {.reply = &mailbox}, 30s);
  } while (status == hamlyn::Status::not_ready);  // another client is at the door
  check(status);
  hamlyn::Datagram answer;
  check(mailbox.receive(answer, 30s));
  hamlyn::StreamSender said{manager, seed_in(answer.bytes)};

  for (int i = 0; i < 1000; ++i) {
    const std::string text = "number " + std::to_string(i);
    check(said.send(text));
    hamlyn::Record echo;
    check(heard.receive(echo, 30s));  // what was put together leaves before this thread waits
    require(echo.text() == text, "another text came back");
    check(heard.release(echo));
  }
  check(said.close());
  hamlyn::Record nothing;
  const hamlyn::Status end = heard.receive(nothing, 30s);
  if (end != hamlyn::Status::closed) check(end);
  require(end == hamlyn::Status::closed, "more came back than was said");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? run_client(words[1]) : run_server());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "echo: %s\n", error.what());
    return 1;
  }
}
