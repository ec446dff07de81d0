#pragma once
// Attests who is at the other end of a connection, from the kernel and nobody else.
#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"
#include "node/mind/node.h"

namespace hamlyn::node {

struct Attested {
  Identity who;
  base::FileDescriptor pidfd;
};

// How the process is known. From Linux 6.5 on the socket gives its pidfd. Before, the pid has to be opened,
// which may be another process's by then: whoever has connected may have ended, and a forked child may keep
// the socket. So the daemon takes a process for attested only when it has sent a message by that connection
// after its pid was opened. The kernel tells with each message which process has sent it.
enum class Attesting : std::uint8_t { by_socket, by_messages };
Attesting attesting() noexcept;  // what the kernel has

// Empty if the process has gone already, or cannot be seen from here; `errno` EMFILE or ENFILE: for want of a
// descriptor.
std::optional<Attested> attest(int socket, Attesting how);

// By messages: has each of them carry its sender, on a listener for all connections to come; or no more.
bool show_senders(int socket, bool shown) noexcept;
// Nothing has been sent that was not read yet.
bool nothing_said(int socket) noexcept;
bool is_alive(int pidfd) noexcept;

// The most bytes of a counter page.
inline constexpr std::uint64_t kMostCounterBytes = 1 << 20;

// Whose process has connected it.
std::optional<std::uint32_t> uid_of(int socket);

// Whether this may be handed to `hamlyn node` as a counter page: a memfd of a sensible size that its owner
// can no longer shrink under a reader.
bool sound_counters(int fd);

}  // namespace hamlyn::node
