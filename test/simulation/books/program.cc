#include "test/simulation/books/program.h"

#include <algorithm>
#include <charconv>

namespace hamlyn::simulation {

bool Program::has(std::uint32_t number) const {
  return !only || std::binary_search(only->begin(), only->end(), number);
}

sim::Generator chance_of_step(std::uint64_t seed, std::uint32_t number) noexcept {
  return sim::Generator(sim::Generator(seed ^ (number + std::uint64_t{1}) * 0xD1342543DE82EF95u).next());
}

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
    return error == std::errc() && value < Program::kEnd;
  };
  for (;;) {
    std::uint32_t first = 0;
    if (!number(first)) return std::nullopt;
    std::uint32_t last = first;
    if (at != end && *at == '-' && !number((++at, last))) return std::nullopt;
    if (last < first || (!steps.empty() && first <= steps.back())) return std::nullopt;
    if (last >= Program::kSteps && (steps.empty() ? first : steps.front()) < Program::kSteps)
      return std::nullopt;
    for (; first <= last; ++first) steps.push_back(first);
    if (at == end) return steps;
    if (*at++ != ',') return std::nullopt;
  }
}

}  // namespace hamlyn::simulation
