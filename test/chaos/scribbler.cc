// A rogue with a good link and good tickets: it writes anything into all the memory that it shares with a
// receiver.
#include <optional>

#include "test/chaos/roles.h"
#include "test/hostile/scribbler.h"
#include "test/support/rogue.h"

namespace hamlyn::chaos {
namespace {

using test::Scribbler;

// What somebody who lives allows, if it can be had.
std::optional<test::ScribbleTargets> targets_of(const Seat& seat) {
  const std::uint64_t before = seat.sandbox;
  if (before == 0 || before % 2 != 0) return std::nullopt;
  test::ScribbleTargets targets;
  targets.fast = seat.tickets[0];
  targets.entries.assign(seat.tickets.begin() + 1, seat.tickets.end());
  if (seat.sandbox != before || targets.fast.interface != seat.interface) return std::nullopt;
  return targets;
}

void scribble_over(Stage& stage, test::Rogue& self, const test::ScribbleTargets& targets,
                   std::mt19937_64& random) {
  auto link = self.introduce(targets.fast.interface);
  if (!link) return;
  if (link->exchange(self.id())) {
    Scribbler scribbler(*link, targets, random);
    const Scribbler::Way way = Scribbler::kWays[stage.chance(Scribbler::kWays.size())];
    for (std::uint64_t turns = stage.chance(1, 200); turns != 0 && !link->ended() && !stage.resting();
         --turns) {
      (scribbler.*way)();
      link->ring();
    }
    ++stage.ledger().tally.scribbles;
  }
  link->hang_up();
  self.end(*link);
}

}  // namespace

int scribble(Stage& stage) {
  test::Rogue self(stage.node());
  std::mt19937_64 random(stage.chance(~std::uint64_t{0}));
  while (!stage.leaving()) {
    stage.rest();
    const Seat& seat = stage.ledger().seats[stage.chance(kSeats)];
    if (const auto targets = targets_of(seat)) {
      scribble_over(stage, self, *targets, random);
      stage.breathe();
    }
  }
  return 0;
}

}  // namespace hamlyn::chaos
