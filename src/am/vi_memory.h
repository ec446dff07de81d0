#pragma once
// Registrations of callers' memory, from which long messages leave, found again by its address.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <span>

#include "base/namespaces.h"
#include "vi/machine.h"
#include "vi/port.h"

namespace hamlyn::internal_::am {

using Nic = vi::Machine<vi::Port>;

// Memory stays registered when its owner has freed it: nothing is pinned by that, and nobody else may write
// or read there.
class Registrations {
 public:
  static constexpr std::size_t kMost = 1024;

  Registrations(Nic& nic, vi::Tag tag) noexcept : nic_(nic), tag_(tag) {}
  ~Registrations() { forget_all(); }
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  // 0: there are as many as there may be, or no memory.
  vi::MemoryHandle find(std::span<const std::byte> bytes) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
    const auto found = all_.upper_bound(at);
    if (found != all_.begin()) {
      const auto& [first, memory] = *std::prev(found);
      if (bytes.size() <= memory.length && at - first <= memory.length - bytes.size()) return memory.handle;
    }
    return all_.size() < kMost ? add(bytes) : vi::MemoryHandle{0};
  }
  // Forgets those that nothing leaves from, as `leaves(handle)` says.
  template <class Leaves>
  void forget_unless(Leaves leaves) noexcept {
    std::erase_if(all_, [&](const auto& each) {
      if (leaves(each.second.handle)) return false;
      let_go(each.first, each.second);
      return true;
    });
  }
  void forget_all() noexcept {
    forget_unless([](vi::MemoryHandle) { return false; });
  }

 private:
  struct Memory {
    std::size_t length = 0;
    vi::MemoryHandle handle = 0;
  };

  vi::MemoryHandle add(std::span<const std::byte> bytes) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
    Memory memory{bytes.size(), 0};
    try {
      const std::span<std::byte> all{const_cast<std::byte*>(bytes.data()), bytes.size()};
      if (nic_.register_memory(all, {.tag = tag_}, memory.handle) != vi::Result::success) return 0;
      all_.emplace(at, memory);  // behind shorter ones that begin there
      return memory.handle;
    } catch (const std::exception&) {  // there is no memory
      let_go(at, memory);
      return 0;
    }
  }
  void let_go(std::uintptr_t first, const Memory& memory) noexcept {
    if (memory.handle == 0) return;
    try {
      static_cast<void>(nic_.deregister_memory(reinterpret_cast<const void*>(first), memory.handle));
    } catch (const std::exception&) {  // its number stays taken
    }
  }

  Nic& nic_;
  const vi::Tag tag_;
  std::multimap<std::uintptr_t, Memory> all_;  // by the first byte
};

}  // namespace hamlyn::internal_::am
