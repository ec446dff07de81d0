#pragma once
// `hamlyn logp --tables`: tables and figures of paper 2 with what is measured here beside them.
// docs/papers.md says how to read them.
#include <string>
#include <utility>

namespace hamlyn::tool {

struct TablesOptions {
  std::string which;                  // parted by commas; "all"
  int rounds = 3;                     // each figure is taken so often
  std::pair<int, int> cores{-1, -1};  // the two processors to measure on; negative: chosen here
  bool json = false;                  // one JSON object on stdout instead of tables
};

// Measures and reports. Returns and throws as run_logp.
int run_tables(const TablesOptions& options);

}  // namespace hamlyn::tool
