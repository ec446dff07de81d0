#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/peers.h"
#include "tool/perf/program.h"

namespace hamlyn::tool::perf {

bool libfabric_probe_installed() { return access(peer_program("peer_fi_net").c_str(), X_OK) == 0; }

Meter libfabric_meter(const std::string& how, std::size_t bytes) {
  const std::string what =
      how == "blocked" ? "blocked." + std::to_string(bytes) + ".oneway" : std::to_string(bytes) + "." + how;
  return {.name = "peer.fi_net." + what, .round = [how, bytes](Cores cores, int) {
            Program probe{{peer_program("peer_fi_net"), std::to_string(cores.first),
                           std::to_string(cores.second), how, std::to_string(bytes)},
                          {}};
            const std::string text = probe.output(std::chrono::seconds{20});
            const std::size_t at = text.find("result ");
            if (at == std::string::npos) throw std::runtime_error("peer_fi_net gave no result: " + text);
            return std::vector<double>{std::strtod(text.c_str() + at + 7, nullptr)};
          }};
}

}  // namespace hamlyn::tool::perf
