#pragma once
// `hamlyn perf`: the figures of this machine's own limits and of Hamlyn, each taken once. docs/performance.md
// says what each figure means; peers, rounds and targets are those of `hamlyn-bench` (bench/).
#include <string>
#include <utility>

namespace hamlyn::tool {

struct PerfOptions {
  bool json = false;                  // one JSON object on stdout instead of tables
  std::string only;                   // POSIX extended regular expression on whole figure names; empty: all
  std::pair<int, int> cores{-1, -1};  // the two processors to measure on; negative: chosen here
  bool list = false;                  // print the names of the figures and measure nothing
  std::pair<std::string, std::string> nodes;  // sockets of two, for figures between hosts; empty: of its own
};

// Measures and reports. Returns the exit status: 0; 1 if something could not be measured, with the reason on
// stderr. Throws std::invalid_argument if the options cannot be followed, std::exception if nothing can be
// measured.
int run_perf(const PerfOptions& options);

}  // namespace hamlyn::tool
