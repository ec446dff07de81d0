// The other side of an example, on a bad day.
//
//   peer receiver NAME N        takes a stream under NAME, and is killed by its N-th arrival: 1 is the
//   opening peer sender NAME            opens the stream NAME, sends a record, and is killed when that has
//   left peer holds NAME             opens the stream NAME, says so, and stays peer never_looks NAME N knocks
//   N times at the market NAME with seeds that it never looks at, and stays
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <string>

#include "hamlyn/hamlyn.h"

namespace {

using namespace hamlyn;
using namespace std::chrono_literals;

[[noreturn]] void stay(const char* said) {
  std::puts(said);
  std::fflush(stdout);
  for (;;) ::pause();
}

// Is killed by an arrival before it has seen what came.
class Mortal : public StreamReceiver {
 public:
  Mortal(Manager& manager, int left) : StreamReceiver(manager), left_(left) {}

 protected:
  void process_arrival(const Notification& arrival) override {
    if (--left_ == 0) ::raise(SIGKILL);
    StreamReceiver::process_arrival(arrival);
  }

 private:
  int left_;
};

int receive(Manager& manager, const std::string& name, int arrivals) {
  Mortal stream{manager, arrivals};
  manager.publish(name, stream.make_seed());
  Record record;
  Status status;
  while ((status = stream.receive(record)) == Status::ok)
    if (stream.release(record) != Status::ok) return 1;
  return status == Status::closed ? 0 : 1;
}

int send(Manager& manager, const std::string& name) {
  StreamSender stream{manager, manager.lookup(name)};
  if (stream.send("before it died") != Status::ok || stream.flush() != Status::ok) return 1;
  return ::raise(SIGKILL);
}

// As examples/market_data.cc has it.
struct Subscription {
  Seed books;
  Seed news;
  char name[16];
};

int never_look(Manager& manager, const std::string& name, int times) {
  DatagramSender door{manager, manager.lookup(name)};
  std::list<LoanReceiver> books;
  DatagramReceiver news{manager, 64};
  for (; times > 0; --times) {
    const Subscription wish{books.emplace_back(manager).make_seed(), news.make_seed(), "a stranger"};
    Status status;
    while ((status = door.deliver(std::as_bytes(std::span{&wish, 1}), 30s)) == Status::not_ready) {
    }
    if (status != Status::ok) return 1;
  }
  stay("knocked");
}

int run(const std::string& what, const std::string& name, int number) {
  Manager manager;
  if (what == "receiver") return receive(manager, name, number);
  if (what == "sender") return send(manager, name);
  if (what == "never_looks") return never_look(manager, name, number);
  StreamSender stream{manager, manager.lookup(name)};
  stay("open");
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(words[1], words[2], count > 3 ? std::stoi(words[3]) : 0);
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
