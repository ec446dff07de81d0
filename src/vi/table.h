#pragma once
// Objects by number: an index, and the generation of its place, so that the number of what has gone means
// nothing. 0 is the number of nothing.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::vi {

template <class Type>
class Table {
 public:
  explicit Table(std::uint32_t most) : most_(most) {}

  // 0: there are as many as there may be. Throws what `Type`'s constructor throws, and std::bad_alloc.
  template <class... Arguments>
  std::uint32_t make(Arguments&&... arguments) {
    if (count_ == most_) return 0;
    if (free_.empty()) {
      places_.emplace_back();
      free_.reserve(places_.size());  // so that `erase` never allocates
      free_.push_back(static_cast<std::uint32_t>(places_.size() - 1));
    }
    const std::uint32_t index = free_.back();
    Place& place = places_[index];
    place.object = std::make_unique<Type>(std::forward<Arguments>(arguments)...);
    free_.pop_back();
    ++count_;
    return std::uint32_t{place.generation} << 16 | index;
  }
  // Null: no such number.
  Type* find(std::uint32_t number) const noexcept {
    const std::uint32_t index = number & 0xFFFF;
    if (index >= places_.size() || places_[index].generation != number >> 16) return nullptr;
    return places_[index].object.get();
  }
  void erase(std::uint32_t number) noexcept {
    if (find(number) == nullptr) return;
    Place& place = places_[number & 0xFFFF];
    place.object.reset();
    if (++place.generation == 0) place.generation = 1;
    free_.push_back(number & 0xFFFF);
    --count_;
  }
  // Calls `what(number, object)` for each. It may erase that one.
  template <class What>
  void each(What what) {
    for (std::uint32_t index = 0; index != places_.size(); ++index) {
      Place& place = places_[index];
      if (place.object != nullptr) what(std::uint32_t{place.generation} << 16 | index, *place.object);
    }
  }
  std::uint32_t count() const noexcept { return count_; }

 private:
  struct Place {
    std::unique_ptr<Type> object;
    std::uint16_t generation = 1;
  };

  const std::uint32_t most_;  // at most 65536
  std::uint32_t count_ = 0;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace hamlyn::internal_::vi
