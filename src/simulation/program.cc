#include "simulation/program.h"

#include <charconv>

namespace hamlyn::simulation {

std::string to_text(const Steps& steps) {
  std::string text;
  for (std::size_t i = 0; i != steps.size();) {
    std::size_t last = i;
    while (last + 1 != steps.size() && steps[last + 1] == steps[last] + 1) ++last;
    if (i != 0) text += ',';
    text += std::to_string(steps[i]);
    if (last != i) text += '-' + std::to_string(steps[last]);
    i = last + 1;
  }
  return text;
}

std::optional<Steps> parse_steps(std::string_view text) {
  Steps steps;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [rest, error] = std::from_chars(at, end, value);
    at = rest;
    return error == std::errc() && value < Program::kSteps;
  };
  for (;;) {
    std::uint32_t first = 0;
    if (!number(first)) return std::nullopt;
    std::uint32_t last = first;
    if (at != end && *at == '-' && !number((++at, last))) return std::nullopt;
    if (last < first || (!steps.empty() && first <= steps.back())) return std::nullopt;
    for (; first <= last; ++first) steps.push_back(first);
    if (at == end) return steps;
    if (*at++ != ',') return std::nullopt;
  }
}

}  // namespace hamlyn::simulation
