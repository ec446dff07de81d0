#pragma once
// Runs meters in interleaved rounds.
#include <functional>
#include <string>
#include <vector>

#include "tool/perf/figure.h"
#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

struct Outcome {
  std::vector<Figure> figures;        // in the meters' order
  std::vector<std::string> failures;  // "name: why"; such a figure is not among the figures
};

// Called before each measurement.
using Progress = std::function<void(int round, const std::string& name)>;

// Nanoseconds between the processors, now (distance.h).
using Probe = std::function<double(Cores cores)>;

// Runs the rounds. A measurement during which the distance changed is made again, twice at most. If the
// distance changed once more, it counts among all rounds, but at no distance.
Outcome run_rounds(const std::vector<Meter>& meters, Cores cores, int rounds, const Probe& probe,
                   const Progress& progress);

}  // namespace hamlyn::tool::perf
