#pragma once
// Which steps of a seed's program are run. Each step draws what it decides from the seed and its own number,
// so that the others stay what they are when some are left out.
//
// The steps of a program of the protocols have numbers behind those of the interface's: its faults come
// first, and turn t of process p is step p * kTurns + t.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/sim/generator.h"

namespace hamlyn::simulation {

struct Counts;

using Steps = std::vector<std::uint32_t>;  // their numbers, rising

struct Program {
  static constexpr std::uint32_t kSteps = 2000;
  static constexpr std::uint32_t kTurns = 100'000;
  static constexpr std::uint32_t kEnd = 10 * kTurns;  // of all steps

  std::uint64_t seed = 0;
  std::optional<Steps> only;  // empty: all of them
  // Called after each step; may throw Violation where it finds the run at fault.
  std::function<void(const Counts&)> watch;

  bool has(std::uint32_t number) const;
  // Its steps are those of a program of the protocols. One of no steps is the interface's.
  bool of_protocols() const { return only && !only->empty() && only->front() >= kSteps; }
};

// What a step decides by. Hashed, so that no step's numbers are those of another.
sim::Generator chance_of_step(std::uint64_t seed, std::uint32_t number) noexcept;

// "3,17-20,44"
std::string to_text(const Steps& steps);
// Nothing, if the text is no such list, or does not rise, or has steps of both programs, or ends behind the
// last.
std::optional<Steps> parse_steps(std::string_view text);

}  // namespace hamlyn::simulation
