#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tool/perf/peers.h"

namespace hamlyn::tool::perf {

// Where scripts/bench has put it.
std::string peer_program(const std::string& name) {
  if (const char* folder = std::getenv("HAMLYN_PEER_DIR")) return std::string(folder) + "/" + name;
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  const std::string path{self.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  return path.substr(0, path.rfind('/')) + "/../peers/" + name;
}

}  // namespace hamlyn::tool::perf
