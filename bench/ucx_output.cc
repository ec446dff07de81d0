#include "bench/ucx_output.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace hamlyn::tool::perf {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream rest{line};
  for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
  return fields;
}

double column(const std::vector<std::string>& names, const std::vector<std::string>& values,
              const std::string& wanted) {
  // Other columns have come and gone between versions; names that we read have stayed.
  const auto at =
      std::find_if(names.begin(), names.end(), [&](const std::string& name) { return name == wanted; });
  const auto index = static_cast<std::size_t>(at - names.begin());
  if (at == names.end() || index >= values.size()) throw std::runtime_error("no column " + wanted);
  char* end = nullptr;
  const double value = std::strtod(values[index].c_str(), &end);
  if (end == values[index].c_str() || !(value > 0))
    throw std::runtime_error("no number in the column " + wanted);
  return value;
}

}  // namespace

UcxResult parse_ucx(const std::string& output) try {
  std::istringstream lines{output};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("iterations,")) continue;
    std::string values;
    if (!std::getline(lines, values)) break;
    const auto names = split(line);
    const auto fields = split(values);
    return {column(names, fields, "50.0_percentile_lat"), column(names, fields, "overall_mr")};
  }
  throw std::runtime_error("no table");
} catch (const std::runtime_error& error) {
  throw std::runtime_error(std::string("ucx_perftest: ") + error.what() + " in its output: " + output);
}

}  // namespace hamlyn::tool::perf
