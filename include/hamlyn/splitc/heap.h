#pragma once
// Memory that all ranks can name: of one rank's own, at the same place everywhere, and arrays spread over all
// ranks.
//
// Threads: that of the Program. Owner: who made it; all of it goes with the Program. Memory is zeroed when it
// is given.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hamlyn/splitc/global_ptr.h"
#include "hamlyn/splitc/program.h"

namespace hamlyn::internal_::splitc {

// Each throws Error: out_of_memory, which says how much there is.
std::uint64_t allocate(std::size_t count, std::size_t bytes);
void deallocate(std::uint64_t word);
std::uint64_t allocate_everywhere(std::size_t count, std::size_t bytes);
void deallocate_everywhere(std::uint64_t word);
// For destructors. An error is kept: the next call that waits for other ranks, or `poll`, throws it.
void give_back_everywhere(std::uint64_t word) noexcept;
// Throws Error: invalid_argument.
[[noreturn]] void throw_block(std::size_t block, std::size_t size);

}  // namespace hamlyn::internal_::splitc

namespace hamlyn::splitc {

// Takes room for `count` objects from this rank's heap. Throws Error: out_of_memory, with how much is free,
// and the option that gives more.
template <Plain T>
global_ptr<T> allocate(std::size_t count = 1) {
  static_assert(alignof(T) <= 64);
  return global_ptr<T>::from_word(internal_::splitc::allocate(count, sizeof(T)));
}
// Gives it back: a pointer that `allocate` has returned at this rank, or null. Throws Error:
// invalid_argument.
template <Plain T>
void deallocate(global_ptr<T> mine) {
  internal_::splitc::deallocate(mine.word());
}

// Room for `count` objects at the same place in all heaps.
template <Plain T>
class everywhere {
 public:
  // Collective, as its end is: all ranks make as large ones in the same order. Throws Error: out_of_memory,
  // on all ranks alike; invalid_argument: ranks disagree.
  explicit everywhere(std::size_t count = 1)
      : word_(internal_::splitc::allocate_everywhere(count, sizeof(T))), count_(count) {
    static_assert(alignof(T) <= 64);
  }
  ~everywhere() { internal_::splitc::give_back_everywhere(word_); }
  everywhere(const everywhere&) = delete;
  everywhere& operator=(const everywhere&) = delete;

  // Points to that rank's object `i`. Throws Error: invalid_argument: there is none.
  global_ptr<T> at(Rank who, std::size_t i = 0) const {
    if (who >= ranks()) internal_::splitc::throw_outside(who, ranks(), "rank");
    if (i >= count_) internal_::splitc::throw_outside(i, count_);
    return global_ptr<T>::from_word(word_).at(who) + static_cast<std::ptrdiff_t>(i);
  }
  // Objects of this rank.
  std::span<T> mine() const noexcept { return {global_ptr<T>::from_word(word_).local(), count_}; }
  std::size_t size() const noexcept { return count_; }

 private:
  const std::uint64_t word_;  // of this rank's first
  const std::size_t count_;
};

// An array whose blocks of `block` elements are dealt out to the ranks in turn: `double a[n]::[block]` of the
// language.
template <Plain T>
class spread_array {
 public:
  // Collective, as its end is (all_spread_malloc, all_spread_free). Throws Error: as `everywhere`;
  // invalid_argument: blocks of nothing.
  explicit spread_array(std::size_t elements, std::size_t block = 1)
      : size_(elements), block_(block), part_(rows() * block) {}

  global_ref<T> operator[](std::size_t i) const { return *at(i); }
  // Points to element `i`. Throws Error: invalid_argument: there is none.
  global_ptr<T> at(std::size_t i) const {
    if (i >= size_) internal_::splitc::throw_outside(i, size_);
    return part_.at(owner(i), i / block_ / ranks() * block_ + i % block_);
  }
  // Rank that has element `i`.
  Rank owner(std::size_t i) const noexcept { return static_cast<Rank>(i / block_ % ranks()); }
  std::size_t size() const noexcept { return size_; }
  // Elements of this rank, in their order.
  std::span<T> mine() const noexcept { return part_.mine().first(count_of(rank())); }
  // Index in the whole of `mine()[k]`.
  std::size_t index_of_mine(std::size_t k) const noexcept {
    return (k / block_ * ranks() + rank()) * block_ + k % block_;
  }

 private:
  // Blocks that the rank with most has.
  std::size_t rows() const {
    using namespace internal_::splitc;
    if (block_ == 0 || block_ > kPlaces || size_ > kPlaces * kMostRanks) throw_block(block_, size_);
    const std::size_t row = block_ * ranks();
    return size_ / row + (size_ % row != 0 || size_ == 0 ? 1 : 0);
  }
  std::size_t count_of(Rank who) const noexcept {
    const std::size_t row = block_ * ranks(), rest = size_ % row, before = who * block_;
    return size_ / row * block_ + (rest > before ? (rest - before < block_ ? rest - before : block_) : 0);
  }

  const std::size_t size_, block_;
  const everywhere<T> part_;
};

}  // namespace hamlyn::splitc
