#pragma once
// The words that a lender of buffers and a borrower share (loan_wire.h), each with one writer.
#include <cstdint>

#include "base/memory.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::protocols {

template <class Memory = base::RealMemory>
struct LoanWords {
  // By the lender, before the buffer is used anew: whoever still reads what it was sees its number move
  // before anything else in it. Only one that was taken by force is still read.
  static void show(std::uint32_t& word, std::uint32_t number, bool by_force) noexcept {
    Memory::store_relaxed(word, number);
    if (by_force) Memory::fence();  // pairs with `current`
  }
  // By the borrower, behind what it has read.
  static bool current(const std::uint32_t& word, std::uint32_t number) noexcept {
    Memory::fence();  // pairs with `show`
    return Memory::load_relaxed(word) == number;
  }

  // By the borrower; returns what the lender's word says, which moves when it waits.
  static std::uint32_t give_back(std::uint32_t& word, std::uint32_t number,
                                 const std::uint32_t& wanted) noexcept {
    Memory::store_release(word, number);  // pairs with `given_back`
    Memory::fence();                      // pairs with `want`: one of us sees the other
    return Memory::load_relaxed(wanted);
  }
  // By the lender: whoever finds the number there finds the buffer no longer read.
  static std::uint32_t given_back(const std::uint32_t& word) noexcept {
    return Memory::load_acquire(word);  // pairs with `give_back`
  }
  // Borrowers that give something back from here on ring; then the lender looks what was given back before.
  static void want(std::uint32_t& word) noexcept {
    Memory::store_relaxed(word, Memory::load_relaxed(word) + 1);
    Memory::fence();  // pairs with `give_back`
  }
};

}  // namespace hamlyn::internal_::protocols
