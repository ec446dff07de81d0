#include "tool/perf/rounds.h"

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "tool/perf/distance.h"

namespace hamlyn::tool::perf {
namespace {

constexpr int kTries = 3;

// Measurements of one figure in one of its styles.
struct Style {
  std::vector<double> all;
  std::array<std::vector<double>, kDistances.size()> at;
};

// Measurements of one figure so far.
struct Series {
  std::vector<Style> styles;
  std::string failure;  // not empty: it failed, and is not measured again
};

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Measures in one state of the machine if it can. A reading of the distance serves for what is behind it and
// for what comes next.
class Measurer {
 public:
  Measurer(Cores cores, const Probe& probe) : cores_(cores), probe_(probe), before_(probe(cores)) {}

  void measure(const Meter& meter, Series& series) {
    for (std::size_t style = 0; style < series.styles.size(); ++style)
      measure(meter, static_cast<int>(style), series.styles[style]);
  }

 private:
  void measure(const Meter& meter, int number, Style& style) {
    std::vector<double> samples;
    std::optional<Distance> distance;
    for (int tries = 0; tries < kTries && !distance; ++tries) {
      samples = meter.round(cores_, number);
      const double after = probe_(cores_);
      distance = distance_between(std::exchange(before_, after), after);
    }
    append(style.all, samples);
    if (distance) append(style.at[static_cast<std::size_t>(*distance)], samples);
  }

  Cores cores_;
  const Probe& probe_;
  double before_;
};

// The best style's. `of` names the samples of a style that count.
template <class Of>
std::optional<Summary> best(const Series& series, bool smaller, Of of) {
  std::optional<Summary> found;
  for (const Style& style : series.styles) {
    const std::vector<double>& samples = of(style);
    if (samples.empty()) continue;
    const Summary summary = summarize(samples);
    const bool better = !found || (smaller ? summary.median < found->median : summary.median > found->median);
    if (better) found = summary;
  }
  return found;
}

std::optional<Figure> figure_of(const Meter& meter, const Series& series, int rounds) {
  const bool smaller = smaller_is_better(meter.name);
  const std::optional<Summary> all = best(
      series, smaller, [](const Style& s) -> auto& { return s.all; });
  if (!all) return {};
  Figure figure{meter.name, std::string(unit_of(meter.name)), *all, meter.single_operations, rounds};
  for (std::size_t i = 0; i < kDistances.size(); ++i) {
    if (const auto here = best(
            series, smaller, [i](const Style& s) -> auto& { return s.at[i]; }))
      figure.medians[i] = here->median;
  }
  return figure;
}

}  // namespace

Outcome run_rounds(const std::vector<Meter>& meters, Cores cores, int rounds, const Probe& probe,
                   const Progress& progress) {
  std::vector<Series> all(meters.size());
  for (std::size_t i = 0; i < meters.size(); ++i)
    all[i].styles.resize(static_cast<std::size_t>(meters[i].styles));
  Measurer measurer{cores, probe};
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < meters.size(); ++i) {
      if (!all[i].failure.empty()) continue;
      progress(round, meters[i].name);
      try {
        measurer.measure(meters[i], all[i]);
      } catch (const std::exception& error) {
        all[i].failure = error.what();
      }
    }
  }
  Outcome outcome;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    std::optional<Figure> figure = figure_of(meters[i], all[i], rounds);
    if (all[i].failure.empty() && !figure) all[i].failure = "no samples";
    if (all[i].failure.empty())
      outcome.figures.push_back(std::move(*figure));
    else
      outcome.failures.push_back(meters[i].name + ": " + all[i].failure);
  }
  return outcome;
}

}  // namespace hamlyn::tool::perf
