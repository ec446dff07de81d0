#pragma once
// Registered memory that is found again by its address, for layers that send from their callers' memory
// (docs/vi.md, "C++").
//
// Threads: one at a time. Owner: who made it; the NIC is there for longer. Memory stays registered until it
// is forgotten, or the cache goes.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "hamlyn/vi/objects.h"

namespace hamlyn {

namespace vi {

// A cache of registrations.
class MemoryCache {
 public:
  // All memory is registered with these attributes.
  MemoryCache(Nic& nic, const MemoryAttributes& attributes) noexcept : nic_(nic), attributes_(attributes) {}
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  // Finds the handle of memory that has all of `bytes`; registers them if there is none. Answers as
  // Nic::register_memory: error_resource, too, when the NIC has as many regions as it may.
  Result find(std::span<std::byte> bytes, MemoryHandle& out) noexcept {
    if (covers(last_, bytes)) [[likely]] {
      out = last_handle_;
      return Result::success;
    }
    return find_other(bytes, out);
  }
  // Deregisters memory that has any of these bytes, as Nic::deregister_memory does. To be called before the
  // memory goes.
  void forget(std::span<const std::byte> bytes) noexcept;
  // Counts the registrations.
  std::size_t size() const noexcept { return all_.size(); }

 private:
  static bool covers(std::span<const std::byte> memory, std::span<const std::byte> bytes) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(bytes.data()) - first;
    return at < memory.size() && bytes.size() <= memory.size() - at;
  }
  Result find_other(std::span<std::byte> bytes, MemoryHandle& out) noexcept;

  Nic& nic_;
  MemoryAttributes attributes_;
  std::multimap<std::uintptr_t, Memory> all_;  // by its first byte
  std::span<const std::byte> last_;            // the memory that was found last, or none
  MemoryHandle last_handle_ = 0;
};

}  // namespace vi

}  // namespace hamlyn
