#include "node/attest.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace hamlyn::node {
namespace {

// Before Linux 6.5 the pid has to be opened, and may by then be another process's. The socket tells: while it
// lives, so does the process that had connected it, and so the pid was still its own.
base::FileDescriptor open_pidfd(int socket, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return base::FileDescriptor{fd};
  base::FileDescriptor out{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  pollfd alive{socket, POLLIN, 0};
  if (::poll(&alive, 1, 0) < 0 || (alive.revents & (POLLHUP | POLLERR)) != 0) return {};
  return out;
}

std::string program_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  const base::FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  char text[16];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  std::string out;
  for (ssize_t i = 0; i < size && text[i] != '\n'; ++i)
    out += text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  return out;
}

}  // namespace

std::optional<Attested> attest(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return std::nullopt;
  Attested out;
  out.who = {peer.uid, peer.gid, static_cast<std::uint32_t>(peer.pid), program_of(peer.pid)};
  out.pidfd = open_pidfd(socket, peer.pid);
  if (!out.pidfd) return std::nullopt;
  return out;
}

std::optional<std::uint32_t> uid_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

bool sound_counters(int fd) {
  struct stat info {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW) &&
         ::fstat(fd, &info) == 0 && info.st_size > 0 && info.st_size <= static_cast<off_t>(kMostCounterBytes);
}

}  // namespace hamlyn::node
