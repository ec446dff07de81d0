#pragma once
// What a run of perf says when it is done.
#include <string>
#include <vector>

#include "tool/perf/figure.h"
#include "tool/perf/targets.h"

namespace hamlyn::tool::perf {

struct Report {
  std::string machine;
  std::string date;     // UTC, ISO 8601
  std::string version;  // of Hamlyn
  std::vector<Figure> figures;
  std::vector<TargetResult> targets;
  std::vector<std::string> absent;  // peers that were asked for and are not installed
};

// One object, ended with a newline.
std::string to_json(const Report& report);

// Tables for people.
std::string to_text(const Report& report);

}  // namespace hamlyn::tool::perf
