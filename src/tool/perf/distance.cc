#include "tool/perf/distance.h"

#include "tool/perf/line.h"
#include "tool/perf/statistics.h"

namespace hamlyn::tool::perf {
namespace {

constexpr double kFarNanoseconds = 125;

bool is_far(double nanoseconds) { return nanoseconds >= kFarNanoseconds; }

}  // namespace

// The median, because one of the two may lose its processor meanwhile.
double line_nanoseconds(Cores cores) {
  return median(exchange_lines(cores, {.warm_up = 200, .timed = 1000}));
}

std::optional<Distance> distance_between(double before, double after) {
  if (is_far(before) != is_far(after)) return {};
  return is_far(before) ? Distance::far : Distance::near;
}

std::string_view name_of(Distance distance) { return distance == Distance::near ? "near" : "far"; }

}  // namespace hamlyn::tool::perf
