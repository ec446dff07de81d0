#pragma once
// One run of processes that use the protocols, decided by its seed and nothing else.
#include "test/simulation/books/run.h"

namespace hamlyn::simulation {

// `reader` hears of each event.
Result run_protocols(const Program& program, Trace::Reader reader = {});
inline Result run_protocols(std::uint64_t seed, Trace::Reader reader = {}) {
  return run_protocols(Program{seed, {}, {}}, std::move(reader));
}

}  // namespace hamlyn::simulation
