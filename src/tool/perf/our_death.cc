// The death of a peer: from the SIGKILL until a process that sleeps in `receive` is told that the link has
// ended.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"
#include "tool/perf/worker.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr int kDeaths = 10;

Notification next(NotificationQueue& queue, Notification::Kind kind) {
  Notification arrival;
  const Status status = queue.receive(arrival, seconds{10});
  expect(status == Status::ok && arrival.kind == kind, "neither a message nor the end of a link comes");
  return arrival;
}

// Kills each one that says who it is.
void survive(Room& room, const std::string& meeting) {
  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {.places = 4}};
  interface.publish(meeting, slot.ticket());
  for (int i = 0; i != kDeaths; ++i) {
    const auto victim = static_cast<pid_t>(next(queue, Notification::Kind::message).word);
    const std::uint64_t start = hamlyn_ticks();
    kill(victim, SIGKILL);
    next(queue, Notification::Kind::link_ended);
    room.report(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
  }
}

int be_killed(const std::string& meeting) {
  Interface interface;
  Terminus terminus{interface};
  const Ticket ticket = interface.lookup(meeting, seconds{10});
  Status status = terminus.connect(ticket, seconds{10});
  if (status == Status::ok) status = terminus.send_fast(ticket, {}, static_cast<std::uint64_t>(getpid()));
  while (status == Status::ok) pause();
  return 1;
}

}  // namespace

Meter death_latency() {
  const auto round = [](Cores cores, int) {
    const std::string meeting = new_meeting();
    return run_pair(
        cores, {.results = kDeaths}, [&](Room& room) { survive(room, meeting); },
        [&](Room&) {
          for (int i = 0; i != kDeaths; ++i) {
            Worker victim([&] { return be_killed(meeting); });
            victim.wait();
          }
        });
  };
  return {.name = "shm.death.oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
