#pragma once
// Faults that may happen in a run, and how the run's processes are spread.
#include <cstdint>

namespace hamlyn::simulation {

enum class Fault : std::uint8_t {
  overtaken,     // a packet or a frame came before one that had left earlier
  lost,          // a frame
  repeated,      // a frame
  partition,     // nothing gets from one host to another, for a while
  cut,           // a link
  stop,          // of a process, for a moment
  stall,         // the same, for longer than its peers wait
  death,         // of a process
  restart,       // of one that has died: another comes in its place
  link_refused,  // a quota of the node is used up
  queue_full,    // the work queue of a terminus, or a link's share of requests
  no_place,      // in the receiver's queue
  slow_disk,     // it takes its time
  disk_failure,
  count
};

// How the processes of a run are spread.
enum class Topology : std::uint8_t {
  in_order,    // one host, links keep the order
  overtaking,  // one host, packets overtake each other
  hosts,       // several hosts, with a wire that loses, repeats and delays between them
  count
};

}  // namespace hamlyn::simulation
