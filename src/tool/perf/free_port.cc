#include "tool/perf/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "base/file_descriptor.h"

namespace hamlyn::tool::perf {

std::uint16_t free_port() {
  const base::FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket.get(), generic, length) != 0 || getsockname(socket.get(), generic, &length) != 0) {
    throw std::runtime_error("no free TCP port on this host");
  }
  return ntohs(address.sin_port);
}

bool somebody_listens(std::uint16_t port) {
  std::array<char, 8> suffix{};
  std::snprintf(suffix.data(), suffix.size(), ":%04X", static_cast<unsigned>(port));
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields{line};
      std::string number, local, remote, state;
      fields >> number >> local >> remote >> state;
      if (state == "0A" && local.ends_with(suffix.data())) return true;
    }
  }
  return false;
}

}  // namespace hamlyn::tool::perf
