#pragma once
// Entries of a completion queue: a ring that is made once, so that no completion allocates.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::vi {

struct Entry {
  std::uint32_t vi = 0;
  bool receive = false;
};

class Entries {
 public:
  explicit Entries(std::uint32_t most) : ring_(most) {}

  bool empty() const noexcept { return count_ == 0; }
  bool full() const noexcept { return count_ == ring_.size(); }
  std::uint32_t count() const noexcept { return count_; }
  void add(const Entry& entry) noexcept {
    HAMLYN_ASSERT(!full(), "whoever adds has looked");
    ring_[place(count_++)] = entry;
  }
  Entry take() noexcept {
    HAMLYN_ASSERT(!empty(), "whoever takes has looked");
    const Entry out = ring_[first_];
    first_ = place(1);
    --count_;
    return out;
  }
  // Without those of a VI that goes.
  void remove(std::uint32_t vi) noexcept {
    for (std::uint32_t left = count_; left != 0; --left)
      if (const Entry entry = take(); entry.vi != vi) add(entry);
  }
  // As many as there are fit. Throws std::bad_alloc.
  void resize(std::uint32_t most) {
    Entries other(most);
    while (!empty()) other.add(take());
    *this = std::move(other);
  }

 private:
  std::uint32_t place(std::uint32_t behind) const noexcept {
    const std::uint32_t at = first_ + behind, size = static_cast<std::uint32_t>(ring_.size());
    return at >= size ? at - size : at;
  }

  std::vector<Entry> ring_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace hamlyn::internal_::vi
