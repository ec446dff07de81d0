#pragma once
// Keeps the writer and holders of each buffer of a pool, as a state machine: it knows no memory, no message
// and no thread. A buffer is free when it has no writer and nobody holds it. Every loan of it has a number of
// its own. By this number the book tells a loan from one that is given back late, twice, or by somebody who
// never had it.
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/namespaces.h"
#include "protocols/loan_wire.h"

namespace hamlyn::internal_::protocols {

class LoanBook {
 public:
  // Loans of one receiver.
  class Shelf {
   public:
    std::uint32_t count() const noexcept { return count_; }

   private:
    friend class LoanBook;
    std::array<std::uint64_t, kLoanBuffers / 64> held_{};
    std::array<std::uint32_t, kLoanBuffers>
        told_{};  // the number of the last loan of each that it was told of
    std::uint32_t count_ = 0;
  };

  // `cuts` are good. Throws std::bad_alloc.
  explicit LoanBook(const LoanCuts& cuts) : cuts_(cuts) {
    place_loans(cuts, [&](const LoanPlace&) { buffers_.push_back({}); });
    std::uint32_t first = 0;
    for (std::uint32_t of = 0; of < kLoanClasses; ++of) {
      const auto count = static_cast<std::uint32_t>(cuts[of].count);
      free_[of].row.resize(count);
      for (const std::uint32_t end = first + count; first != end; ++first) {
        buffers_[first].of = of;
        free_[of].put(first);
      }
    }
  }

  std::uint64_t longest() const noexcept {
    std::uint64_t longest = 0;
    for (const LoanCut& cut : cuts_) longest = cut.bytes > longest ? cut.bytes : longest;
    return longest;
  }

  // The smallest free buffer of `bytes` or more gets a writer, and a new number.
  std::optional<std::uint32_t> take(std::uint64_t bytes) noexcept {
    std::uint32_t best = kLoanClasses;
    for (std::uint32_t of = 0; of < kLoanClasses; ++of) {
      const bool fits = cuts_[of].bytes >= bytes && free_[of].count != 0;
      if (fits && (best == kLoanClasses || cuts_[of].bytes < cuts_[best].bytes)) best = of;
    }
    if (best == kLoanClasses) return std::nullopt;
    const std::uint32_t index = free_[best].take();
    buffers_[index].written = true;
    renew(buffers_[index]);
    return index;
  }
  std::uint32_t number(std::uint32_t index) const noexcept { return buffers_[index].number; }
  std::uint32_t holders(std::uint32_t index) const noexcept { return buffers_[index].holders; }
  // Somebody may still read what the buffer was before, as it was taken back by force; asked once.
  bool taken_by_force(std::uint32_t index) noexcept { return std::exchange(buffers_[index].forced, false); }

  // Whether this loan may be told to whom `shelf` belongs: each is told once.
  bool may_lend(std::uint32_t index, const Shelf& shelf) const noexcept {
    return shelf.told_[index] != buffers_[index].number;
  }
  void lend(std::uint32_t index, Shelf& shelf) noexcept {
    shelf.told_[index] = buffers_[index].number;
    shelf.held_[index / 64] |= bit(index);
    ++shelf.count_;
    ++buffers_[index].holders;
  }
  // Its writer is done with it.
  void let_go(std::uint32_t index) noexcept {
    buffers_[index].written = false;
    free_if_done(index);
  }

  // Takes in what was given back: `given_back(index)` is the number that the receiver says. Numbers of what
  // it does not have say nothing. Returns how many buffers it was.
  template <class GivenBack>
  std::uint32_t collect(Shelf& shelf, GivenBack given_back) noexcept {
    return empty(shelf, false, [&](std::uint32_t index) { return given_back(index) == shelf.told_[index]; });
  }
  // Everything that a receiver has comes back: it has gone, or is to have nothing any more.
  void clear(Shelf& shelf) noexcept {
    empty(shelf, true, [](std::uint32_t) { return true; });
  }
  // One of those from whom a buffer is taken back whose writer is still there. `renew_number` is for the
  // last.
  void take_back(std::uint32_t index, Shelf& shelf) noexcept {
    if ((shelf.held_[index / 64] & bit(index)) == 0) return;
    remove(index, shelf);
    buffers_[index].forced = true;
  }
  void renew_number(std::uint32_t index) noexcept { renew(buffers_[index]); }

  std::uint32_t buffers() const noexcept { return static_cast<std::uint32_t>(buffers_.size()); }
  std::uint32_t free_buffers() const noexcept {
    std::uint32_t count = 0;
    for (const Free& each : free_) count += each.count;
    return count;
  }

 private:
  struct Buffer {
    std::uint32_t number = 0;
    std::uint32_t holders = 0;
    std::uint32_t of = 0;  // its class
    bool written = false;  // it has a writer
    bool forced = false;
  };

  // The free buffers of a class, in the order in which they came back: one that was read long ago is in
  // nobody's cache any more, and cheaper to write than one that a receiver has just read.
  struct Free {
    std::vector<std::uint32_t> row;
    std::uint32_t next = 0;
    std::uint32_t count = 0;

    void put(std::uint32_t index) noexcept {
      const std::uint32_t at = next + count++;
      row[at < row.size() ? at : at - row.size()] = index;
    }
    std::uint32_t take() noexcept {
      const std::uint32_t index = row[next];
      if (++next == row.size()) next = 0;
      --count;
      return index;
    }
  };

  static std::uint64_t bit(std::uint32_t index) noexcept { return std::uint64_t{1} << index % 64; }
  static void renew(Buffer& buffer) noexcept {
    if (++buffer.number == 0) buffer.number = 1;
  }
  void remove(std::uint32_t index, Shelf& shelf) noexcept {
    shelf.held_[index / 64] &= ~bit(index);
    --shelf.count_;
    --buffers_[index].holders;
  }
  void free_if_done(std::uint32_t index) noexcept {
    Buffer& buffer = buffers_[index];
    if (!buffer.written && buffer.holders == 0) free_[buffer.of].put(index);
  }
  template <class Done>
  std::uint32_t empty(Shelf& shelf, bool by_force, Done done) noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t word = 0; shelf.count_ != 0 && word * 64 < buffers(); ++word) {
      for (std::uint64_t left = shelf.held_[word]; left != 0; left &= left - 1) {
        const std::uint32_t index = word * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
        if (!done(index)) continue;
        if (by_force) buffers_[index].forced = true;
        remove(index, shelf);
        free_if_done(index);
        ++count;
      }
    }
    return count;
  }

  const LoanCuts cuts_;
  std::vector<Buffer> buffers_;
  std::array<Free, kLoanClasses> free_;
};

}  // namespace hamlyn::internal_::protocols
