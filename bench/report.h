#pragma once
// Writes the report of a run of `hamlyn-bench`: the figures, how they stand to their targets, and which
// peers were missing.
#include <string>
#include <vector>

#include "bench/targets.h"
#include "tool/perf/report.h"

namespace hamlyn::tool::perf {

struct Judged {
  Report report;
  std::vector<TargetResult> targets;
  std::vector<std::string> absent;  // peers that were asked for and are not installed
};

// Returns one object, ended with a newline.
std::string to_json(const Judged& judged);

// Returns tables for people.
std::string to_text(const Judged& judged);

}  // namespace hamlyn::tool::perf
