#pragma once
// From ticks to nanoseconds.
#include <cstdint>

#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

// Nanoseconds per tick, measured once against the system's clock (20 ms). Call it before the first fork, so
// that measuring processes inherit the value.
double ns_per_tick();

// Ticks that a reading of the clock costs, likewise measured once: of many in a row, for some clocks move in
// steps.
double ticks_per_reading();

}  // namespace hamlyn::tool::perf
