#pragma once
// Limits of this machine at best, without any protocol: two processes and shared memory.
#include <cstddef>

#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

// One cache line each way, each side writing its own.
Meter cacheline_limit();
// A locked addition to a word that the other core adds to all the time.
Meter fetch_add_limit();
// A line is read to which the other core writes all the time.
Meter read_limit();
// Futex wake of a process that sleeps.
Meter wake_limit();
// Futex wake of one that has slept for longer.
Meter long_wake_limit();
// Futex wake of a thread on whose processor another one computes, until its store is seen.
Meter computing_wake_limit();
// Messages that do not change, copied once by the receiver.
Meter copy_limit(std::size_t bytes);
// Messages filled by the sender and read where they lie by the receiver.
Meter place_limit(std::size_t bytes, bool read_only = false);
// A file in memory through a Unix socket, through a pipe, to another one.
Meter socket_limit();
Meter pipe_limit();

}  // namespace hamlyn::tool::perf
