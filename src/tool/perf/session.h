#pragma once
// Session of each program that measures figures: `hamlyn perf` takes each figure once, `hamlyn-bench` in
// rounds.
#include <string>
#include <vector>

#include "tool/perf/meter.h"
#include "tool/perf/perf.h"
#include "tool/perf/report.h"

namespace hamlyn::tool::perf {

struct Measured {
  Report report;
  std::vector<std::string> failures;  // "name: why" of each figure that is missing
};

// Returns those of `all` that the options name. `names`: how to see the names. Throws std::invalid_argument
// if there is none.
std::vector<Meter> selected(std::vector<Meter> all, const PerfOptions& options, const std::string& names);

// Measures them in so many rounds. Throws std::invalid_argument if the options cannot be followed.
Measured measure(const std::vector<Meter>& meters, const PerfOptions& options, int rounds);

// Prints the names of the figures. Returns exit status 0.
int list(const std::vector<Meter>& meters);

// Says on standard error, in the name of `program`, what could not be measured. Returns the exit status.
int tell(const std::vector<std::string>& failures, const std::string& program);

}  // namespace hamlyn::tool::perf
