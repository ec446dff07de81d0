// Cost of a process that is blocked in `receive` and has a link on which nothing comes: how often any of its
// threads is switched to and fro meanwhile, as the kernel counts it.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"

namespace hamlyn::tool::perf {
namespace {

using namespace std::chrono_literals;

// Then the control thread rests, too: after the look for stalls by which it knows that nothing has happened
// since the one before, of which the first tells the other side what was taken.
constexpr auto kFallsAsleep = 2s;
constexpr auto kStretch = 1s;

// Counts switches of all threads, of their own accord or not.
std::uint64_t switches_of(pid_t process) {
  std::uint64_t sum = 0;
  unsigned lines = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);) {
      const std::size_t at = line.find("voluntary_ctxt_switches:");  // and nonvoluntary ones
      if (at == std::string::npos) continue;
      sum += std::stoull(line.substr(line.find(':') + 1));
      ++lines;
    }
  }
  expect(lines >= 2, "the kernel does not count context switches");
  return sum;
}

pid_t& sleeper(Room& room) { return *reinterpret_cast<pid_t*>(room.memory().data()); }

void watch(Party& party, Room& room) {
  room.meet();
  std::this_thread::sleep_for(kFallsAsleep);
  const std::uint64_t before = switches_of(sleeper(room));
  std::this_thread::sleep_for(kStretch);
  room.report(static_cast<double>(switches_of(sleeper(room)) - before));
  party.send_fast({}, 1);
}

void sleep(Party& party, Room& room) {
  sleeper(room) = getpid();
  room.meet();
  expect(party.next_asleep().word == 1, "a message is missing");
}

}  // namespace

Meter idle_switches() {
  const auto round = [](Cores cores, int) { return run_parties(cores, 1, {}, watch, {}, sleep); };
  return {.name = "shm.idle.switches", .round = round};
}

}  // namespace hamlyn::tool::perf
