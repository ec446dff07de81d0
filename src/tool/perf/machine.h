#pragma once
// Where and when figures were measured.
#include <string>

#include "tool/perf/cores.h"

namespace hamlyn::tool::perf {

// Processor, number of processors, system, and the two processors measured on, in one line.
std::string describe_machine(Cores cores);

// Now, UTC, as in 2026-11-20T17:03:00Z.
std::string utc_now();

}  // namespace hamlyn::tool::perf
