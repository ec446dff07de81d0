#pragma once
// How a versioned record is written while others read it (hamlyn/segment/versioned.h).
#include <cstdint>
#include <cstring>

#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

template <class Memory = base::RealMemory>
struct RecordWords {
  // By the one writer.
  static void write(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at != bytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, from + at, sizeof word);
      // Pairs with the load in `read`.
      Memory::store_release(*reinterpret_cast<std::uint64_t*>(to + at), word);
    }
  }
  // By anybody; the record's check says whether all of it is of one write.
  static void read(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at != bytes; at += sizeof(std::uint64_t)) {
      // Pairs with the store in `write`.
      const std::uint64_t word = Memory::load_acquire(*reinterpret_cast<const std::uint64_t*>(from + at));
      std::memcpy(to + at, &word, sizeof word);
    }
  }
};

}  // namespace hamlyn::internal_::segment
