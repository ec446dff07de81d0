#pragma once
// Messages of several packets, of one link, that will not become whole here though more of them may come:
// their first packets were refused, or their entry failed when some had come. What is late of one must not
// begin to fill an entry: it could never complete it. Each is kept until all has come that will: the deltas
// of a message sum to zero when that is so, whatever the order, for those of an abandon are its rest's.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

class LostMessages {
 public:
  // A packet of it was refused.
  void refused(std::uint32_t message, std::uint32_t delta) noexcept {
    if (count(message, delta) || (size_ == kMost && !forget_oldest_refused())) return;
    rows_[size_++] = {message, delta, false};
  }
  // Its entry has failed; what has come of it adds up to `sum`. False: there is no room.
  bool give_up(std::uint32_t message, std::uint32_t sum) noexcept {
    if (Row* const row = find(message)) {
      row->given_up = true;
      count(message, sum);
      return true;
    }
    if (sum == 0) return true;
    if (size_ == kMost) return false;
    rows_[size_++] = {message, sum, true};
    return true;
  }
  // Another packet of it, or its abandon. False: it is none of them.
  bool count(std::uint32_t message, std::uint32_t delta) noexcept {
    Row* const row = find(message);
    if (row == nullptr) return false;
    row->sum += delta;
    if (row->sum == 0) remove(row);
    return true;
  }
  bool has(std::uint32_t message) const noexcept { return find(message) != nullptr; }
  bool has_given_up(std::uint32_t message) const noexcept {
    const Row* const row = find(message);
    return row != nullptr && row->given_up;
  }
  bool empty() const noexcept { return size_ == 0; }

 private:
  // An honest sender has as many under way as it has termini, and where packets overtake one another those
  // that are still in the air. Who sends more spoils what it has tickets to, as it always could.
  static constexpr std::size_t kMost = 16;
  struct Row {
    std::uint32_t message;
    std::uint32_t sum;
    bool given_up;  // others' tickets are good because it is kept
  };

  Row* find(std::uint32_t message) noexcept { return const_cast<Row*>(std::as_const(*this).find(message)); }
  const Row* find(std::uint32_t message) const noexcept {
    const Row* const end = rows_.data() + size_;
    const Row* const found =
        std::find_if(rows_.data(), end, [&](const Row& row) { return row.message == message; });
    return found == end ? nullptr : found;
  }
  void remove(Row* row) noexcept {
    std::copy(row + 1, rows_.data() + size_, row);
    --size_;
  }
  bool forget_oldest_refused() noexcept {
    Row* const end = rows_.data() + size_;
    Row* const oldest = std::find_if(rows_.data(), end, [](const Row& row) { return !row.given_up; });
    if (oldest == end) return false;
    remove(oldest);
    return true;
  }

  std::array<Row, kMost> rows_{};  // the oldest first
  std::size_t size_ = 0;
};

}  // namespace hamlyn::internal_::interface
