#pragma once
// Content of the 16-byte messages of our figures: their number, twice, so that a receiver can tell a wrong
// one.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "tool/perf/our_party.h"

namespace hamlyn::tool::perf {

class ShortMessage {
 public:
  explicit ShortMessage(std::uint64_t number) : words_{number, ~number} {}
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words_}); }
  std::uint64_t number() const { return words_[0]; }

  // Receivers look at one message in so many.
  static bool looked_at(std::uint64_t number) { return number % 64 == 0; }
  static void check(Party& party, const Notification& arrival) {
    const ShortMessage wanted{arrival.word};
    const auto found = party.bytes(arrival);
    expect(found.size() == 16 && std::memcmp(found.data(), wanted.bytes().data(), 16) == 0,
           "a message was read that is not the one sent");
  }

 private:
  std::array<std::uint64_t, 2> words_;
};

}  // namespace hamlyn::tool::perf
