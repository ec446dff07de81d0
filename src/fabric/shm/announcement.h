#pragma once
// Rings that are rarely written have one word that moves behind each packet in them, so that whoever looks at
// many links need not look at each of their rings.
#include <cstdint>

#include "base/memory.h"
#include "fabric/shm/ring.h"

namespace hamlyn::shm {

template <class Memory = base::RealMemory>
struct Announcer {
  // Behind the packet. `count`: of all packets so far.
  static void announce(std::uint32_t& word, std::uint32_t count) noexcept {
    Memory::store_release(word, count);  // pairs with `nothing_there`
  }
  // Whether there is nothing in the rings; what comes later moves the word from `announced`.
  template <class... Rings>
  static bool nothing_there(const std::uint32_t& word, std::uint32_t& announced,
                            const Rings&... rings) noexcept {
    // Pairs with `announce`, and before the rings: what is not seen there is announced later.
    announced = Memory::load_acquire(word);
    return !(rings.something_there() || ...);
  }
};

}  // namespace hamlyn::shm
