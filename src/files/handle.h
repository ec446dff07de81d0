#pragma once
// Names a file between clerk and server (paper 4, section 7.4.1): a file keeps its handle while it is
// there, whatever it is called; a file that comes later with its inode number has another one.
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/namespaces.h"

namespace hamlyn::internal_::files {

// A value; for everybody but the store that has given it just bytes. Numbers are little-endian on the wire.
struct Handle {
  static constexpr std::size_t kMost = 32;  // bytes of the file system's own handle

  std::uint16_t kind = 0;    // the file system's
  std::uint16_t length = 0;  // of `bytes` that are used: 1 to kMost. The others are 0
  std::uint32_t zero = 0;    // reserved
  std::uint64_t seal = 0;    // by which the store knows that it has given the handle
  std::array<std::byte, kMost> bytes{};

  friend auto operator<=>(const Handle&, const Handle&) = default;
};
static_assert(sizeof(Handle) == 48 && std::has_unique_object_representations_v<Handle>);

}  // namespace hamlyn::internal_::files
