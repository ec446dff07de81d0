#pragma once
// `hamlyn logp`: parameters of the LogP model for the layers of Hamlyn, beside those of paper 2.
// docs/performance.md says how to read them.
#include <cstdint>
#include <string>
#include <utility>

namespace hamlyn::tool {

struct LogpOptions {
  std::string layer;                  // empty: each
  std::uint32_t credits = 0;          // requests under way, of layers that have credits; 0: as they have them
  std::uint32_t peers = 0;            // endpoints that ask, of active messages; 0: one
  bool between_nodes = false;         // two on loopback, each with one of the two processes
  std::pair<int, int> cores{-1, -1};  // the two processors to measure on; negative: chosen here
  std::string tables = {};            // of the paper, instead: TablesOptions::which; empty: none
  int rounds = 0;                     // of these; 0: not said
  bool json = false;                  // one JSON object on stdout instead of tables
};

inline constexpr std::uint32_t kMostCredits = 512;
inline constexpr std::uint32_t kMostPeers = 1000;

// Measures and reports. Returns the exit status: 0; 1 if a layer could not be measured, with the reason on
// stderr. Throws std::invalid_argument if the options cannot be followed, std::exception if nothing can be
// measured.
int run_logp(const LogpOptions& options);

}  // namespace hamlyn::tool
