#include <array>

#include "tool/perf/limits.h"
#include "tool/perf/line.h"

namespace hamlyn::tool::perf {
namespace {

// Tight loads on a line that is about to change slow its arrival on some processors, and too long a rest
// comes late: the limit is the best of these.
constexpr std::array kPauses = {0, 1, 2, 4, 8};

}  // namespace

Meter cacheline_limit() {
  const auto round = [](Cores cores, int style) {
    const int pauses = kPauses[static_cast<std::size_t>(style)];
    return exchange_lines(cores, {.warm_up = 5000, .timed = 50000, .pauses = pauses});
  };
  return {
      .name = "limit.cacheline.oneway", .round = round, .styles = kPauses.size(), .single_operations = true};
}

}  // namespace hamlyn::tool::perf
