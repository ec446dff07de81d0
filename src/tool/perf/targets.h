#pragma once
// What our figures must reach, as ratios to the machine's limit and to peers measured in the same run.
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
  std::optional<double> aim;  // a better factor that is aimed for
};

struct TargetResult {
  Target target;
  std::optional<double> ratio;  // of the medians; none: `against` was not measured in this run
  bool met = false;
};

const std::vector<Target>& all_targets();

const char* symbol(Target::Relation relation);

bool holds(Target::Relation relation, double ratio, double factor);

// One result per target whose own figure was measured.
std::vector<TargetResult> compare(const std::vector<Target>& targets, const std::vector<Figure>& figures);

}  // namespace hamlyn::tool::perf
