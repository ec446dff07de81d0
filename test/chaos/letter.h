#pragma once
// What the players send each other: bytes that say which account and which number they are of, for whom, and
// that are made from that, so that any mixture of two letters, or half of one, is seen.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hamlyn::chaos {

struct Letter {
  std::uint32_t serial = 0;  // of the account's use
  std::uint16_t account = 0;
  std::uint16_t to = 0;      // seat of the receiver
  std::uint32_t number = 0;  // within the account
  std::uint32_t length = 0;  // of the whole letter, this head included
};
inline constexpr std::size_t kShortestLetter = sizeof(Letter);
inline constexpr std::size_t kLongestLetter = 65536;

// Fills `to`, which is `letter.length` long.
void write_letter(std::span<std::byte> to, const Letter& letter);
// The letter that stands at the start of `from`. Nothing: those are not the bytes of any letter.
std::optional<Letter> read_letter(std::span<const std::byte> from);

}  // namespace hamlyn::chaos
