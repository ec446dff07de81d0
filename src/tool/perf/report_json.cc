#include <nlohmann/json.hpp>

#include "tool/perf/report.h"

namespace hamlyn::tool::perf {
namespace {

using Json = nlohmann::ordered_json;

Json figure_json(const Figure& figure) {
  const Summary& summary = figure.summary;
  Json json{{"name", figure.name}, {"unit", figure.unit}, {"min", summary.min}, {"median", summary.median}};
  // Percentiles of a handful of rounds would say nothing.
  json["p99"] = figure.single_operations ? Json(summary.p99) : Json(nullptr);
  json["p999"] = figure.single_operations ? Json(summary.p999) : Json(nullptr);
  json["max"] = summary.max;
  json["runs"] = figure.runs;
  return json;
}

Json target_json(const TargetResult& result) {
  const Target& target = result.target;
  return {{"figure", target.figure},
          {"against", target.against},
          {"relation", symbol(target.relation)},
          {"factor", target.factor},
          {"aim", target.aim ? Json(*target.aim) : Json(nullptr)},
          {"ratio", result.ratio ? Json(*result.ratio) : Json(nullptr)},
          {"met", result.ratio ? Json(result.met) : Json(nullptr)}};
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
