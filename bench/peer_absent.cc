#include "bench/peers.h"

namespace hamlyn::tool::perf {

std::vector<std::string> absent_peers() {
  std::vector<std::string> absent;
  if (!ucx_installed()) absent.push_back("ucx (Debian's ucx-utils; scripts/bench installs it)");
  if (!ucx_am_installed()) absent.push_back("ucx_am (scripts/bench installs it and builds its program)");
  if (!openmpi_installed()) absent.push_back("openmpi (scripts/bench installs it and builds its programs)");
  if (!oshmem_installed()) absent.push_back("oshmem (scripts/bench installs it and builds its program)");
  if (!libfabric_probe_installed())
    absent.push_back("libfabric (scripts/bench installs it and builds its program)");
  for (const char* const peer : {"grpc", "capnp", "tcp_calls"}) {
    if (!calls_installed(peer))
      absent.push_back(std::string(peer) + " (scripts/bench installs it and builds its program)");
  }
  return absent;
}

}  // namespace hamlyn::tool::perf
