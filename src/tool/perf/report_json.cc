#include <nlohmann/json.hpp>

#include "tool/perf/report.h"

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

Json target_json(const TargetResult& result) {
  const Target& target = result.target;
  const std::optional<double> worst = result.worst();
  Json json{{"figure", target.figure},
            {"against", target.against},
            {"relation", symbol(target.relation)},
            {"factor", target.factor},
            {"aim", or_null(target.aim)},
            {"ratio", or_null(worst)},
            {"met", worst ? Json(result.met()) : Json(nullptr)}};
  for (const Distance distance : kDistances) json[name_of(distance)] = or_null(result.ratio_at(distance));
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  Json json{{"machine", report.machine}, {"date", report.date}, {"version", report.version}};
  json["figures"] = Json::array();
  for (const Figure& figure : report.figures) json["figures"].push_back(figure_json(figure));
  json["targets"] = Json::array();
  for (const TargetResult& result : report.targets) json["targets"].push_back(target_json(result));
  json["absent"] = report.absent;
  return json.dump(2) + "\n";
}

}  // namespace hamlyn::tool::perf
