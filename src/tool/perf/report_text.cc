#include <fmt/format.h>

#include <algorithm>

#include "tool/perf/report.h"

namespace hamlyn::tool::perf {
namespace {

// Three digits that mean something: 87.3, 1.46, 12345678.
std::string number(double value) {
  if (value < 10) return fmt::format("{:.2f}", value);
  if (value < 1000) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// Messages per second are read in millions.
struct Scale {
  double factor;
  std::string unit;
};

Scale scale_of(const Figure& figure) {
  if (figure.unit == "messages/s") return {1e-6, "million/s"};
  return {1, figure.unit};
}

std::string figure_row(const Figure& figure, std::size_t width) {
  const Scale scale = scale_of(figure);
  const auto cell = [&](double value) { return number(value * scale.factor); };
  const auto at = [&](Distance distance) {
    const std::optional<double>& median = figure.median_at(distance);
    return median ? cell(*median) : std::string("-");
  };
  const auto& s = figure.summary;
  return fmt::format("{:<{}} {:>10} {:<9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", figure.name, width,
                     cell(s.median), scale.unit, at(Distance::near), at(Distance::far), cell(s.min),
                     figure.single_operations ? cell(s.p99) : "-",
                     figure.single_operations ? cell(s.p999) : "-", cell(s.max));
}

}  // namespace

std::string to_text(const Report& report) {
  std::size_t width = 0;
  for (const Figure& figure : report.figures) width = std::max(width, figure.name.size());
  std::string text = fmt::format("{}\n{}, hamlyn {}\n\n", report.machine, report.date, report.version);
  text += fmt::format("{:<{}} {:>10} {:<9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "figure", width,
                      "median", "unit", "near", "far", "min", "p99", "p99.9", "max");
  for (const Figure& figure : report.figures) text += figure_row(figure, width);
  return text;
}

}  // namespace hamlyn::tool::perf
