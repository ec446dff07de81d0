#include "tool/perf/rounds.h"

#include <cstddef>
#include <exception>
#include <optional>

namespace hamlyn::tool::perf {
namespace {

// What has been measured of one figure so far.
struct Series {
  std::vector<std::vector<double>> styles;  // the samples of all rounds
  std::string failure;                      // not empty: it failed, and is not measured again
};

void measure(const Meter& meter, Series& series, Cores cores) {
  for (std::size_t style = 0; style < series.styles.size(); ++style) {
    const std::vector<double> samples = meter.round(cores, static_cast<int>(style));
    series.styles[style].insert(series.styles[style].end(), samples.begin(), samples.end());
  }
}

std::optional<Summary> best(const Series& series, bool smaller) {
  std::optional<Summary> found;
  for (const std::vector<double>& samples : series.styles) {
    if (samples.empty()) continue;
    const Summary summary = summarize(samples);
    const bool better = !found || (smaller ? summary.median < found->median : summary.median > found->median);
    if (better) found = summary;
  }
  return found;
}

}  // namespace

Outcome run_rounds(const std::vector<Meter>& meters, Cores cores, int rounds, const Progress& progress) {
  std::vector<Series> all(meters.size());
  for (std::size_t i = 0; i < meters.size(); ++i)
    all[i].styles.resize(static_cast<std::size_t>(meters[i].styles));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < meters.size(); ++i) {
      if (!all[i].failure.empty()) continue;
      progress(round, meters[i].name);
      try {
        measure(meters[i], all[i], cores);
      } catch (const std::exception& error) {
        all[i].failure = error.what();
      }
    }
  }
  Outcome outcome;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    const std::string& name = meters[i].name;
    const std::optional<Summary> summary = best(all[i], smaller_is_better(name));
    if (!all[i].failure.empty() || !summary) {
      outcome.failures.push_back(name + ": " +
                                 (summary || !all[i].failure.empty() ? all[i].failure : "no samples"));
      continue;
    }
    outcome.figures.push_back(
        {name, std::string(unit_of(name)), *summary, meters[i].single_operations, rounds});
  }
  return outcome;
}

}  // namespace hamlyn::tool::perf
