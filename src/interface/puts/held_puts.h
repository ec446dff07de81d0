#pragma once
// Puts that arrived where nothing may land now, in their order, in memory that is bounded from the start.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "base/namespaces.h"
#include "hamlyn/values/put.h"

namespace hamlyn::internal_::interface {

// A put that waits, and what is to be done when it may land.
struct Waiting : HeldPut {
  enum class What : std::uint8_t { store, add, announce };
  What what = What::store;
  bool signal = false;     // it comes behind all that waited before it
  bool apart = false;      // a record behind it announces it, and what else there is of that put
  std::uint64_t span = 0;  // what it touches, and is told of, from `offset` on
};

class HeldPuts {
 public:
  explicit HeldPuts(std::size_t bytes)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(bytes)), size_(bytes) {}

  bool empty() const noexcept { return used_ == head_; }
  std::size_t used() const noexcept { return used_; }
  // Whether any of them may touch [begin, end).
  bool overlaps(std::uint64_t begin, std::uint64_t end) const noexcept {
    return !empty() && begin < end_ && begin_ < end;
  }

  // Whether so many with so much data in all fit, whatever data each has.
  bool has_room(std::uint64_t records, std::uint64_t data) noexcept;
  // Where the data of one more is to be written. There is room.
  std::byte* add(const Waiting& record) noexcept;
  // The oldest one's, which there is.
  Waiting front() const noexcept;
  const std::byte* front_data() const noexcept { return memory_.get() + head_ + sizeof(Waiting); }
  void pop() noexcept;
  void clear() noexcept;
  // Calls `land(record, data)` for each in its order; those for which it says false stay. From inside,
  // overlaps() is of those that stay.
  template <class Land>
  void settle(Land land) noexcept {
    std::size_t kept = 0;
    begin_ = ~std::uint64_t{0};
    end_ = 0;
    for (std::size_t at = std::exchange(head_, 0); at != used_;) {
      const Waiting record = record_at(at);
      const std::size_t bytes = bytes_of(record);
      if (!land(record, memory_.get() + at + sizeof(Waiting))) {
        widen(record);
        move(kept, at, bytes);
        kept += bytes;
      }
      at += bytes;
    }
    HAMLYN_ASSERT(kept <= used_, "what stays is no more than there was");
    used_ = kept;
  }

 private:
  static std::size_t bytes_of(const Waiting& record) noexcept {
    return sizeof(Waiting) + (static_cast<std::size_t>(record.length) + 7) / 8 * 8;
  }
  Waiting record_at(std::size_t at) const noexcept;
  void move(std::size_t to, std::size_t from, std::size_t bytes) noexcept;
  void widen(const Waiting& record) noexcept;

  std::unique_ptr<std::byte[]> memory_;  // records with their data, one behind the other from its begin on
  std::size_t size_;
  std::size_t head_ = 0;                     // where the oldest begins
  std::size_t used_ = 0;                     // where the next will
  std::uint64_t begin_ = ~std::uint64_t{0};  // of all that they touch
  std::uint64_t end_ = 0;
};

}  // namespace hamlyn::internal_::interface
