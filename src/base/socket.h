#pragma once
// Messages with file descriptors over Unix sockets of type SOCK_SEQPACKET: one call, one whole message or
// none. What arrives is a stranger's: anything cut short is reported as malformed, or as starved, and its
// descriptors are closed.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

inline constexpr std::size_t kMaxDescriptors = 4;  // in one message

enum class SocketState : std::uint8_t {
  ok,
  again,      // nothing there, or no room: wait for the descriptor
  closed,     // the other side has gone, or shut down
  malformed,  // the message was longer than the buffer, or carried more descriptors than we take
  starved,    // the message carries descriptors for which this process has no room: no fault of its sender
  crowded,    // too many descriptors of ours are under way, to anybody: later
};

struct Received {
  SocketState state = SocketState::closed;
  std::size_t bytes = 0;
  std::array<FileDescriptor, kMaxDescriptors> fds;
  std::size_t fd_count = 0;
  std::uint32_t sender = 0;  // its process, where that was asked for and the socket has SO_PASSCRED
};

// Whether a message is taken with the process that has sent it, as the kernel knows it.
enum class Senders : std::uint8_t { unsaid, said };

// Sends one message of at least one byte, with up to kMaxDescriptors descriptors. `flags` as for sendmsg
// (MSG_DONTWAIT not to wait); a peer that has gone is `closed`, never a signal.
SocketState send_message(int fd, std::span<const std::byte> bytes, std::span<const int> fds = {},
                         int flags = 0) noexcept;

// Receives one message. Descriptors are made close-on-exec. From those only whom we trust: base/foreign.h
// says why, and receives from others.
Received receive_message(int fd, std::span<std::byte> buffer, int flags = 0) noexcept;

// The next message, which stays in the queue; the descriptors are duplicates of up to `most` of those that
// came with it. Those of a malformed or a starved message are given, too. Does not wait.
Received peek_message(int fd, std::span<std::byte> buffer, std::size_t most = kMaxDescriptors,
                      Senders senders = Senders::unsaid) noexcept;

// Two connected sockets, close-on-exec, of type SOCK_SEQPACKET. Throws Error(system).
std::pair<FileDescriptor, FileDescriptor> socket_pair();

}  // namespace hamlyn::internal_::base
