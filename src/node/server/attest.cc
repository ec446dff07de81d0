#include "node/server/attest.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif

namespace hamlyn::node {
namespace {

base::FileDescriptor pidfd_of(int socket) noexcept {
  int fd = -1;
  socklen_t size = sizeof fd;
  return base::FileDescriptor{::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0 ? fd : -1};
}

base::FileDescriptor open_pidfd(int socket, pid_t pid, Attesting how) {
  if (how == Attesting::by_socket) return pidfd_of(socket);
  return base::FileDescriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
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

Attesting attesting() noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return Attesting::by_messages;
  const base::FileDescriptor one{ends[0]}, other{ends[1]};
  return pidfd_of(one.get()) ? Attesting::by_socket : Attesting::by_messages;
}

bool show_senders(int socket, bool shown) noexcept {
  const int on = shown ? 1 : 0;
  return ::setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

bool nothing_said(int socket) noexcept {
  std::byte byte{};
  const ssize_t got = ::recv(socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == EAGAIN);  // 0: the end, or what is taken for it
}

bool is_alive(int pidfd) noexcept {
  pollfd end{pidfd, POLLIN, 0};
  return ::poll(&end, 1, 0) == 0;
}

std::optional<Attested> attest(int socket, Attesting how) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return std::nullopt;
  Attested out;
  out.who = {peer.uid, peer.gid, static_cast<std::uint32_t>(peer.pid), program_of(peer.pid)};
  out.pidfd = open_pidfd(socket, peer.pid, how);
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
