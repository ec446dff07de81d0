#pragma once
// Every figure that can be measured here, and, if they are wanted, those of peers that are installed: each
// stands behind the figures of ours that it is compared with, so that the machine's drift hits both alike.
#include <vector>

#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

std::vector<Meter> catalogue_with(bool peers);

}  // namespace hamlyn::tool::perf
