// A peer that overwrites all the memory it shares while the victim reads it, for some seconds in each of
// several ways, with links made anew as often as the victim ends them. As another user when we are root.
#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <iostream>
#include <random>

#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using base::RealMemory;
using interface::Operation;
using interface::Packet;

// A minute in all, of the release build and the sanitizers' together: what those can find, they find early.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto kTime = 1500ms;
#else
constexpr auto kTime = 4500ms;
#endif

class Scribbler {
 public:
  Scribbler(RogueLink& link, const Tickets& tickets, std::mt19937_64& random)
      : link_(link),
        tickets_(tickets),
        random_(random),
        words_(reinterpret_cast<std::uint64_t*>(&link.mine())) {}

  // The ways. Each writes for a while and returns.
  void everything() {
    for (std::size_t i = 0; i < kWords; ++i) store(i, random_());
  }
  void everywhere_at_random() {
    for (int i = 0; i < 256; ++i) store(random_() % kWords, random_());
  }
  // The reader finds a packet, of which nothing else makes sense.
  void turns_with_anything_behind() {
    const std::uint32_t turn = this->turn();
    for (Packet* cell = link_.mine().replies; cell != link_.mine().cells + shm::kHomeCells; ++cell) {
      for (std::size_t i = 1; i < 8; ++i) store(index_of(cell) + i, random_());
      store(index_of(cell), (random_() & ~std::uint64_t{0xFFFFFFFF}) | turn);
    }
  }
  // Leads that the link takes, over fields that are right but for one.
  void packets_with_one_wrong_field() {
    for (std::uint32_t cell = 0; cell < shm::kHomeCells; ++cell) {
      Packet packet = some_packet();
      reinterpret_cast<std::uint32_t*>(&packet)[2 + random_() % 9] = static_cast<std::uint32_t>(random_());
      publish(&link_.mine().cells[cell], packet);
    }
  }
  // Whole ones, that change again at once, while they are being read.
  void packets_that_change() {
    Packet* const cell = &link_.mine().cells[random_() % shm::kHomeCells];
    Packet packet = some_packet();
    for (int i = 0; i < 64; ++i) {
      packet.lead.length = static_cast<std::uint16_t>(random_() % 2 == 0 ? 16 : random_());
      packet.offset = random_() % 2 == 0 ? 0 : random_();
      publish(cell, packet);
    }
  }
  void credits() {
    shm::Page& page = link_.mine();
    const std::uint64_t any = random_() % 3 == 0 ? random_() : random_() % 200;
    RealMemory::store_release(page.credits.taken, any);
    RealMemory::store_release(page.credits.replies_taken, random_() % 20);
  }
  void watch_and_bell() {
    shm::Page& page = link_.mine();
    RealMemory::store_release(page.watch.watch, static_cast<std::uint32_t>(random_()));
    RealMemory::store_release(page.watch.doorbell, static_cast<std::uint32_t>(random_()));
    link_.ring();
    publish(&link_.mine().cells[random_() % shm::kHomeCells], some_packet());
  }
  void single_bits() {
    const std::size_t at = random_() % kWords;
    store(at, RealMemory::load_relaxed(words_[at]) ^ std::uint64_t{1} << random_() % 64);
    publish(&link_.mine().cells[random_() % shm::kHomeCells], some_packet());
  }
  // The link goes on in a longer ring, where anything may stand.
  void grown_ring() {
    if (link_.cells().size() == shm::kHomeCells && !link_.grow(shm::kGrownCells[0])) return;
    ++reached_;
    const std::span<Packet> ring = link_.cells();
    auto* const words = reinterpret_cast<std::uint64_t*>(ring.data());
    const std::uint64_t taken = RealMemory::load_relaxed(link_.theirs().credits.taken);
    const std::size_t next = (taken - grown_at()) % ring.size();
    const auto turn = static_cast<std::uint32_t>((taken - grown_at()) / ring.size() + 1);
    // Of the cells that are looked at next, each is one of these.
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t cell = (next + i) % ring.size();
      if (random_() % 4 == 0) {
        for (std::size_t word = 1; word < 8; ++word)
          RealMemory::store_relaxed(words[cell * 8 + word], random_());
      } else {
        Packet packet = some_packet();
        if (random_() % 4 == 0)
          reinterpret_cast<std::uint32_t*>(&packet)[2 + random_() % 9] =
              static_cast<std::uint32_t>(random_());
        if (random_() % 64 == 0) packet.lead.operation = Operation::continue_ring;
        copy(packet, words + cell * 8);
      }
      Packet lead = some_packet();
      lead.lead.turn = turn + (random_() % 64 == 0 ? 1 : 0);
      RealMemory::store_release(words[cell * 8], shm::word_of(lead.lead));
    }
  }
  // Packets whose data stand in an area that changes while it is copied, or somewhere else.
  void shown_area() {
    if (!area_.mapping) {
      area_ = shm::make_sealed_memory(kAreaBytes);
      if (!link_.show_area(area_)) return;
      ++reached_;
    }
    auto* const area = static_cast<std::uint64_t*>(area_.mapping.data());
    for (int i = 0; i < 16; ++i) {
      interface::AreaPart part {
        1, 1, static_cast<std::uint32_t>(1 + random_() % 256), random_() % (kAreaBytes - 256)
      };
      if (random_() % 8 == 0) part.length = static_cast<std::uint32_t>(random_());
      if (random_() % 8 == 0) part.offset = random_() % 2 == 0 ? random_() : kAreaBytes - random_() % 300;
      if (random_() % 16 == 0) part.number = static_cast<std::uint16_t>(random_());
      if (random_() % 16 == 0) part.generation = static_cast<std::uint16_t>(random_() % 3);
      Packet packet = packet_for(tickets_.counted[random_() % kEntries], sizeof part);
      interface::set_lead(packet, Operation::area_write, sizeof part, 0);
      if (!link_.put(packet, &part)) return;
      for (std::size_t word = 0; word < 4096; ++word)
        RealMemory::store_relaxed(area[random_() % (kAreaBytes / 8)], random_());
    }
  }
  // A slot that the victim maps, and the word that says whether it is still used.
  void mapped_slot() {
    if (!area_.mapping) {
      area_ = shm::make_sealed_memory(kAreaBytes);
      generation_ = shm::make_sealed_memory(sizeof(shm::Page));
    }
    for (pollfd asked{link_.socket(), POLLIN, 0}; ::poll(&asked, 1, 0) == 1;) {
      const auto request = link_.hear();
      if (!request) return;
      if (request->word == library::LinkWord::import && !answer(*request)) return;
    }
    auto* const words = static_cast<std::uint64_t*>(area_.mapping.data());
    for (std::size_t i = 0; i < 4096; ++i)
      RealMemory::store_relaxed(words[random_() % (kAreaBytes / 8)], random_());
    RealMemory::store_release(*static_cast<std::uint64_t*>(generation_.mapping.data()), random_() % 4);
  }

  // How often the victim has taken what a way is about.
  std::uint64_t reached() const noexcept { return reached_; }

 private:
  bool answer(const library::LinkMessage& request) {
    library::LinkMessage message;
    message.word = library::LinkWord::imported;
    message.value = request.value;
    message.bytes = kAreaBytes;
    message.offset = 4096;
    message.bound = kAreaBytes - 4096;
    message.key = random_() % 4;
    if (random_() % 4 == 0) {
      std::uint64_t* const fields[] = {&message.bytes, &message.offset, &message.bound, &message.value};
      *fields[random_() % 4] = random_() % 2 == 0 ? random_() : kAreaBytes + 4096 * (random_() % 3);
    }
    ++reached_;
    const int both[] = {area_.memfd.get(), generation_.memfd.get()};
    return link_.say(message, both);
  }

  static constexpr std::size_t kWords = shm::kPage / 8;
  static constexpr std::size_t kAreaBytes = 256 * 1024;

  // Cells that were taken before the longer ring.
  static constexpr std::uint64_t grown_at() { return 1; }
  static void copy(const Packet& packet, std::uint64_t* to) {
    for (std::size_t i = 1; i < 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&packet) + 8 * i, 8);
      RealMemory::store_relaxed(to[i], word);
    }
  }

  void store(std::size_t word, std::uint64_t value) { RealMemory::store_relaxed(words_[word], value); }
  std::size_t index_of(const Packet* cell) const {
    return static_cast<std::size_t>(reinterpret_cast<const std::uint64_t*>(cell) - words_);
  }
  // The one that the victim will look for, or near to it.
  std::uint32_t turn() {
    const std::uint64_t taken = RealMemory::load_relaxed(link_.theirs().credits.taken);
    return static_cast<std::uint32_t>(taken / shm::kHomeCells + 1 + random_() % 2);
  }
  Packet some_packet() {
    const std::size_t which = random_() % (3 * kEntries + 1);
    const Ticket& ticket = which < kEntries       ? tickets_.counted[which]
                           : which < 2 * kEntries ? tickets_.paranoid[which - kEntries]
                           : which < 3 * kEntries ? tickets_.one_shot[which - 2 * kEntries]
                                                  : tickets_.fast;
    Packet packet = packet_for(ticket, random_() % 4 == 0 ? 1024 : random_() % 17);
    if (random_() % 8 == 0) packet.lead.operation = static_cast<Operation>(random_() % 16);
    if (random_() % 2 == 0) packet.delta = static_cast<std::uint32_t>(random_() % 4);
    return packet;
  }
  void publish(Packet* to, Packet packet) {
    packet.lead.turn = turn();
    copy(packet, words_ + index_of(to));
    RealMemory::store_release(words_[index_of(to)], shm::word_of(packet.lead));
  }

  RogueLink& link_;
  const Tickets& tickets_;
  std::mt19937_64& random_;
  std::uint64_t* const words_;
  shm::OwnedMemory area_;
  shm::OwnedMemory generation_;
  std::uint64_t reached_ = 0;
};

struct Totals {
  std::uint64_t links = 0;
  std::uint64_t turns = 0;
  std::uint64_t reached = 0;
};

using Way = void (Scribbler::*)();

void scribble(Way way, void (World::*order)(const Ticket&) = &World::send_to) {
  World::Options stage;
  stage.other_user = ::geteuid() == 0;
  World world(stage);
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  SCOPED_TRACE(seed);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    std::mt19937_64 random(seed);
    line.put(self.id());
    const auto end = Clock::now() + kTime;
    Totals totals;
    while (Clock::now() < end) {
      RogueLink link = self.connect(world.victim());
      ++totals.links;
      // Some links are left to the victim to end, some are hung up.
      const auto leave = std::min(end, Clock::now() + std::chrono::milliseconds(random() % 300));
      Scribbler scribbler(link, world.tickets(), random);
      do {
        (scribbler.*way)();
        link.ring();
        ++totals.turns;
      } while (Clock::now() < leave && !link.ended());
      totals.reached += scribbler.reached();
      link.hang_up();
      self.end(link);
    }
    line.put(totals);
    return 0;
  });
  const auto id = rogue.line().take<std::uint64_t>();
  ASSERT_TRUE(id);
  Ticket back;
  back.interface = *id;
  back.entry = 0;
  back.bound = 1 << 20;
  while (rogue.running() && !testing::Test::HasFailure()) {
    (world.*order)(back);  // so that the victim uses what the rogue says of credits, too
    world.expect_goes_on();
  }
  EXPECT_EQ(rogue.wait(), 0);
  const auto totals = rogue.line().take<Totals>();
  ASSERT_TRUE(totals);
  const interface::CounterPage page = world.counters();
  std::uint64_t refused = page.links_broken;
  for (const std::uint64_t count : page.refused) refused += count;
  std::cout << totals->links << " links, " << totals->turns << " times over, " << page.links_broken
            << " links broken, " << refused - page.links_broken << " packets refused\n";
  EXPECT_GT(refused, 0u) << "the counters say that something was wrong";
  const bool apart =
      way == &Scribbler::grown_ring || way == &Scribbler::shown_area || way == &Scribbler::mapped_slot;
  EXPECT_EQ(totals->reached != 0, apart) << "the victim has taken the ring, the area or the slot";
  EXPECT_EQ(world.report().mapped != 0, way == &Scribbler::mapped_slot);
  world.expect_clean();
}

TEST(HostileScribble, Everything) { scribble(&Scribbler::everything); }
TEST(HostileScribble, EverywhereAtRandom) { scribble(&Scribbler::everywhere_at_random); }
TEST(HostileScribble, TurnsWithAnythingBehind) { scribble(&Scribbler::turns_with_anything_behind); }
TEST(HostileScribble, PacketsWithOneWrongField) { scribble(&Scribbler::packets_with_one_wrong_field); }
TEST(HostileScribble, PacketsThatChange) { scribble(&Scribbler::packets_that_change); }
TEST(HostileScribble, Credits) { scribble(&Scribbler::credits); }
TEST(HostileScribble, WatchAndBell) { scribble(&Scribbler::watch_and_bell); }
TEST(HostileScribble, GrownRing) { scribble(&Scribbler::grown_ring); }
TEST(HostileScribble, ShownArea) { scribble(&Scribbler::shown_area); }
TEST(HostileScribble, MappedSlot) { scribble(&Scribbler::mapped_slot, &World::map); }
TEST(HostileScribble, SingleBits) { scribble(&Scribbler::single_bits); }

}  // namespace
}  // namespace hamlyn::test
