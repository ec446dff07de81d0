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

// When the word is read on which somebody sleeps: before his look, or, which is wrong, behind it.
enum class Read { early, late };

// Sleeps until `there` says so; under way it is told by the doorbell.
template <class There>
void sleep_until(Link& link, std::uint32_t& epoch, std::uint32_t wants_room, const There& there,
                 Read read = Read::early) {
  while (!there()) {
    epoch += 2;
    std::uint32_t value = Sleeper::arm(link.doorbell, link.watch, epoch | wants_room);
    Sleeper::armed();
    const bool found = there();
    if (read == Read::late) value = Explored::load_relaxed(link.doorbell);
    if (!found) Explorer::sleep_while(link.doorbell, value);
    Sleeper::disarm(link.watch);
  }
}

// The receiver sleeps whenever it finds nothing, and takes `Packets`.
template <int Packets, Read kRead = Read::early>
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
      sleep_until(
          link, epoch, 0, [&] { return reader.something_there(); }, kRead);
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

// Of one process, under its run lock (run_lock_scenarios.cc explores that); `word` moves under it as well,
// and is read by the kernel without it.
struct Process {
  std::uint32_t lock = 0, arrived = 0, waiting = 0, word = 0;
  void enter() { Explorer::take(&lock, sizeof lock); }
  void leave() { Explorer::store(&lock, 0, sizeof lock, Order::ordered); }
};

// One waits beside the sleeper, as `Engine::wait` does it, and the sleeper brings what it waits for.
std::string beside(Model model, Read read) {
  static Process process;
  static Read when;
  process = Process{};
  when = read;
  Explorer explorer(bytes_of(process), model);
  explorer.add([] {
    process.enter();
    Explored::store_relaxed(process.arrived, 1u);
    const bool tells = Explored::load_relaxed(process.waiting) != 0;
    if (tells) Explored::store_relaxed(process.word, Explored::load_relaxed(process.word) + 1);
    process.leave();
    if (tells) Explorer::wake(process.word);
  });
  explorer.add([] {
    for (;;) {
      process.enter();
      std::uint32_t value = Explored::load_relaxed(process.word);
      if (Explored::load_relaxed(process.arrived) != 0) return process.leave();
      Explored::store_relaxed(process.waiting, 1u);
      process.leave();
      if (when == Read::late) value = Explored::load_relaxed(process.word);
      Explorer::sleep_while(process.word, value);
    }
  });
  return explorer.explore(nothing_more);
}

}  // namespace

std::string room_unasked(Model model) { return room(model, 0); }
std::string doorbell_read_late(Model model) { return arrivals<1, Read::late>(model); }
std::string word_read_late(Model model) { return beside(model, Read::late); }

std::vector<Scenario> bell_scenarios() {
  return {{"arrival", arrivals<1>},
          {"arrivals", arrivals<2>},
          {"room", [](Model model) { return room(model, shm::kWantsRoom); }},
          {"beside", [](Model model) { return beside(model, Read::early); }}};
}

}  // namespace hamlyn::test
