#pragma once
// Which steps of a seed's program are run. Each step draws what it decides from the seed and its own number,
// so that the others stay what they are when some are left out.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hamlyn::simulation {

class World;

using Steps = std::vector<std::uint32_t>;  // their numbers, rising

struct Program {
  static constexpr std::uint32_t kSteps = 2000;

  std::uint64_t seed = 0;
  std::optional<Steps> only;  // empty: all of them
  // Called after each step; may throw Violation where it finds the run at fault.
  std::function<void(const World&)> watch;
};

// "3,17-20,44"
std::string to_text(const Steps& steps);
// Nothing, if the text is no such list, or does not rise, or ends behind the last step.
std::optional<Steps> parse_steps(std::string_view text);

}  // namespace hamlyn::simulation
