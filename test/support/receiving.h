#pragma once
// The receive side of a test is that of a simulation.
#include "test/simulation/books/owned_slot.h"
#include "test/support/party.h"

namespace hamlyn::test {

using simulation::Area;
using simulation::pattern;
using simulation::same;
using simulation::take;
using TestSlot = simulation::OwnedSlot;

}  // namespace hamlyn::test
