// Watch and doorbell: nobody sleeps for ever.
#include "fabric/shm/bell.h"
#include "fabric/shm/credit.h"
#include "fabric/shm/ring.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

namespace {

using Bell = shm::Bell<Explored>;
using Sleeper = shm::Sleeper<Explored>;
using shm::Credit;

std::string nothing_more(const std::vector<std::vector<std::uint64_t>>&) { return {}; }

struct Link {
  interface::Packet cell[4] = {};
  std::uint64_t taken = 0;
  std::uint32_t watch = 0, doorbell = 0;
};

// Sleeps until `there` says so; under way it is told by the doorbell.
template <class There>
void sleep_until(Link& link, std::uint32_t& epoch, std::uint32_t wants_room, const There& there) {
  while (!there()) {
    epoch += 2;
    const std::uint32_t value = Sleeper::arm(link.doorbell, link.watch, epoch | wants_room);
    Sleeper::armed();
    if (!there()) Explorer::sleep_while(link.doorbell, value);
    Sleeper::disarm(link.watch);
  }
}

// The receiver sleeps whenever it finds nothing, and takes `Packets`.
template <int Packets>
std::string arrivals(Model model) {
  static Link link;
  link = Link{};
  Explorer explorer(bytes_of(link), model);
  explorer.add([] {
    shm::RingWriter<Explored> writer;
    writer.reset(link.cell, 4, 0);
    Bell bell;
    bell.reset(&link.watch, &link.doorbell);
    for (int i = 0; i < Packets; ++i) {
      writer.put({}, nullptr, nullptr);
      if (bell.must_ring()) Explorer::wake(link.doorbell);
    }
  });
  explorer.add([] {
    shm::RingReader<Explored> reader;
    reader.reset(link.cell, 4);
    std::uint32_t epoch = 0;
    for (int taken = 0; taken < Packets; ++taken) {
      sleep_until(link, epoch, 0, [&] { return reader.something_there(); });
      reader.skip(1);
    }
  });
  return explorer.explore(nothing_more);
}

// A sender sleeps until it is told that two cells were taken.
std::string room(Model model, std::uint32_t wants_room) {
  static Link link;
  static std::uint32_t wants;
  link = Link{};
  wants = wants_room;
  Explorer explorer(bytes_of(link), model);
  explorer.add([] {
    Bell bell;
    bell.reset(&link.watch, &link.doorbell);
    for (std::uint64_t taken = 1; taken <= 2; ++taken) {
      Credit<Explored>::tell(link.taken, taken);
      if (bell.must_ring(true)) Explorer::wake(link.doorbell);
    }
  });
  explorer.add([] {
    std::uint32_t epoch = 0;
    sleep_until(link, epoch, wants, [] { return Credit<Explored>::told(link.taken) == 2; });
  });
  return explorer.explore(nothing_more);
}

}  // namespace

std::string room_unasked(Model model) { return room(model, 0); }

std::vector<Scenario> bell_scenarios() {
  return {{"arrival", arrivals<1>}, {"arrivals", arrivals<2>}, {"room", [](Model model) {
                                                                  return room(model, shm::kWantsRoom);
                                                                }}};
}

}  // namespace hamlyn::test
