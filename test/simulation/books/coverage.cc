#include "test/simulation/books/coverage.h"

#include <iterator>

namespace hamlyn::simulation {

namespace {

constexpr const char* kKindNames[] = {"message",
                                      "message, paranoid",
                                      "message, one-shot",
                                      "message, cancelled",
                                      "message, turned",
                                      "share of a group",
                                      "fast message",
                                      "fetch-op",
                                      "fetch-op, bits",
                                      "fetch-op, swap",
                                      "fetch-op, extreme",
                                      "fetch-op, told",
                                      "get",
                                      "get, turned",
                                      "durable message",
                                      "gathered message",
                                      "merged message",
                                      "put",
                                      "scattered put",
                                      "put, turned",
                                      "signal",
                                      "fence",
                                      "posted message",
                                      "datagram",
                                      "datagram, silent",
                                      "opening a stream",
                                      "stream",
                                      "stream, as bytes",
                                      "stream, of an area",
                                      "closing a stream",
                                      "opening tagged writes",
                                      "tagged writes",
                                      "opening loans",
                                      "loan",
                                      "multicast",
                                      "bulk",
                                      "bulk ring",
                                      "mapping",
                                      "message, stored",
                                      "message, to board",
                                      "importing a segment",
                                      "segment, written",
                                      "segment, read",
                                      "segment, swapped",
                                      "swap, surely",
                                      "record, written",
                                      "record, read",
                                      "write, scattered",
                                      "read, gathered",
                                      "rows"};
constexpr const char* kFaultNames[] = {"overtaken",  "lost",     "repeated",  "partition",   "cut",
                                       "stop",       "stall",    "death",     "restart",     "link refused",
                                       "queue full", "no place", "slow disk", "disk failure"};
constexpr const char* kTopologyNames[] = {"one host, in order", "one host, overtaking", "several hosts"};
static_assert(std::size(kKindNames) == kKinds && std::size(kFaultNames) == kFaults &&
              std::size(kTopologyNames) == kTopologies);

}  // namespace

const char* name(OperationKind kind) noexcept { return kKindNames[static_cast<std::size_t>(kind)]; }
const char* name(Fault fault) noexcept { return kFaultNames[static_cast<std::size_t>(fault)]; }
const char* name(Topology topology) noexcept { return kTopologyNames[static_cast<std::size_t>(topology)]; }

bool of_protocols(OperationKind kind) noexcept { return kind >= OperationKind::datagram; }

bool waits_for_link(OperationKind kind) noexcept {
  return !of_protocols(kind) || kind == OperationKind::datagram || kind == OperationKind::silent_datagram ||
         kind == OperationKind::stream_opening || kind == OperationKind::tagged_opening ||
         kind == OperationKind::loan_opening || kind == OperationKind::multicast ||
         kind == OperationKind::bulk || kind == OperationKind::bulk_ring || kind == OperationKind::mapping ||
         kind == OperationKind::board_message || kind == OperationKind::segment_opening ||
         kind == OperationKind::fast_row;
}

const char* impossible(OperationKind kind, Fault fault, Topology topology) noexcept {
  const bool loans = kind == OperationKind::loan_opening || kind == OperationKind::loan;
  const bool mapped = kind == OperationKind::mapping || kind == OperationKind::stored_message ||
                      kind == OperationKind::board_message;
  if (mapped && topology == Topology::hosts) return "memory is mapped within a host";
  if (loans && topology != Topology::in_order)
    return "memory is lent within a host, whose links keep the order";
  switch (fault) {
    case Fault::overtaken:
      return topology == Topology::in_order ? "links keep the order there" : nullptr;
    case Fault::lost:
    case Fault::repeated:
    case Fault::partition:
      return topology == Topology::hosts ? nullptr : "nothing is lost between memory and memory";
    case Fault::restart:
      return of_protocols(kind) ? "who comes then is another" : nullptr;
    case Fault::link_refused:
      return waits_for_link(kind) ? nullptr : "it has its link";
    case Fault::queue_full:
      return !of_protocols(kind) || kind == OperationKind::tagged_writes || kind == OperationKind::loan ||
                     kind == OperationKind::bulk || kind == OperationKind::bulk_ring ||
                     kind == OperationKind::stored_message || kind == OperationKind::board_message ||
                     kind == OperationKind::fast_row
                 ? nullptr
                 : "it waits for room";
    case Fault::no_place:
      return kind == OperationKind::fast || kind == OperationKind::get || kind == OperationKind::get_turned ||
                     kind == OperationKind::put || kind == OperationKind::scattered_put ||
                     kind == OperationKind::put_turned || kind == OperationKind::tagged_writes ||
                     kind == OperationKind::loan || kind == OperationKind::fetch_told ||
                     kind == OperationKind::bulk_ring || kind == OperationKind::fast_row
                 ? nullptr
                 : "it takes no place in a queue";
    case Fault::slow_disk:
    case Fault::disk_failure:
      return kind == OperationKind::durable ? nullptr : "it has no disk";
    default:
      return nullptr;
  }
}

void Coverage::add(const Coverage& other) noexcept {
  for_all_cells([&](OperationKind kind, Fault fault, Topology topology) {
    met_[index(topology)][index(kind)][index(fault)] += other.met_by(kind, fault, topology);
  });
  for (std::size_t topology = 0; topology != kTopologies; ++topology) {
    for (std::size_t kind = 0; kind != kKinds; ++kind) begun_[topology][kind] += other.begun_[topology][kind];
  }
}

std::string missed(const Coverage& coverage, bool of_the_protocols) {
  std::string names;
  for_all_cells([&](OperationKind kind, Fault fault, Topology topology) {
    if (of_protocols(kind) == of_the_protocols && coverage.met_by(kind, fault, topology) == 0 &&
        impossible(kind, fault, topology) == nullptr)
      names += std::string(name(kind)) + " met " + name(fault) + " on " + name(topology) + "; ";
  });
  return names;
}

Covered covered(const Coverage& coverage) noexcept {
  Covered sum;
  for_all_cells([&](OperationKind kind, Fault fault, Topology topology) {
    if (impossible(kind, fault, topology) != nullptr) return;
    ++sum.possible;
    sum.seen += coverage.met_by(kind, fault, topology) != 0;
  });
  return sum;
}

}  // namespace hamlyn::simulation
