#pragma once
// A process that is attached to the node for the whole run: it has the daemon started, if none runs, by a
// process that is not pinned, and keeps it from leaving between rounds.
#include <optional>

#include "tool/perf/worker.h"

namespace hamlyn::tool::perf {

class Keeper {
 public:
  Keeper();  // throws std::runtime_error with the reason if a process cannot attach here

 private:
  std::optional<Worker> worker_;
};

}  // namespace hamlyn::tool::perf
