#pragma once
// The number of memory that others have mapped, which moves when its owner leaves it for other memory. What
// somebody has stored is either in the owner's copy, or he finds the number moved.
#include <cstdint>

#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

template <class Memory = RealMemory>
struct Generation {
  // By the owner, before it copies what is to stay. `number` is what the word says: a copy of the owner's,
  // who never looks at what others see.
  static void move(std::uint64_t& word, std::uint64_t& number) noexcept {
    // Read by MappedSlot::current and Terminus::store_in_place of the others.
    Memory::store_relaxed(word, ++number);
    Memory::fence();  // pairs with `stored`
  }
  // By others, between their stores and their look at the number.
  static void stored() noexcept { Memory::fence(); }  // pairs with `move`
};

}  // namespace hamlyn::internal_::base
