#include "interface/puts/held_puts.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace hamlyn::internal_::interface {

void HeldPuts::widen(const Waiting& record) noexcept {
  begin_ = std::min(begin_, record.offset);
  end_ = std::max(end_, record.offset + record.span);
}

Waiting HeldPuts::record_at(std::size_t at) const noexcept {
  HAMLYN_ASSERT(at + sizeof(Waiting) <= used_, "a record stands in what is used");
  Waiting record;
  std::memcpy(&record, memory_.get() + at, sizeof record);
  return record;
}

void HeldPuts::move(std::size_t to, std::size_t from, std::size_t bytes) noexcept {
  if (to != from) std::memmove(memory_.get() + to, memory_.get() + from, bytes);
}

bool HeldPuts::has_room(std::uint64_t records, std::uint64_t data) noexcept {
  if (head_ != 0) {  // what was taken makes room
    move(0, head_, used_ - head_);
    used_ -= std::exchange(head_, 0);
  }
  constexpr std::uint64_t kMostEach = sizeof(Waiting) + 7;
  const std::uint64_t room = size_ - used_;
  return data <= room && records <= (room - data) / kMostEach;
}

std::byte* HeldPuts::add(const Waiting& record) noexcept {
  std::byte* const at = memory_.get() + used_;
  HAMLYN_ASSERT(bytes_of(record) <= size_ - used_, "has_room() has said so");
  std::memcpy(at, &record, sizeof record);
  used_ += bytes_of(record);
  widen(record);
  return at + sizeof record;
}

Waiting HeldPuts::front() const noexcept { return record_at(head_); }

void HeldPuts::pop() noexcept {
  HAMLYN_ASSERT(!empty(), "there is an oldest");
  head_ += bytes_of(front());
  HAMLYN_ASSERT(head_ <= used_, "a record ends where the next begins");
  if (empty()) clear();
}

void HeldPuts::clear() noexcept {
  head_ = used_ = 0;
  begin_ = ~std::uint64_t{0};
  end_ = 0;
}

}  // namespace hamlyn::internal_::interface
