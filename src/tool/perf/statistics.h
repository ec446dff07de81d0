#pragma once
// Statistics that are reported of a figure's samples.
#include <vector>

namespace hamlyn::tool::perf {

struct Summary {
  double min = 0;
  double median = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

// `samples` must not be empty. The median of an even number is the mean of the middle two; a percentile is
// the smallest sample that at least so many are not above (nearest rank).
Summary summarize(std::vector<double> samples);

double median(std::vector<double> samples);

}  // namespace hamlyn::tool::perf
