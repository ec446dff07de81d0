#include <nlohmann/json.hpp>

#include "tool/perf/report_object.h"

namespace hamlyn::tool::perf {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json figure_json(const Figure& figure) {
  const Summary& summary = figure.summary;
  Json json{{"name", figure.name}, {"unit", figure.unit}, {"min", summary.min}, {"median", summary.median}};
  // Percentiles of a handful of rounds would say nothing.
  json["p99"] = figure.single_operations ? Json(summary.p99) : Json(nullptr);
  json["p999"] = figure.single_operations ? Json(summary.p999) : Json(nullptr);
  json["max"] = summary.max;
  json["runs"] = figure.runs;
  for (const Distance distance : kDistances) json[name_of(distance)] = or_null(figure.median_at(distance));
  return json;
}

}  // namespace

Json to_object(const Report& report) {
  Json json{{"machine", report.machine}, {"date", report.date}, {"version", report.version}};
  json["figures"] = Json::array();
  for (const Figure& figure : report.figures) json["figures"].push_back(figure_json(figure));
  return json;
}

std::string to_json(const Report& report) { return to_object(report).dump(2) + "\n"; }

}  // namespace hamlyn::tool::perf
