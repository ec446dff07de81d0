#pragma once
// What has really happened in runs: which kind of operation met which fault, where. An operation has met a
// fault of a link or a process if it was under way there when that struck; one of a queue or a disk, if it
// was told of it.
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

#include "hamlyn/values/status.h"
#include "simulation/fault.h"

namespace hamlyn::simulation {

enum class OperationKind : std::uint8_t {
  message,
  message_paranoid,
  message_one_shot,
  message_cancelled,  // by its sender, if that is still possible
  message_turned,     // of numbers, where the byte orders differ
  share,              // of a group
  fast,
  fetch,          // an addition
  fetch_bits,     // and, or, xor
  fetch_swap,     // and compare-and-swap
  fetch_extreme,  // minimum, maximum
  fetch_told,     // any of these three that its owner is to be told of
  get,
  get_turned,  // likewise
  durable,
  gathered,  // out of send buffer areas
  merged,    // told of with others
  put,
  scattered_put,
  put_turned,  // likewise, scattered or not
  signal,
  fence,
  posted,  // to a posted buffer
  // Of the protocols' program.
  datagram,         // whose sender waits for the answer
  silent_datagram,  // that nobody answers
  stream_opening,
  stream,        // for as long as its sender has it open
  byte_stream,   // the same, of one that is read as bytes
  stream_piece,  // a record out of a send buffer area, until its bytes are free
  stream_closing,
  tagged_opening,
  tagged_writes,  // for as long as there is who sends them
  loan_opening,
  loan,            // for as long as its receiver has it
  multicast,       // to one of its recipients
  bulk,            // into space that was made for it
  bulk_ring,       // for as long as there is who fills it
  mapping,         // a slot of another's
  stored_message,  // into a mapped slot, and a packet that says so
  board_message,   // as packets, to one that others have mapped
  segment_opening,
  segment_write,    // by packets; of a mapped one there is nothing that anything could happen to
  segment_read,     // likewise
  segment_swap,     // likewise
  sure_swap,        // likewise
  record_write,     // likewise
  record_read,      // likewise
  scattered_write,  // likewise
  gathered_read,    // likewise
  fast_row,         // for as long as there is who sends them
  count
};

inline constexpr std::size_t kKinds = static_cast<std::size_t>(OperationKind::count);
inline constexpr std::size_t kFaults = static_cast<std::size_t>(Fault::count);
inline constexpr std::size_t kTopologies = static_cast<std::size_t>(Topology::count);
using Kinds = std::bitset<kKinds>;

const char* name(OperationKind kind) noexcept;
const char* name(Fault fault) noexcept;
const char* name(Topology topology) noexcept;
bool of_protocols(OperationKind kind) noexcept;
// Whether it waits for a link to be made; the others have one.
bool waits_for_link(OperationKind kind) noexcept;
// Why it cannot happen; null if it can.
const char* impossible(OperationKind kind, Fault fault, Topology topology) noexcept;

// How often.
class Coverage {
 public:
  void begun(OperationKind kind, Topology topology) noexcept { ++begun_[index(topology)][index(kind)]; }
  void met(OperationKind kind, Fault fault, Topology topology) noexcept {
    ++met_[index(topology)][index(kind)][index(fault)];
  }
  void met(const Kinds& kinds, Fault fault, Topology topology) noexcept {
    for (std::size_t kind = 0; kind != kKinds; ++kind) {
      if (kinds.test(kind)) met(static_cast<OperationKind>(kind), fault, topology);
    }
  }
  // If the answer to one says so.
  void met(OperationKind kind, Status status, Topology topology) noexcept {
    if (status == Status::queue_full) met(kind, Fault::queue_full, topology);
    if (status == Status::no_place) met(kind, Fault::no_place, topology);
  }
  std::uint64_t begun_of(OperationKind kind, Topology topology) const noexcept {
    return begun_[index(topology)][index(kind)];
  }
  std::uint64_t met_by(OperationKind kind, Fault fault, Topology topology) const noexcept {
    return met_[index(topology)][index(kind)][index(fault)];
  }
  void add(const Coverage& other) noexcept;

 private:
  template <class Enum>
  static std::size_t index(Enum value) noexcept {
    return static_cast<std::size_t>(value);
  }

  std::array<std::array<std::uint64_t, kKinds>, kTopologies> begun_{};
  std::array<std::array<std::array<std::uint64_t, kFaults>, kKinds>, kTopologies> met_{};
};

// What can happen to operations of the interface's program, or of the protocols', and is not in it.
std::string missed(const Coverage& coverage, bool of_the_protocols);

// Of all that can happen.
struct Covered {
  std::uint64_t possible = 0;
  std::uint64_t seen = 0;
};
Covered covered(const Coverage& coverage) noexcept;

// Calls `each(kind, fault, topology)` for all of them.
template <class Each>
void for_all_cells(Each each) {
  for (std::size_t topology = 0; topology != kTopologies; ++topology) {
    for (std::size_t kind = 0; kind != kKinds; ++kind) {
      for (std::size_t fault = 0; fault != kFaults; ++fault)
        each(static_cast<OperationKind>(kind), static_cast<Fault>(fault), static_cast<Topology>(topology));
    }
  }
}

}  // namespace hamlyn::simulation
