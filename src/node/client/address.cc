#include "node/client/address.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/throw_system.h"
#include "hamlyn/values/error.h"

namespace hamlyn::node {
namespace {

constexpr const char* kSocketName = "/node.sock";

bool own_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

bool private_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 0777) == 0700;
}

}  // namespace

void check_place(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
    throw Error(ErrorCode::invalid_argument, path + " is something else than the socket of a node daemon");
}

std::vector<std::string> own_folders(const OwnPlaces& places) {
  const std::string user = std::to_string(::geteuid());
  std::vector<std::string> out;
  const auto add = [&](const std::string& parent, const std::string& name) {
    // After su or sudo a variable may still name another user's directory: that one is not ours to use.
    if (parent.starts_with('/') && own_directory(parent) && !std::ranges::count(out, parent + name))
      out.push_back(parent + name);
  };
  add(places.runtime, "/hamlyn");
  add(places.run_user + "/" + user, "/hamlyn");
  // A home may be shared by hosts, whose daemons are not each other's.
  if (own_directory(places.home) && ::mkdir((places.home + "/.cache").c_str(), 0700) != 0 && errno != EEXIST)
    return out.empty() ? std::vector{places.last + "/hamlyn-" + user} : out;
  const std::string name = "/hamlyn-" + places.host;
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - sizeof("/node.sock.lock");
  if (places.home.size() + sizeof("/.cache") + name.size() < kMost) add(places.home + "/.cache", name);
  if (out.empty()) out.push_back(places.last + "/hamlyn-" + user);
  return out;
}

OwnPlaces own_places() {
  OwnPlaces out;
  if (const char* runtime = ::secure_getenv("XDG_RUNTIME_DIR")) out.runtime = runtime;
  std::vector<char> memory(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr)
    out.home = found->pw_dir;
  char host[HOST_NAME_MAX + 1]{};
  if (::gethostname(host, sizeof host - 1) == 0) out.host = host;
  return out;
}

std::string own_socket(const OwnPlaces& places) {
  const std::string directory = own_folders(places).front();
  // The mode is set whatever the umask is. A folder that is there keeps its own, which is looked at.
  const bool made = ::mkdir(directory.c_str(), 0700) == 0;
  if (made ? ::chmod(directory.c_str(), 0700) != 0 : errno != EEXIST)
    base::throw_system(("mkdir " + directory).c_str());
  if (!private_directory(directory)) {
    throw Error(ErrorCode::node_not_trusted,
                directory +
                    " is not a directory of this user's own with mode 0700: remove it, set "
                    "XDG_RUNTIME_DIR, or name a socket");
  }
  return directory + kSocketName;
}

base::FileDescriptor connect_to_own(const OwnPlaces& places, std::string& path) {
  for (const std::string& directory : own_folders(places)) {
    path = directory + kSocketName;
    if (!private_directory(directory)) continue;
    if (auto socket = connect_to(path)) return socket;
  }
  path = own_socket(places);
  return {};
}

bool trusted(unsigned uid) { return uid == ::geteuid() || serves_all(uid); }

bool serves_all(unsigned uid) {
  if (uid == 0) return true;
  std::vector<char> memory(16384);
  passwd entry{};
  passwd* found = nullptr;
  return ::getpwnam_r(kServiceUser, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr &&
         found->pw_uid == uid;
}

base::FileDescriptor connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::invalid_argument, "the path of a socket has 1 to 107 characters: " + path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  base::FileDescriptor socket{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  if (!socket) base::throw_system("socket");
  // Connecting waits only while the daemon has more connections to accept than its queue holds.
  const timeval wait{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  int failed = 0;
  do failed = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  while (failed != 0 && errno == EINTR);
  if (failed != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    if (errno == ECONNREFUSED) {
      check_place(path);
      return {};
    }
    if (errno == EAGAIN)
      throw Error(ErrorCode::timed_out, "the node daemon at " + path + " takes no connections");
    if (errno == EPROTOTYPE)
      throw Error(ErrorCode::node_not_trusted, path + " is the socket of something else");
    if (errno == EACCES || errno == EPERM) {
      throw Error(ErrorCode::not_permitted, "this user may not connect to the node daemon at " + path);
    }
    base::throw_system(("connect to " + path).c_str());
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    base::throw_system("getsockopt");
  if (!trusted(peer.uid)) {
    throw Error(ErrorCode::node_not_trusted, "the node daemon at " + path + " is run by user " +
                                                 std::to_string(peer.uid) +
                                                 ", not by root, the service or this user");
  }
  return socket;
}

}  // namespace hamlyn::node
