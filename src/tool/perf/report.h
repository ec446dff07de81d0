#pragma once
// Report of a run of perf when it is done.
#include <string>
#include <vector>

#include "tool/perf/figure.h"

namespace hamlyn::tool::perf {

struct Report {
  std::string machine;
  std::string date;     // UTC, ISO 8601
  std::string version;  // of Hamlyn
  std::vector<Figure> figures;
};

// One object, ended with a newline.
std::string to_json(const Report& report);

// Tables for people.
std::string to_text(const Report& report);

}  // namespace hamlyn::tool::perf
