#pragma once
// Attributes of files, and changes of them (paper 4, section 7.4.1: file attributes).
#include <compare>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace hamlyn {

namespace files {

// Kinds of file, under numbers of the wire's.
enum class Kind : std::uint32_t { other = 0, file = 1, directory = 2, symbolic_link = 3 };

// A moment since 1970, in UTC. `nanoseconds`: below 10^9.
struct Moment {
  std::int64_t seconds = 0;  // may be below 0
  std::uint32_t nanoseconds = 0;
  std::uint32_t zero = 0;  // reserved

  friend auto operator<=>(const Moment&, const Moment&) = default;
};

// All that is known of a file but for its data. As the wire has them, little-endian.
struct Attributes {
  std::uint64_t inode = 0;   // of the server's file system
  std::uint64_t size = 0;    // bytes
  std::uint64_t blocks = 0;  // of 512 bytes that it takes on the server's disk
  Kind kind = Kind::other;   // what it is
  std::uint32_t mode = 0;    // the twelve bits of rights, set-id and sticky
  std::uint32_t links = 0;   // names that it has
  std::uint32_t owner = 0;   // user, as the server's host numbers users
  std::uint32_t group = 0;   // as the server's host numbers groups
  std::uint32_t listed = 0;  // 1: an access control list stands beside the mode, which the server alone reads
  Moment read = {};          // POSIX's atime
  Moment written = {};       // mtime
  Moment changed = {};       // ctime

  friend bool operator==(const Attributes&, const Attributes&) = default;
};
static_assert(sizeof(Attributes) == 96 && std::has_unique_object_representations_v<Attributes>);

// Attributes that are to be set; the rest stays.
struct Changes {
  // A time that is to be set.
  struct Time {
    bool now = false;    // the server's time
    Moment moment = {};  // otherwise this one
  };
  std::optional<std::uint32_t> mode = {};   // twelve bits
  std::optional<std::uint32_t> owner = {};  // user
  std::optional<std::uint32_t> group = {};  // group
  std::optional<std::uint64_t> size = {};   // bytes; of new ones each is 0
  std::optional<Time> read = {};            // as Attributes::read
  std::optional<Time> written = {};         // as Attributes::written
};

// How rename treats a name that is there already.
enum class Renaming : std::uint8_t { replaces, refuses, exchanges };

// Room of the server's file system.
struct Room {
  std::uint64_t block = 0;       // bytes of one
  std::uint64_t blocks = 0;      // of the whole
  std::uint64_t free = 0;        // blocks
  std::uint64_t available = 0;   // blocks, to users that are not the superuser
  std::uint64_t files = 0;       // that there may be
  std::uint64_t files_free = 0;  // that there may be more
};

}  // namespace files

}  // namespace hamlyn
