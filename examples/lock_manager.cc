// A lock manager whose locks are taken without its help: a lock is a word in its memory that holds the
// interface number of who has it, taken and given back by compare-and-swap from afar. The manager sleeps. It
// wakes when a link ends, and frees the locks of the process that has gone: who dies with a lock in its hands
// wedges nobody.
//
//   lock_manager            keeps a lock; starts itself again as two clients, one of which dies holding it
//   lock_manager NAME N     adds 1 to a number N times, which only the holder of the lock may touch
//   lock_manager NAME die   takes the lock and dies
#include <hamlyn/hamlyn.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

// Contents of the manager's area.
struct Table {
  std::uint64_t lock;    // interface of the holder; 0: free
  std::uint64_t number;  // what it protects
};

// --- the manager

// From here on `keep` hears of the client's end.
void note_client(const hamlyn::Notification& arrival) {
  std::printf("a client has come: interface %llu\n", static_cast<unsigned long long>(arrival.peer));
}

int keep() {
  const std::string name = "lock_manager." + std::to_string(getpid());
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, sizeof(Table)};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot slot{area, queue, {.fetches = true, .gets = sizeof(Table)}};
  auto& table = *reinterpret_cast<Table*>(area.bytes().data());
  interface.publish(name, slot.ticket());
  SecondProcess dies{name, "die"};
  SecondProcess counts{name, "200"};

  std::atomic_ref<std::uint64_t> lock{table.lock};
  for (int gone = 0; gone != 2;) {
    hamlyn::Notification arrival;
    check(queue.receive(arrival, 60s));
    if (arrival.kind == hamlyn::Notification::Kind::message) note_client(arrival);
    if (arrival.kind != hamlyn::Notification::Kind::link_ended) continue;
    ++gone;
    // Nothing of that process is on its way any more. If it had the lock, the lock is free.
    std::uint64_t holder = arrival.peer;
    if (lock.compare_exchange_strong(holder, 0)) std::puts("it had the lock when it died: freed");
  }
  dies.wait();
  std::printf("the number is %llu\n", static_cast<unsigned long long>(table.number));
  return counts.wait() && table.number == 200 && lock.load() == 0 ? 0 : 1;
}

// --- a client

class Client {
 public:
  explicit Client(const std::string& name) : table_(interface_.lookup(name, 30s)) {
    check(terminus_.connect(table_, 30s));
    hamlyn::Status said;
    do {
      said = terminus_.send_fast(table_, {}, 0);  // so that the manager's queue hears when we go
    } while (said == hamlyn::Status::queue_full);
    check(said);
  }

  void take_lock() {
    for (auto pause = 1us; exchange(0, interface_.id()) != 0; pause = std::min(2 * pause, 1000us))
      std::this_thread::sleep_for(pause);
  }
  void give_back() { require(exchange(interface_.id(), 0) == interface_.id(), "the lock was not ours"); }
  // Not by one operation, so that it would go wrong without the lock.
  void add_one() {
    const std::uint64_t number = fetch({.op = hamlyn::FetchOp::add, .operand = 0}, offsetof(Table, number));
    fetch({.op = hamlyn::FetchOp::swap, .operand = number + 1}, offsetof(Table, number));
  }

 private:
  std::uint64_t exchange(std::uint64_t from, std::uint64_t to) {
    return fetch({.op = hamlyn::FetchOp::compare_and_swap, .operand = to, .compare = from},
                 offsetof(Table, lock));
  }
  // Returns what stood there before.
  std::uint64_t fetch(const hamlyn::Fetch& what, std::uint64_t offset) {
    hamlyn::RemoteHandle handle;
    const hamlyn::Status asked = terminus_.fetch(table_, what, {.offset = offset}, &handle);
    if (asked != hamlyn::Status::pending) check(asked);
    const hamlyn::Outcome outcome = terminus_.wait_outcome(handle, 30s);
    check(outcome.status);
    return outcome.value;
  }

  hamlyn::Interface interface_;
  hamlyn::Terminus terminus_{interface_};
  hamlyn::Ticket table_;
};

int work(const char* name, const std::string& what) {
  Client client{name};
  if (what == "die") {
    client.take_lock();
    raise(SIGKILL);
  }
  for (int left = std::stoi(what); left > 0; --left) {
    client.take_lock();
    client.add_one();
    client.give_back();
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 2 ? work(words[1], words[2]) : keep());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lock_manager: %s\n", error.what());
    return 1;
  }
}
