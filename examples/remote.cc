// Remote operations: two processes share out jobs. The first owns the list of them and the number of the next
// one; the second takes numbers by fetch-and-add and fetches each job's text by a remote get. The owner takes
// its own numbers with an ordinary atomic meanwhile, and does nothing at all for the other.
//
//   remote          starts itself a second time, and checks that each job was done once
//   remote NAME     works off jobs of whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kJobs = 1000;
constexpr std::uint64_t kJobBytes = 32;

// Contents of the owner's message area. A fetch-and-op is on a word of 4 or 8 bytes at a multiple of its
// size.
struct List {
  std::uint64_t next;  // job that nobody has taken
  std::uint64_t done;  // jobs
  char jobs[kJobs][kJobBytes];
};

int own() {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, sizeof(List)};
  hamlyn::NotificationQueue queue{interface};
  // Others may do this here: fetch-and-ops, gets of one job at a time, and nothing else.
  hamlyn::Slot slot{area, queue, {.fast = false, .fetches = true, .gets = kJobBytes}};
  auto& list = *reinterpret_cast<List*>(area.bytes().data());
  for (std::uint64_t i = 0; i < kJobs; ++i)
    std::snprintf(list.jobs[i], kJobBytes, "job %llu", static_cast<unsigned long long>(i));

  const std::string name = "remote." + std::to_string(getpid());
  interface.publish(name, slot.ticket());
  SecondProcess other{name};

  // Atomic against the other process's fetch-and-ops.
  std::atomic_ref<std::uint64_t> next{list.next};
  std::atomic_ref<std::uint64_t> done{list.done};
  const auto begin = std::chrono::steady_clock::now();
  while (done.load() == 0 && std::chrono::steady_clock::now() - begin < 30s) {
  }  // so that the other one has a part in it
  while (next.fetch_add(1) < kJobs) done.fetch_add(1);
  if (!other.wait()) return 1;
  require(done.load() == kJobs, "a job was not done, or not once");
  std::printf("%llu jobs, each done once\n", static_cast<unsigned long long>(kJobs));
  return 0;
}

class Worker {
 public:
  explicit Worker(const std::string& name) : list_(interface_.lookup(name, 30s)) {
    check(terminus_.connect(list_, 30s));
  }

  void work() {
    while (true) {
      const std::uint64_t number = add_one(offsetof(List, next));
      if (number >= kJobs) return;
      require(text(number) == "job " + std::to_string(number), "another job's text");
      add_one(offsetof(List, done));
    }
  }

 private:
  // Returns what stood there before.
  std::uint64_t add_one(std::uint64_t offset) {
    hamlyn::RemoteHandle handle;
    const hamlyn::Status asked = terminus_.fetch(
        list_, {.op = hamlyn::FetchOp::add, .bytes = 8, .operand = 1}, {.offset = offset}, &handle);
    if (asked != hamlyn::Status::pending) check(asked);
    const hamlyn::Outcome outcome = terminus_.wait_outcome(handle, 30s);  // spins a little, then sleeps
    check(outcome.status);
    return outcome.value;
  }

  std::string text(std::uint64_t number) {
    hamlyn::RemoteHandle handle;
    const std::uint64_t offset = offsetof(List, jobs) + number * kJobBytes;
    const hamlyn::Status asked = terminus_.get(list_, slot_, 0, kJobBytes, {.offset = offset}, &handle);
    if (asked != hamlyn::Status::pending) check(asked);
    check(terminus_.wait_outcome(handle, 30s).status);
    const char* const text = reinterpret_cast<const char*>(slot_.bytes().data());
    return {text, strnlen(text, kJobBytes)};  // another process's bytes: perhaps without an end
  }

  hamlyn::Interface interface_;
  hamlyn::MessageArea area_{interface_, kJobBytes};
  hamlyn::NotificationQueue queue_{interface_};
  hamlyn::Slot slot_{area_, queue_, {.fast = false}};  // where gets land; nobody else has a ticket for it
  hamlyn::Terminus terminus_{interface_};
  hamlyn::Ticket list_;
};

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 1) return written(own());
    Worker{words[1]}.work();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remote: %s\n", error.what());
    return 1;
  }
}
