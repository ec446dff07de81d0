#pragma once
// One run of processes that use the protocols, decided by its seed and nothing else.
#include "simulation/run.h"

namespace hamlyn::simulation {

// `reader` hears of each event.
Result run_protocols(std::uint64_t seed, Trace::Reader reader = {});

}  // namespace hamlyn::simulation
