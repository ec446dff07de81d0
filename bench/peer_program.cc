#include <cstdlib>

#include "bench/peers.h"
#include "tool/perf/program.h"

namespace hamlyn::tool::perf {

// Where scripts/bench has put it.
std::string peer_program(const std::string& name) {
  if (const char* folder = std::getenv("HAMLYN_PEER_DIR")) return std::string(folder) + "/" + name;
  return beside("../peers/" + name);
}

}  // namespace hamlyn::tool::perf
