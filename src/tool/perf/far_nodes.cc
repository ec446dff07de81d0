#include "tool/perf/far_nodes.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/file_descriptor.h"
#include "tool/perf/free_port.h"
#include "tool/perf/program.h"

namespace hamlyn::tool::perf {
namespace {

class Nodes {
 public:
  explicit Nodes(Clerks clerks) : clerks_(clerks) {
    std::string folder = "/tmp/hamlyn-perf-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for two nodes");
    folder_ = folder;
    const std::uint16_t first = free_port();
    start(0, first, 0);
    start(1, free_port(), first);
  }
  ~Nodes() {
    for (auto& daemon : daemons_) {
      if (daemon) daemon->process().stop(SIGTERM);
    }
    const std::string files[] = {".sock", ".toml"};
    for (int side = 0; side < 2; ++side) {
      for (const std::string& file : files) unlink((path(side) + file).c_str());
      for (const char* const more : {".sock.key", ".sock.lock", ".sock.log", ".sock.start", ".sock.node"})
        unlink((path(side) + more).c_str());
    }
    rmdir(folder_.c_str());
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  std::string socket(int side) const { return path(side) + ".sock"; }

 private:
  std::string path(int side) const { return folder_ + "/" + std::to_string(side); }
  void start(int side, std::uint16_t port, std::uint16_t join) {
    const std::string config = path(side) + ".toml";
    std::ofstream out(config);
    out << "[cluster]\nid = " << side + 1 << "\nlisten = \"127.0.0.1:" << port
        << "\"\nclerk_after = " << (clerks_ == Clerks::yes ? 1 : 0) << "\n";
    if (join != 0) out << "join = [\"127.0.0.1:" << join << "\"]\n";
    out.close();
    daemons_[static_cast<std::size_t>(side)].emplace(
        std::vector<std::string>{daemon_program(), "--socket", socket(side), "--config", config},
        Environment{});
    await_daemon(socket(side));
  }

  const Clerks clerks_;
  std::string folder_;
  std::array<std::optional<Program>, 2> daemons_;
};

std::pair<std::string, std::string> named;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// The process that listens there, as the kernel has it.
pid_t listener(const std::string& path) {
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + ": too long for a socket");
  path.copy(address.sun_path, path.size());
  ucred who{};
  socklen_t size = sizeof who;
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    fail("no node at " + path);
  return who.pid;
}

}  // namespace

void await_daemon(const std::string& socket) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (access(socket.c_str(), F_OK) != 0) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("a node does not start");
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

std::string daemon_program() {
  if (const char* const daemon = std::getenv("HAMLYN_DAEMON")) return daemon;
  const std::string ours = beside("hamlynd");
  return access(ours.c_str(), X_OK) == 0 ? ours : find_program("hamlynd");
}

void use_far_nodes(std::pair<std::string, std::string> sockets) { named = std::move(sockets); }

std::string far_node(int side, Clerks clerks) {
  if (!named.first.empty()) {
    if (clerks != Clerks::any) throw std::runtime_error("names are measured between nodes of perf's own");
    return side == 0 ? named.first : named.second;
  }
  if (clerks == Clerks::yes) {
    static const Nodes with{Clerks::yes};
    return with.socket(side);
  }
  static const Nodes without{Clerks::no};
  return without.socket(side);
}

std::string at_far_node(int side) {
  const std::string socket = far_node(side);
  if (named.first.empty()) return socket;
  const std::string network = "/proc/" + std::to_string(listener(socket)) + "/ns/net";
  struct stat there {};
  struct stat here {};
  if (::stat(network.c_str(), &there) != 0 || ::stat("/proc/self/ns/net", &here) != 0) fail(network);
  if (there.st_ino == here.st_ino) return socket;
  const base::FileDescriptor target(::open(network.c_str(), O_RDONLY | O_CLOEXEC));
  if (!target || ::setns(target.get(), CLONE_NEWNET) != 0) fail("the network of the node at " + socket);
  return socket;
}

}  // namespace hamlyn::tool::perf
