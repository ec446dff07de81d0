#pragma once
// What the runs of `hamlyn sim` have covered, for people and as JSON (docs/simulation.md).
#include <string>

#include "simulation/coverage.h"

namespace hamlyn::tool {

// A table, and what never happened.
std::string coverage_text(const simulation::Coverage& coverage);
// An object.
std::string coverage_json(const simulation::Coverage& coverage);

}  // namespace hamlyn::tool
