#pragma once
// Credits, by which a reader tells its writer how many cells of the ring it has taken. They are the writer's
// again, who is told behind the reader's last look at them.
#include <cstdint>

#include "base/memory.h"

namespace hamlyn::shm {

template <class Memory = base::RealMemory>
struct Credit {
  // `word`: the reader's own.
  static void tell(std::uint64_t& word, std::uint64_t taken) noexcept {
    Memory::store_release(word, taken);  // pairs with `told` at the writer
  }
  static std::uint64_t told(const std::uint64_t& word) noexcept {
    return Memory::load_acquire(word);  // pairs with `tell` at the reader
  }
};

}  // namespace hamlyn::shm
