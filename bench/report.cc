#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tool/perf/report_object.h"

namespace hamlyn::tool::perf {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json target_json(const TargetResult& result) {
  const Target& target = result.target;
  const std::optional<double> worst = result.worst();
  Json json{{"figure", target.figure},
            {"against", target.against},
            {"relation", symbol(target.relation)},
            {"factor", target.factor},
            {"far_factor", or_null(target.far_factor)},
            {"aim", or_null(target.aim)},
            {"ratio", or_null(worst)},
            {"met", worst ? Json(result.met()) : Json(nullptr)}};
  for (const Distance distance : kDistances) json[name_of(distance)] = or_null(result.ratio_at(distance));
  return json;
}

std::string ratio(const TargetResult& result, Distance distance) {
  const std::optional<double>& value = result.ratio_at(distance);
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string target_row(const TargetResult& result, std::size_t width, std::size_t against_width) {
  const Target& target = result.target;
  const char* verdict = !result.worst() ? "not measured" : result.met() ? "met" : "MISSED";
  const std::string far = target.far_factor ? fmt::format(" (far {})", *target.far_factor) : "";
  const std::string aim = target.aim ? fmt::format(" (aim {})", *target.aim) : "";
  return fmt::format("{:<{}} / {:<{}} {:>7} {:>7} {:>2} {:<4} {}{}{}\n", target.figure, width, target.against,
                     against_width, ratio(result, Distance::near), ratio(result, Distance::far),
                     symbol(target.relation), target.factor, verdict, far, aim);
}

std::string target_table(const std::vector<TargetResult>& results) {
  if (results.empty()) return {};
  std::size_t width = 0, against_width = 0;
  for (const TargetResult& result : results) {
    width = std::max(width, result.target.figure.size());
    against_width = std::max(against_width, result.target.against.size());
  }
  std::string text = fmt::format("\n{:<{}}   {:<{}} {:>7} {:>7} {}\n", "ratio of", width, "to", against_width,
                                 "near", "far", "must be");
  for (const TargetResult& result : results) text += target_row(result, width, against_width);
  return text;
}

}  // namespace

std::string to_json(const Judged& judged) {
  Json json = to_object(judged.report);
  json["targets"] = Json::array();
  for (const TargetResult& result : judged.targets) json["targets"].push_back(target_json(result));
  json["absent"] = judged.absent;
  return json.dump(2) + "\n";
}

std::string to_text(const Judged& judged) {
  std::string text = to_text(judged.report) + target_table(judged.targets);
  for (const std::string& peer : judged.absent) text += fmt::format("\nabsent: {}", peer);
  if (!judged.absent.empty()) text += "\n";
  return text;
}

}  // namespace hamlyn::tool::perf
