#pragma once
// Memory of an endpoint over VIs, registered with its NIC: callers' memory, from which long messages leave,
// and the segment.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <new>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/values/ticket.h"
#include "vi/machine.h"
#include "vi/port.h"

namespace hamlyn::internal_::am {

using Nic = vi::Machine<vi::Port>;

// Sends what can leave.
inline void step_of(Nic& nic) noexcept {
  try {
    nic.step();
  } catch (const std::exception&) {  // no memory: what was said is as if it had been lost
  }
}

// A segment: memory that the other sides of all VIs may write to.
class ViArea {
 public:
  // Throws std::bad_alloc; as much, too, if not all of it is there and writable.
  ViArea(Nic& nic, vi::Tag tag, std::span<std::byte> memory) : nic_(nic), memory_(memory) {
    if (nic_.register_memory(memory, {.tag = tag, .rdma_write = true}, handle_) != vi::Result::success)
      throw std::bad_alloc();
    step_of(nic_);
  }
  ~ViArea() {
    try {
      static_cast<void>(nic_.deregister_memory(memory_.data(), handle_));
    } catch (const std::exception&) {  // nobody could be told that their right has gone, which has
    }
    step_of(nic_);
  }
  ViArea(const ViArea&) = delete;
  ViArea& operator=(const ViArea&) = delete;
  // Its address as the key, its handle as the slot.
  Ticket ticket() const noexcept {
    Ticket out;
    out.key = reinterpret_cast<std::uintptr_t>(memory_.data());
    out.slot = handle_;
    out.bound = memory_.size();
    return out;
  }

 private:
  Nic& nic_;
  const std::span<std::byte> memory_;
  vi::MemoryHandle handle_ = 0;
};

// Right of one other endpoint to the segment: all have one and the same.
class ViWindow {
 public:
  explicit ViWindow(const ViArea& area) noexcept : ticket_(area.ticket()) {}
  const Ticket& ticket() const noexcept { return ticket_; }
  // A VI keeps the order: what was written before a message has landed.
  static constexpr std::uint64_t landed() noexcept { return ~std::uint64_t{0}; }

 private:
  const Ticket ticket_;
};

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
