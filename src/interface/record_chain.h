#pragma once
// Lists of place records: their links stand in the records, which are known by index, for records move. None
// is of index 0. Neither joining nor leaving searches or allocates.
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

struct RecordLinks {
  std::uint32_t next = 0;
  std::uint32_t previous = 0;
};

template <auto kLinks, class Record>
void chain(std::vector<Record>& records, std::uint32_t& first, std::uint32_t index) noexcept {
  HAMLYN_ASSERT(index != 0 && index < records.size(), "record 0 is in no list");
  records[index].*kLinks = {first, 0};
  if (first != 0) (records[first].*kLinks).previous = index;
  first = index;
}

template <auto kLinks, class Record>
void unchain(std::vector<Record>& records, std::uint32_t& first, std::uint32_t index) noexcept {
  const RecordLinks links = records[index].*kLinks;
  HAMLYN_ASSERT(links.previous != 0 || first == index, "a record without one before it is the first");
  (links.previous == 0 ? first : (records[links.previous].*kLinks).next) = links.next;
  if (links.next != 0) (records[links.next].*kLinks).previous = links.previous;
  records[index].*kLinks = {};
}

}  // namespace hamlyn::internal_::interface
