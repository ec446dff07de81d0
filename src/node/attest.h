#pragma once
// Who is at the other end of a connection, from the kernel and nobody else.
#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"
#include "node/node.h"

namespace hamlyn::node {

struct Attested {
  Identity who;
  base::FileDescriptor pidfd;
};

// Empty if the process has gone already, or cannot be seen from here.
std::optional<Attested> attest(int socket);

// The most bytes of a counter page.
inline constexpr std::uint64_t kMostCounterBytes = 1 << 20;

// Whose process has connected it.
std::optional<std::uint32_t> uid_of(int socket);

// Whether this may be handed to `hamlyn node` as a counter page: a memfd of a sensible size that its owner
// can no longer shrink under a reader.
bool sound_counters(int fd);

}  // namespace hamlyn::node
