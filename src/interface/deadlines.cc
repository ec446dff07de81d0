#include "interface/deadlines.h"

#include <new>
#include <utility>

#include "base/assert.h"

namespace hamlyn::internal_::interface {

std::uint16_t Deadlines::add(std::uint64_t time, Entry entry) noexcept {
  if (heap_.size() == kMost) return 0;
  if (free_.empty()) {
    try {
      rows_.push_back({});
      heap_.reserve(rows_.capacity());
      free_.reserve(rows_.capacity());  // so that removing one never allocates
    } catch (const std::bad_alloc&) {
      if (rows_.size() > heap_.size() + 1) rows_.pop_back();
      return 0;
    }
    free_.push_back(static_cast<std::uint16_t>(rows_.size() - 1));
  }
  const std::uint16_t name = free_.back();
  free_.pop_back();
  heap_.push_back(name);
  rows_[name] = {time, entry, static_cast<std::uint32_t>(heap_.size() - 1)};
  HAMLYN_ASSERT(name != 0, "0 is nobody's name");
  settle(heap_.size() - 1);
  return name;
}

void Deadlines::remove(std::uint16_t name) noexcept {
  HAMLYN_ASSERT(name != 0 && name < rows_.size(), "an entry's name is one that add() gave");
  const std::size_t place = rows_[name].place;
  HAMLYN_ASSERT(place < heap_.size() && heap_[place] == name, "each row knows its place");
  HAMLYN_ASSERT(free_.size() < free_.capacity(), "add() has made the room");
  exchange(place, heap_.size() - 1);
  heap_.pop_back();
  free_.push_back(name);
  if (place < heap_.size()) settle(place);
}

void Deadlines::exchange(std::size_t one, std::size_t other) noexcept {
  std::swap(heap_[one], heap_[other]);
  rows_[heap_[one]].place = static_cast<std::uint32_t>(one);
  rows_[heap_[other]].place = static_cast<std::uint32_t>(other);
}

// Up or down, until it stands where it may.
void Deadlines::settle(std::size_t place) noexcept {
  while (place != 0 && earlier(place, (place - 1) / 2)) {
    exchange(place, (place - 1) / 2);
    place = (place - 1) / 2;
  }
  while (true) {
    std::size_t least = place;
    for (const std::size_t child : {2 * place + 1, 2 * place + 2}) {
      if (child < heap_.size() && earlier(child, least)) least = child;
    }
    if (least == place) return;
    exchange(place, least);
    place = least;
  }
}

}  // namespace hamlyn::internal_::interface
