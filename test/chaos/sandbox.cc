#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {

Sandbox::Sandbox(Stage& stage, Interface& interface)
    : area_(interface, 4096),
      queue_(interface, 64),
      slot_(area_, queue_, {.entries = kEntries, .places = 8}) {
  Seat& seat = stage.ledger().seats[stage.seat()];
  ++seat.sandbox;
  seat.tickets[0] = slot_.ticket();
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) seat.tickets[entry + 1] = slot_.ticket(entry);
  ++seat.sandbox;
}

void Sandbox::rake() noexcept {
  for (int i = 0; i < 64; ++i) {
    const auto next = queue_.poll();
    if (!next) return;
    if (next->slot == slot_.number() && !next->fast &&
        (next->kind == Notification::Kind::message || next->kind == Notification::Kind::failed))
      static_cast<void>(slot_.arm(next->entry));
  }
}

}  // namespace hamlyn::chaos
