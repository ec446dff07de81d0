// A peer that overwrites all the memory it shares while the victim reads it, for some seconds in each of
// several ways, with links made anew as often as the victim ends them. As another user when we are root.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "test/hostile/scribbler.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Short in each test run, under another seed each time; scripts/soak gives each way longer.
std::chrono::milliseconds time_of_each_way() {
  const char* const named = std::getenv("HAMLYN_TEST_SCRIBBLE_MS");
  return named == nullptr ? 1500ms : std::chrono::milliseconds{std::stoul(named)};
}

struct Totals {
  std::uint64_t links = 0;
  std::uint64_t turns = 0;
  std::uint64_t reached = 0;
};

// Everything that a good ticket of the victim's is for.
ScribbleTargets targets_of(const Tickets& tickets) {
  ScribbleTargets targets{tickets.fast, {}};
  for (const auto* const row : {&tickets.counted, &tickets.paranoid, &tickets.one_shot})
    targets.entries.insert(targets.entries.end(), row->begin(), row->end());
  return targets;
}

void scribble(Scribbler::Way way, void (World::*order)(const Ticket&) = &World::send_to) {
  World::Options stage;
  stage.other_user = ::geteuid() == 0;
  World world(stage);
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  SCOPED_TRACE(seed);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    std::mt19937_64 random(seed);
    const ScribbleTargets targets = targets_of(world.tickets());
    line.put(self.id());
    const auto end = Clock::now() + time_of_each_way();
    Totals totals;
    while (Clock::now() < end) {
      RogueLink link = self.connect(world.victim());
      ++totals.links;
      // Some links are left to the victim to end, some are hung up.
      const auto leave = std::min(end, Clock::now() + std::chrono::milliseconds(random() % 300));
      Scribbler scribbler(link, targets, random);
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
  const Ticket back = World::ticket_back(*id);
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
TEST(HostileScribble, CreditsBackwards) { scribble(&Scribbler::credits_backwards); }
TEST(HostileScribble, WatchAndBell) { scribble(&Scribbler::watch_and_bell); }
TEST(HostileScribble, GrownRing) { scribble(&Scribbler::grown_ring); }
TEST(HostileScribble, ShownArea) { scribble(&Scribbler::shown_area); }
TEST(HostileScribble, MappedSlot) { scribble(&Scribbler::mapped_slot, &World::map); }
TEST(HostileScribble, SingleBits) { scribble(&Scribbler::single_bits); }

}  // namespace
}  // namespace hamlyn::test
