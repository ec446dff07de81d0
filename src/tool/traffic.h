#pragma once
// Traffic between two looks at a node: what `hamlyn top` shows.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/node_view.h"

namespace hamlyn::tool {

// Per second. Counts of a process that goes, and comes back under the same number, start anew: never below 0.
struct Rates {
  double packets_in = 0, packets_out = 0;
  double bytes_in = 0, bytes_out = 0;
};

struct ProcessTraffic {
  const ProcessView* process = nullptr;  // as it is now
  const ProcessView* before = nullptr;   // null: it has come since
  Rates rates;
  double wakeups = 0;         // of the interface thread, per second
  std::uint64_t refused = 0;  // packets, since the look before
};

// The busiest first.
std::vector<ProcessTraffic> traffic(const NodeView& before, const NodeView& now, double seconds);
// The link with that peer in a look at its process; null: there was none.
const LinkView* find_link(const Details* details, std::uint64_t peer) noexcept;
double rate(std::uint64_t before, std::uint64_t now, double seconds) noexcept;

// A table of all processes, or everything about that one.
std::string traffic_text(const NodeView& before, const NodeView& now, double seconds,
                         std::optional<std::uint32_t> pid);
// One object, without a line's end; of that one process also its rows, as `hamlyn node --json` has them.
std::string traffic_json(const NodeView& before, const NodeView& now, double seconds,
                         std::optional<std::uint32_t> pid);

}  // namespace hamlyn::tool
