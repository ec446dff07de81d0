#pragma once
// Figures that others reach on this machine, measured by their own tools or by small programs of ours
// (bench/).
#include <cstddef>
#include <string>
#include <vector>

#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

// Returns, for the peers that are missing, what each is and how it gets here.
std::vector<std::string> absent_peers();

// The path of one of our programs for peers.
std::string peer_program(const std::string& name);

// libfabric's engine `net` as it is, on loopback.
bool libfabric_probe_installed();
// `how`: oneway, blocked (one way, both asleep) or bandwidth.
Meter libfabric_meter(const std::string& how, std::size_t bytes);

// Null calls of others over Unix sockets, `grpc` and `capnp`: roundtrip, blocked (300 us between them) or
// rate; and ours by hand over a stream of TCP, `tcp_calls`: null, minus or maxarg.
bool calls_installed(const std::string& peer);
Meter calls_meter(const std::string& peer, const std::string& how);

// UCX, by ucx_perftest.
struct UcxTest {
  std::string transport;  // posix, cma or tcp
  std::string kind;       // tag, am or put
  std::size_t bytes;
  std::string measure;  // oneway, rate or bandwidth
};
bool ucx_installed();
Meter ucx_meter(const UcxTest& test);
// UCX's active messages of 4096 bytes, filled by their sender and read whole by their handler: oneway or
// bandwidth (16 under way).
bool ucx_am_installed();
Meter ucx_am_touched(const std::string& measure);

// Open MPI: two-sided messages over its shared memory.
bool openmpi_installed();
Meter openmpi_send(std::size_t bytes);
Meter openmpi_touched(std::size_t bytes);

// Open MPI's OSHMEM: a word put into the other's memory, which waits for it. Nothing is checked.
bool oshmem_installed();
Meter oshmem_put();

}  // namespace hamlyn::tool::perf
