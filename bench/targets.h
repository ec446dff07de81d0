#pragma once
// Targets that our figures must reach, as ratios to the machine's limit and to peers measured in the same run
// and, on a machine that changes, at the same distance of its processors (distance.h).
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tool/perf/figure.h"

namespace hamlyn::tool::perf {

struct Target {
  enum class Relation { at_most, below, at_least, above };

  std::string figure;
  Relation relation;
  double factor;  // figure must be <relation> factor x against
  std::string against;
  std::optional<double> aim;              // a better factor that is aimed for
  std::optional<double> far_factor = {};  // where the processors are far from each other; none: as `factor`

  double factor_at(Distance d) const { return d == Distance::far ? far_factor.value_or(factor) : factor; }
};

struct TargetResult {
  Target target;
  // Ratios of the medians at each distance; none: one of the two was never measured at it.
  std::array<std::optional<double>, 2> ratios{};

  const std::optional<double>& ratio_at(Distance d) const { return ratios[static_cast<std::size_t>(d)]; }
  std::optional<double> worst() const;
  bool met() const;  // at each distance at which there is a ratio, and there is one
};

const std::vector<Target>& all_targets();

const char* symbol(Target::Relation relation);

bool holds(Target::Relation relation, double ratio, double factor);

// One result per target whose own figure was measured.
std::vector<TargetResult> compare(const std::vector<Target>& targets, const std::vector<Figure>& figures);

}  // namespace hamlyn::tool::perf
