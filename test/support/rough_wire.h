#pragma once
// The wire of a test between hosts is what it is in a simulation.
#include "simulation/rough_wire.h"

namespace hamlyn::test {

using simulation::RoughNet;
using simulation::RoughPort;

}  // namespace hamlyn::test
