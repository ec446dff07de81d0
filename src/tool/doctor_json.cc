#include <nlohmann/json.hpp>

#include "tool/doctor.h"

namespace hamlyn::tool {
namespace {

const char* word(Finding::Verdict verdict) {
  switch (verdict) {
    case Finding::Verdict::good:
      return "good";
    case Finding::Verdict::could_be_better:
      return "could_be_better";
    case Finding::Verdict::problem:
      return "problem";
  }
  return "";
}

}  // namespace

std::string to_json(const std::vector<Finding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"verdict", word(finding.verdict)},
                    {"found", finding.found},
                    {"advice", finding.advice},
                    {"gain", finding.gain}});
  }
  return nlohmann::json{{"findings", list}}.dump();
}

}  // namespace hamlyn::tool
