#pragma once
// Which pages of this process its message areas have locked in memory. The kernel keeps one bit per page, and
// several areas may lie over one page: a page is unlocked when the last area that had locked it lets go.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

// The locked pages of one area. Threads: any; calls for one area take turns. A forked child inherits no lock.
class Wiring {
 public:
  // Throws Error(out_of_memory): nobody could tell of forks. std::bad_alloc.
  Wiring();
  ~Wiring();  // lets go of all pages
  Wiring(const Wiring&) = delete;
  Wiring& operator=(const Wiring&) = delete;

  // Locks the pages that have a byte of `memory`. False: the system does not let it, and nothing has changed.
  bool lock(std::span<const std::byte> memory) noexcept;
  // Lets go of them; those of no other area are unlocked.
  void unlock(std::span<const std::byte> memory) noexcept;
  // Whether all of these pages are locked for this area.
  bool holds(std::span<const std::byte> memory) const noexcept;

 private:
  struct Range {
    std::uintptr_t begin;  // whole pages
    std::uintptr_t end;
  };
  static Range pages_of(std::span<const std::byte> memory) noexcept;
  static void unlock_unless_held(Range range) noexcept;

  std::vector<Range> ranges_;  // apart from each other, in no order
};

}  // namespace hamlyn::internal_::library
