#pragma once
// How a registry's owner changes memory that others read meanwhile: word by word, in any order, for a record
// is whole by its checksum and by nothing else. Only the number of changes comes behind the change.
#include <cstdint>
#include <cstring>

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

template <class Memory = base::RealMemory>
struct RegistryWords {
  static void store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, from + at, sizeof word);
      // Read by whoever serves a get, in copy_from_shared.
      Memory::store_relaxed(*reinterpret_cast<std::uint64_t*>(to + at), word);
    }
  }
  static void store(std::byte* to, std::uint64_t number) noexcept {
    std::byte little[sizeof number];
    base::store_little(little, number);
    store(to, little, sizeof little);
  }
  // Behind the change itself: who sees the number finds the change, too.
  static void count_change(std::byte* to, std::uint64_t changes) noexcept {
    std::byte little[sizeof changes];
    base::store_little(little, changes);
    std::uint64_t word;
    std::memcpy(&word, little, sizeof word);
    // Pairs with the get of a clerk that asks for the bucket behind it.
    Memory::store_release(*reinterpret_cast<std::uint64_t*>(to), word);
  }
};

}  // namespace hamlyn::internal_::segment
