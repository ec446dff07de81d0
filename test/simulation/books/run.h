#pragma once
// One run: a random program of processes that is decided by its seed, and which of its steps are run, and
// nothing else.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/books/program.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

// What one step was.
struct Step {
  enum class Kind : std::uint8_t {
    nothing,
    start,
    run,
    read,
    look,
    wait,
    links,
    cut,
    stop,
    partition,
    death,
    restart,
    comes
  };
  std::uint32_t number = 0;
  Kind kind = Kind::nothing;
  std::uint64_t process = 0;
  std::size_t protocol = 0;  // that it is of, from 1 on; 0: of none
};

inline constexpr std::size_t kMostProtocols = 6;
inline constexpr std::size_t kStepKinds = static_cast<std::size_t>(Step::Kind::comes) + 1;

struct Result {
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;  // of everything that happened, in order
  Counts counts;
  Coverage coverage;
  std::vector<Step> steps;  // that were run, until it failed
  std::string problem;      // empty: everything was as it should be
  bool kept = false;        // for good: memory was written over in it, and is not touched again

  bool good() const noexcept { return problem.empty(); }
};

// `reader` hears of each event.
Result run(const Program& program, Trace::Reader reader = {});
inline Result run(std::uint64_t seed, Trace::Reader reader = {}) {
  return run(Program{seed, {}, {}}, std::move(reader));
}

}  // namespace hamlyn::simulation
