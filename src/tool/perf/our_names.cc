// Names between two nodes (paper 4, table 7.3): what a program waits when it registers one, takes it back,
// and looks one up that another node has. Both ends are here: the node of the name does nothing for a read.
#include <algorithm>
#include <chrono>
#include <string>

#include "hamlyn/hamlyn.h"
#include "node/client/list.h"
#include "tool/perf/clock.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::size_t kTimes = 500;
constexpr LookupOptions kCached{.cached = true};

struct Ends {
  explicit Ends(Clerks clerks) : owner(options(1, clerks)), asker(options(0, clerks)) {}
  static Interface::Options options(int side, Clerks clerks) {
    Interface::Options options;
    options.node = far_node(side, clerks);
    return options;
  }

  Interface owner;
  Interface asker;
  MessageArea area{owner, 4096};
  NotificationQueue queue{owner};
  Slot slot{area, queue, {.places = 4}};
  std::string name = new_meeting();
};

bool has_clerk(int side) {
  node::ClientOptions options;
  options.socket = far_node(side, Clerks::yes);
  options.start_node = false;
  const auto attached = node::list(options).attached;
  return std::any_of(attached.begin(), attached.end(),
                     [](const auto& one) { return one.program == "hamlyn-clerk"; });
}

// Until names are read: both clerks are there, and have a link.
void warm_up(Ends& ends) {
  const auto deadline = std::chrono::steady_clock::now() + seconds{20};
  while (!has_clerk(0) || !has_clerk(1)) {
    expect(std::chrono::steady_clock::now() < deadline, "no clerk is started");
    static_cast<void>(ends.asker.lookup(ends.name));
  }
  // A second at most until a registry is asked for again, and half of one for the link.
  const auto end = std::chrono::steady_clock::now() + seconds{2};
  while (std::chrono::steady_clock::now() < end) static_cast<void>(ends.asker.lookup(ends.name));
}

template <class Operation>
std::vector<double> time_each(Operation&& operation) {
  std::vector<double> took;
  took.reserve(kTimes);
  for (std::size_t i = 0; i < kTimes; ++i) {
    const std::uint64_t start = hamlyn_ticks();
    operation(i);
    took.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
  }
  return took;
}

template <class Measure>
Meter meter(const char* name, Clerks clerks, Measure measure) {
  const auto round = [clerks, measure](Cores cores, int) {
    far_node(0, clerks);  // here, once for all rounds
    return run_pair(
        cores, {.results = kTimes},
        [&](Room& room) {
          Ends ends{clerks};
          ends.owner.publish(ends.name, ends.slot.ticket());
          static_cast<void>(ends.asker.lookup(ends.name, seconds{20}));  // the two nodes may not have met yet
          if (clerks == Clerks::yes) warm_up(ends);
          room.report(measure(ends));
        },
        [](Room&) {});
  };
  return {.name = std::string("ofi.names.") + name, .round = round, .single_operations = true};
}

std::string numbered(const Ends& ends, std::size_t i) { return ends.name + "." + std::to_string(i); }

}  // namespace

Meter names_export() {
  return meter("export", Clerks::yes, [](Ends& ends) {
    const Ticket ticket = ends.slot.ticket();
    return time_each([&](std::size_t i) { ends.owner.publish(numbered(ends, i), ticket); });
  });
}

Meter names_revoke() {
  return meter("revoke", Clerks::yes, [](Ends& ends) {
    for (std::size_t i = 0; i < kTimes; ++i) ends.owner.publish(numbered(ends, i), ends.slot.ticket());
    return time_each([&](std::size_t i) { ends.owner.withdraw(numbered(ends, i)); });
  });
}

Meter names_import_cached() {
  return meter("import.cached", Clerks::yes, [](Ends& ends) {
    return time_each([&](std::size_t) { static_cast<void>(ends.asker.lookup(ends.name, kCached)); });
  });
}

Meter names_import_read() {
  return meter("import.uncached", Clerks::yes, [](Ends& ends) {
    return time_each([&](std::size_t) { static_cast<void>(ends.asker.lookup(ends.name)); });
  });
}

Meter names_import_asked() {
  return meter("import.asked", Clerks::no, [](Ends& ends) {
    return time_each([&](std::size_t) { static_cast<void>(ends.asker.lookup(ends.name)); });
  });
}

}  // namespace hamlyn::tool::perf
