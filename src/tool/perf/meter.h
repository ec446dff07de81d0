#pragma once
// How one figure is measured: one round at a time, so that rounds of different figures can alternate.
#include <functional>
#include <string>
#include <vector>

#include "tool/perf/cores.h"

namespace hamlyn::tool::perf {

struct Meter {
  std::string name;  // the figure's
  // One round: samples in the figure's unit. `style` counts from 0 to styles - 1. Throws std::exception.
  std::function<std::vector<double>(Cores cores, int style)> round;
  // Ways of doing the same; each is run in each round, and the one with the best median is the figure.
  int styles = 1;
  bool single_operations = false;  // each sample is one operation, not one round's result
};

}  // namespace hamlyn::tool::perf
