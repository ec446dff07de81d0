#include "test/chaos/letter.h"

#include <algorithm>
#include <cstring>

namespace hamlyn::chaos {
namespace {

// Eight bytes of a letter's text; no two letters, nor two places of one, have the same.
std::uint64_t text(const Letter& letter, std::size_t place) {
  std::uint64_t word = (std::uint64_t{letter.serial} << 32 | letter.number) ^
                       (place + 1) * 0x9E3779B97F4A7C15u ^ std::uint64_t{letter.length} << 40;
  word = (word ^ word >> 31) * 0xBF58476D1CE4E5B9u;
  return word ^ word >> 29;
}

}  // namespace

void write_letter(std::span<std::byte> to, const Letter& letter) {
  std::memcpy(to.data(), &letter, sizeof letter);
  for (std::size_t at = sizeof letter; at < to.size(); at += 8) {
    const std::uint64_t word = text(letter, at);
    std::memcpy(to.data() + at, &word, std::min<std::size_t>(8, to.size() - at));
  }
}

std::optional<Letter> read_letter(std::span<const std::byte> from) {
  Letter letter;
  if (from.size() < sizeof letter) return std::nullopt;
  std::memcpy(&letter, from.data(), sizeof letter);
  if (letter.length < sizeof letter || letter.length > from.size()) return std::nullopt;
  for (std::size_t at = sizeof letter; at < letter.length; at += 8) {
    const std::uint64_t word = text(letter, at);
    if (std::memcmp(from.data() + at, &word, std::min<std::size_t>(8, letter.length - at)) != 0)
      return std::nullopt;
  }
  return letter;
}

}  // namespace hamlyn::chaos
