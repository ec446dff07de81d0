#include "tool/perf/statistics.h"

#include <algorithm>
#include <cstddef>

namespace hamlyn::tool::perf {
namespace {

constexpr std::size_t kEnoughForSteps = 1000;  // samples, before equal ones are taken as steps of a clock

// Permille in whole numbers: 0.999 * 1000 is not a whole number in binary, and its rank would be one too
// high.
double percentile(const std::vector<double>& sorted, std::size_t permille) {
  const std::size_t rank = (sorted.size() * permille + 999) / 1000;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// Some processors' clocks move in steps of ten nanoseconds, so that hundreds of samples are equal and the
// plain median can only jump from step to step. When a hundredth of all samples or more equal it, they are
// taken as spread evenly over their step, which reaches halfway to the neighbouring values.
double inside_step(const std::vector<double>& sorted, double value) {
  const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
  const double below = static_cast<double>(low - sorted.begin());
  const double equal = static_cast<double>(high - low);
  if (low == sorted.begin() || high == sorted.end() || equal * 100 < static_cast<double>(sorted.size()))
    return value;
  const double from = (value + *(low - 1)) / 2;
  const double to = (value + *high) / 2;
  return from + (to - from) * (static_cast<double>(sorted.size()) / 2 - below) / equal;
}

double middle(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 0 && sorted[half - 1] != sorted[half])
    return (sorted[half - 1] + sorted[half]) / 2;
  return sorted.size() < kEnoughForSteps ? sorted[half] : inside_step(sorted, sorted[half]);
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples.front(), middle(samples), percentile(samples, 990), percentile(samples, 999),
          samples.back()};
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return middle(samples);
}

}  // namespace hamlyn::tool::perf
