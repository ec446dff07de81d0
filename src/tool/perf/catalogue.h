#pragma once
// Every figure of the machine and of ours, in the order in which a round measures them: what is compared with
// each other stands together, so that the machine's drift hits both alike.
#include <string>
#include <vector>

#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

std::vector<Meter> catalogue();

}  // namespace hamlyn::tool::perf
