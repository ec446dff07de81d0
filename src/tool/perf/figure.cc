#include "tool/perf/figure.h"

#include <algorithm>

namespace hamlyn::tool::perf {

std::string_view unit_of(std::string_view name) {
  if (name.ends_with(".rate")) return "messages/s";
  if (name.ends_with(".bandwidth")) return "GB/s";
  if (name.ends_with(".switches")) return "switches";
  if (name.ends_with(".again")) return "datagrams";
  return "ns";
}

bool smaller_is_better(std::string_view name) {
  const std::string_view unit = unit_of(name);
  return unit == "ns" || unit == "switches" || unit == "datagrams";
}

const Figure* find(const std::vector<Figure>& figures, std::string_view name) {
  const auto at =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.name == name; });
  return at == figures.end() ? nullptr : &*at;
}

}  // namespace hamlyn::tool::perf
