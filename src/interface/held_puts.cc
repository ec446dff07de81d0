#include "interface/held_puts.h"

#include <algorithm>
#include <cstring>

namespace hamlyn::interface {

void HeldPuts::widen(const HeldPut& record) noexcept {
  begin_ = std::min(begin_, record.offset);
  end_ = std::max(end_, record.offset + record.length);
}

HeldPut HeldPuts::record_at(std::size_t at) const noexcept {
  HeldPut record;
  std::memcpy(&record, memory_.get() + at, sizeof record);
  return record;
}

void HeldPuts::move(std::size_t to, std::size_t from, std::size_t bytes) noexcept {
  if (to != from) std::memmove(memory_.get() + to, memory_.get() + from, bytes);
}

bool HeldPuts::has_room(std::uint64_t records, std::uint64_t data) const noexcept {
  constexpr std::uint64_t kMostEach = sizeof(HeldPut) + 7;
  const std::uint64_t room = size_ - used_;
  return data <= room && records <= (room - data) / kMostEach;
}

std::byte* HeldPuts::add(const HeldPut& record) noexcept {
  std::byte* const at = memory_.get() + used_;
  std::memcpy(at, &record, sizeof record);
  used_ += bytes_of(record);
  widen(record);
  return at + sizeof record;
}

HeldPut HeldPuts::front() const noexcept { return record_at(0); }

void HeldPuts::pop() noexcept {
  const std::size_t bytes = bytes_of(front());
  used_ -= bytes;
  move(0, bytes, used_);
  if (used_ != 0) return;
  begin_ = ~std::uint64_t{0};
  end_ = 0;
}

}  // namespace hamlyn::interface
