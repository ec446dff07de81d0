#pragma once
// How far apart the two processors of a measurement are just now. A virtual machine's processors are moved
// while it runs, from two that share a cache to two that do not and back, and almost every figure changes by
// a multiple: a ratio of figures that were taken in different states says nothing.
#include <array>
#include <optional>
#include <string_view>

#include "tool/perf/cores.h"

namespace hamlyn::tool::perf {

enum class Distance { near, far };
inline constexpr std::array kDistances{Distance::near, Distance::far};

// Nanoseconds that a cache line needs from one to the other, taken in about a millisecond. Processors that
// share a cache need 20 to 70, those that do not 130 and more (docs/performance.md).
double line_nanoseconds(Cores cores);

// The state of what was measured between two such readings; none if it changed.
std::optional<Distance> distance_between(double before, double after);

std::string_view name_of(Distance distance);

}  // namespace hamlyn::tool::perf
