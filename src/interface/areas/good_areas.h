#pragma once
// Which of its send buffer areas the other side of a link may read now, a bit for each number, in a word that
// their owner has. It takes a bit away before it tells anybody that messages out of the area are over: their
// buffers may be used anew then. Who has copied some of them looks at the word behind its copy: if the bit is
// still there, the copy is of what stood there when it was sent.
#include <cstdint>

#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

template <class Memory = base::RealMemory>
struct GoodAreas {
  // By their owner, under its run lock.
  static void tell(std::uint64_t& word, std::uint64_t good) noexcept {
    Memory::store_relaxed(word, good);
    Memory::fence();  // pairs with `told`: whoever reads what is written from now on finds the word changed
  }
  // By the other side, behind its copy.
  static bool told(const std::uint64_t& word, std::uint32_t number) noexcept {
    Memory::load_fence();  // pairs with `tell`
    return (Memory::load_relaxed(word) >> number & 1) != 0;
  }
};

}  // namespace hamlyn::internal_::interface
