#include "base/socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/throw_system.h"
#include "base/uncancelled.h"

namespace hamlyn::internal_::base {
namespace {

union Control {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
};

// Takes over every descriptor the kernel has installed, so that none is lost on any path.
bool take_descriptors(msghdr& message, Received& out) noexcept {
  bool known = true;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      out.sender = static_cast<std::uint32_t>(sender.pid);
      continue;
    }
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      known = false;
      continue;
    }
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      FileDescriptor owner{fd};
      if (out.fd_count < out.fds.size()) out.fds[out.fd_count++] = std::move(owner);
    }
  }
  return known;
}

Received get_message(int fd, std::span<std::byte> buffer, std::size_t most, Senders senders,
                     int flags) noexcept {
  Received out;
  iovec part{buffer.data(), buffer.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // The kernel installs as many descriptors as there is room for.
  message.msg_controllen = (senders == Senders::said ? CMSG_SPACE(sizeof(ucred)) : 0) +
                           (most != 0 ? CMSG_SPACE(sizeof(int) * most) : 0);
  if (message.msg_controllen != 0) message.msg_control = control.bytes;
  const Uncancelled guard;
  ssize_t got = 0;
  bool reset = false;
  // The kernel tells once, before what the other side had sent, that it has closed with something unread.
  do got = ::recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
  while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !std::exchange(reset, true))));
  if (got < 0) {
    out.state = errno == EAGAIN ? SocketState::again : SocketState::closed;
    return out;
  }
  const bool known = take_descriptors(message, out);
  out.bytes = static_cast<std::size_t>(got);
  out.state = got == 0 ? SocketState::closed : SocketState::ok;  // we never send an empty message
  const bool cut = (message.msg_flags & MSG_CTRUNC) != 0;
  if (!known || (message.msg_flags & MSG_TRUNC) != 0 || (got == 0 && (out.fd_count != 0 || cut)))
    out.state = SocketState::malformed;
  else if (cut)  // with room left for more, it is the table of descriptors that had none
    out.state = out.fd_count < most ? SocketState::starved : SocketState::malformed;
  return out;
}

}  // namespace

SocketState send_message(int fd, std::span<const std::byte> bytes, std::span<const int> fds,
                         int flags) noexcept {
  if (bytes.empty() || fds.size() > kMaxDescriptors) return SocketState::malformed;
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  const Uncancelled guard;
  ssize_t sent = 0;
  do sent = ::sendmsg(fd, &message, flags | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0) return SocketState::ok;
  // The limit passes when others read, of whom this socket tells nothing.
  if (errno == ETOOMANYREFS) return SocketState::crowded;
  if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return SocketState::again;
  if (errno == EMSGSIZE || errno == EINVAL || errno == EBADF) return SocketState::malformed;
  return SocketState::closed;
}

Received receive_message(int fd, std::span<std::byte> buffer, int flags) noexcept {
  Received out = get_message(fd, buffer, kMaxDescriptors, Senders::unsaid, flags);
  if (out.state != SocketState::malformed && out.state != SocketState::starved) return out;
  Received refused;
  refused.state = out.state;
  return refused;  // `out` closes what had come
}

Received peek_message(int fd, std::span<std::byte> buffer, std::size_t most, Senders senders) noexcept {
  return get_message(fd, buffer, most, senders, MSG_PEEK | MSG_DONTWAIT);
}

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw_system("socketpair");
  return {FileDescriptor{ends[0]}, FileDescriptor{ends[1]}};
}

}  // namespace hamlyn::internal_::base
