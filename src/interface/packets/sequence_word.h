#pragma once
// The sequence word of a terminus: the number up to which its messages are over. Whoever sees it uses their
// buffers anew, without any lock.
#include <cstdint>

#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

template <class Memory = base::RealMemory>
struct SequenceWord {
  // Under the run lock, behind the last look at the buffers.
  static void tell(std::uint64_t& word, std::uint64_t over) noexcept {
    Memory::store_release(word, over);  // pairs with `told`
  }
  static std::uint64_t told(const std::uint64_t& word) noexcept {
    return Memory::load_acquire(word);  // pairs with `tell`
  }
};

}  // namespace hamlyn::internal_::interface
