#include "node/address.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/throw_system.h"
#include "hamlyn/error.h"

namespace hamlyn::node {
namespace {

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

std::string own_socket() {
  const char* runtime = ::secure_getenv("XDG_RUNTIME_DIR");
  // After su or sudo the variable may still name another user's directory: that one is not ours to use.
  const bool usable = runtime != nullptr && runtime[0] == '/' && own_directory(runtime);
  const std::string directory =
      usable ? std::string(runtime) + "/hamlyn" : "/tmp/hamlyn-" + std::to_string(::geteuid());
  // The mode is set whatever the umask is. A folder that is there keeps its own, which is looked at.
  const bool made = ::mkdir(directory.c_str(), 0700) == 0;
  if (made ? ::chmod(directory.c_str(), 0700) != 0 : errno != EEXIST)
    base::throw_system(("mkdir " + directory).c_str());
  if (!private_directory(directory)) {
    throw Error(
        ErrorCode::node_not_trusted,
        directory + " is not a directory of this user's own with mode 0700: remove it, or name a socket");
  }
  return directory + "/node.sock";
}

bool trusted(unsigned uid) {
  if (uid == ::geteuid() || uid == 0) return true;
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
