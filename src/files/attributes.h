#pragma once
// What is known of a file but for its data (paper 4, section 7.4.1: file attributes).
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"

namespace hamlyn::internal_::files {

// Kinds of file, under numbers of the wire's.
enum class Kind : std::uint32_t { other = 0, file = 1, directory = 2, symbolic_link = 3 };

// A moment since 1970, in UTC. `nanoseconds`: below 10^9.
struct Moment {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  std::uint32_t zero = 0;  // reserved

  friend auto operator<=>(const Moment&, const Moment&) = default;
};

// As the wire has them, little-endian; nothing of a host's `struct stat`.
struct Attributes {
  std::uint64_t inode = 0;   // of the server's file system
  std::uint64_t size = 0;    // bytes
  std::uint64_t blocks = 0;  // of 512 bytes that it takes on the server's disk
  Kind kind = Kind::other;
  std::uint32_t mode = 0;  // the twelve bits of rights, set-id and sticky
  std::uint32_t links = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
  std::uint32_t zero = 0;  // reserved
  Moment read;             // POSIX's atime
  Moment written;          // mtime
  Moment changed;          // ctime

  friend bool operator==(const Attributes&, const Attributes&) = default;
};
static_assert(sizeof(Attributes) == 96 && std::has_unique_object_representations_v<Attributes>);

}  // namespace hamlyn::internal_::files
