#pragma once
// Bounds that are computed from figures of the same run.
#include <vector>

#include "tool/perf/figure.h"

namespace hamlyn::tool::perf {

// Adds those that can be computed:
//   limit.urgent.16.oneway        shm.fast.16.oneway and the time of two MTU packets, 2 x 32768 bytes at
//                                 shm.message.65536.bandwidth
//   limit.links1000.cold.16.oneway  shm.links1000.16.oneway and 3 us
void add_derived(std::vector<Figure>& figures);

}  // namespace hamlyn::tool::perf
