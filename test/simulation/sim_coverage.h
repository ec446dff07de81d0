#pragma once
// What the runs of `hamlyn-sim` have covered, for people and as JSON (docs/simulation.md).
#include <string>

#include "test/simulation/books/coverage.h"

namespace hamlyn::simulation {

// A table, and what never happened.
std::string coverage_text(const Coverage& coverage);
// An object.
std::string coverage_json(const Coverage& coverage);

}  // namespace hamlyn::simulation
