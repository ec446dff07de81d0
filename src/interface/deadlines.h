#pragma once
// When entries are to fail if they are not complete by then: a heap whose members know their places, so that
// one that is no longer needed goes at once. Nothing is allocated but by `add`.
#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

class Deadlines {
 public:
  static constexpr std::uint32_t kMost = 65535;  // at a time; a name fits 16 bits, and 0 is nobody's
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Entry {
    std::uint32_t slot = 0;
    std::uint32_t entry = 0;
  };

  // The name of a new one, or 0: there are as many as there can be, or no memory.
  std::uint16_t add(std::uint64_t time, Entry entry) noexcept;
  void remove(std::uint16_t name) noexcept;
  // The earliest time, or kNever.
  std::uint64_t next() const noexcept { return heap_.empty() ? kNever : rows_[heap_.front()].time; }
  // Whose the earliest is; there must be one.
  Entry first() const noexcept { return rows_[heap_.front()].entry; }
  std::size_t size() const noexcept { return heap_.size(); }

 private:
  struct Row {
    std::uint64_t time = 0;
    Entry entry;
    std::uint32_t place = 0;  // in the heap
  };
  bool earlier(std::size_t one, std::size_t other) const noexcept {
    return rows_[heap_[one]].time < rows_[heap_[other]].time;
  }
  void exchange(std::size_t one, std::size_t other) noexcept;
  void settle(std::size_t place) noexcept;

  std::vector<Row> rows_{1};         // by name
  std::vector<std::uint16_t> free_;  // names
  std::vector<std::uint16_t> heap_;  // names; each is no later than the two behind it
};

}  // namespace hamlyn::internal_::interface
