#pragma once
// A figure that was measured, as it is reported:
// <who>.<what>[.<kind>][.<bytes>].<oneway|roundtrip|rate|bandwidth|cost>.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/perf/distance.h"
#include "tool/perf/statistics.h"

namespace hamlyn::tool::perf {

struct Figure {
  std::string name;
  std::string unit;
  Summary summary;                 // of all rounds
  bool single_operations = false;  // each sample is one operation: percentiles mean something
  int runs = 0;
  // The medians of the rounds at which the processors were near each other, and far apart, all the time.
  std::array<std::optional<double>, 2> medians{};

  const std::optional<double>& median_at(Distance d) const { return medians[static_cast<std::size_t>(d)]; }
  std::optional<double>& median_at(Distance d) { return medians[static_cast<std::size_t>(d)]; }
};

// "ns", "messages/s" or "GB/s" (10^9 bytes), from the last part of the name.
std::string_view unit_of(std::string_view name);

// Whether a smaller value of that figure is the better one.
bool smaller_is_better(std::string_view name);

// The figure of that name, or null.
const Figure* find(const std::vector<Figure>& figures, std::string_view name);

}  // namespace hamlyn::tool::perf
