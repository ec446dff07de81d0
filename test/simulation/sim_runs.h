#pragma once
// What `hamlyn-sim` runs: random programs over the simulated fabric (docs/simulation.md).
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace hamlyn::simulation {

struct SimOptions {
  std::optional<std::uint64_t> seed;
  std::string seeds;  // A-B
  std::string steps;  // of the one run; empty: all
  bool verbose = false;
  bool json = false;
};

// Exit status: 0 every run was good, 1 one was not. Throws tool::Failure.
int run_sim(const SimOptions& options);

// "A-B", A <= B. Throws tool::Failure.
std::pair<std::uint64_t, std::uint64_t> parse_seeds(const std::string& text);

}  // namespace hamlyn::simulation
