#pragma once
// The bytes of one run of a fuzz target, taken as what it wants to know next: which of so many, any number,
// any bytes. A byte decides little, so that a change of one changes little and coverage can lead the way.
// Behind the end there are zeros; a target goes on for as long as there is something left.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace hamlyn::fuzz {

class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  bool empty() const noexcept { return left_.empty(); }

  // One of 0 to below - 1, by as few bytes as can say it.
  std::uint64_t pick(std::uint64_t below) noexcept {
    std::size_t bytes = 1;
    while (bytes < sizeof below && (below - 1) >> (8 * bytes) != 0) ++bytes;
    return take(bytes) % below;
  }

  // Any number; the small ones and those at the upper edge are the shortest.
  std::uint64_t number() noexcept {
    const std::uint64_t form = take(1);
    const std::uint64_t number = take(form % 9);
    return form >= 128 ? ~number : number;
  }

  std::byte byte() noexcept { return static_cast<std::byte>(take(1)); }

  // So many bytes; fewer at the end.
  std::span<const std::byte> bytes(std::size_t count) noexcept {
    const std::span<const std::byte> out = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(out.size());
    return out;
  }

  // Different bytes everywhere, for data of which nothing depends on what they are.
  void fill(std::span<std::byte> out) noexcept {
    std::uint64_t each = take(1);
    for (std::byte& one : out) one = static_cast<std::byte>(each = each * 5 + 1);
  }

  // One bit of the message changes, or one byte.
  void spoil(std::span<std::byte> message) noexcept {
    if (message.empty()) return;
    std::byte& at = message[pick(message.size())];
    at = pick(2) == 0 ? at ^ static_cast<std::byte>(1u << pick(8)) : byte();
  }
  template <class Message>
  void spoil(Message& message) noexcept {
    spoil(std::as_writable_bytes(std::span{&message, 1}));
  }

 private:
  std::uint64_t take(std::size_t count) noexcept {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < count && !left_.empty(); ++i, left_ = left_.subspan(1))
      out |= std::to_integer<std::uint64_t>(left_.front()) << (8 * i);
    return out;
  }

  std::span<const std::byte> left_;
};

}  // namespace hamlyn::fuzz
