#pragma once
// What the victim and the neighbour do (world.h). Each runs in a process of its own.
#include <string>

#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"

namespace hamlyn::test {

struct Order {
  enum class Kind : std::uint32_t { report, tickets, echo_to, send_to, map };
  Kind kind{};
  Ticket ticket;
};

// Says the ticket of the neighbour's slot, then obeys.
int be_victim(Line& line, const Interface::Options& options, bool rearm);
// Says the ticket of its own slot; sends, waits for the echo, and so on for ever. A round that takes too long
// ends it.
int be_neighbour(Line& line, const std::string& node, const Ticket& victim);

}  // namespace hamlyn::test
