#pragma once
// A run that failed, made short: it is run again with steps left out, first all faults of a kind, then all
// that a process does or that is of a protocol, then ever smaller runs of steps (Zeller and Hildebrandt's
// delta debugging), for as long as it fails with the same words.
#include <functional>

#include "test/simulation/books/program.h"
#include "test/simulation/books/run.h"

namespace hamlyn::simulation {

struct Shortened {
  Steps steps;             // without any one of them it does not fail so, if `least`
  bool least = false;      // false: it was given up after so many runs
  std::uint64_t kept = 0;  // runs

  static constexpr std::uint64_t kMostRuns = 2000;
  // That keep their memory for good (Result::kept), up to 2 MB each.
  static constexpr std::uint64_t kMostKept = 220;
};

using Runner = std::function<Result(const Program&)>;

// `failed`: of this program, which `run` runs. No more than `most_kept` of its runs may keep their memory.
Shortened shorten(const Program& program, const Result& failed, Runner run,
                  std::uint64_t most_kept = Shortened::kMostKept);

}  // namespace hamlyn::simulation
