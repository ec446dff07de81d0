#pragma once
// Tables 1, 3, 4 and 5 and figures 2 and 5 of paper 2: which figures each is made of, and how.
#include <span>
#include <string_view>
#include <vector>

#include "tool/perf/meter.h"
#include "tool/perf/papers/table.h"

namespace hamlyn::tool::perf::papers {

struct Chapter {
  std::string_view id;  // as --tables has it
  std::vector<Meter> (*meters)();
  // `cycle`: nanoseconds of one of the time-stamp counter.
  std::vector<Table> (*tables)(const std::vector<Figure>& figures, double cycle);
};
std::span<const Chapter> chapters();

}  // namespace hamlyn::tool::perf::papers
