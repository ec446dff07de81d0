#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/peers.h"
#include "tool/perf/program.h"

namespace hamlyn::tool::perf {

bool calls_installed(const std::string& peer) {
  return access(peer_program("peer_" + peer).c_str(), X_OK) == 0;
}

Meter calls_meter(const std::string& peer, const std::string& how) {
  const std::string program = peer_program("peer_" + peer);
  const bool plain = peer == "tcp_calls";
  const std::string what = plain              ? how + ".roundtrip"
                           : how == "blocked" ? "null.blocked.roundtrip"
                                              : "null." + how;
  return {.name = "peer." + (plain ? std::string("tcp") : peer) + ".rpc." + what,
          .round = [program, how](Cores cores, int) {
            Program run{{program, std::to_string(cores.first), std::to_string(cores.second), how}, {}};
            const std::string text = run.output(std::chrono::seconds{30});
            const std::size_t at = text.find("result ");
            if (at == std::string::npos) throw std::runtime_error(program + " gave no result: " + text);
            return std::vector<double>{std::strtod(text.c_str() + at + 7, nullptr)};
          }};
}

}  // namespace hamlyn::tool::perf
