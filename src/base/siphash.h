#pragma once
// SipHash-2-4 (Aumasson and Bernstein, 2012) of whole words: who does not know the key cannot tell the hash
// of words that were not hashed before. Of libsodium's crypto_shorthash, without that library.
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

class SipHash {
 public:
  using Key = std::array<std::uint64_t, 2>;

  // Hashes the words' bytes, the low one of each first.
  static constexpr std::uint64_t of(const Key& key, std::span<const std::uint64_t> words) noexcept {
    SipHash state(key);
    for (const std::uint64_t word : words) state.take(word);
    state.take(std::uint64_t{words.size() * sizeof(std::uint64_t)} << 56);
    state.v_[2] ^= 0xFF;
    for (int i = 0; i != 4; ++i) state.round();
    return state.v_[0] ^ state.v_[1] ^ state.v_[2] ^ state.v_[3];
  }

 private:
  constexpr explicit SipHash(const Key& key) noexcept
      : v_{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
           key[1] ^ 0x7465646279746573} {}

  constexpr void take(std::uint64_t word) noexcept {
    v_[3] ^= word;
    round(), round();
    v_[0] ^= word;
  }
  constexpr void round() noexcept {
    v_[0] += v_[1], v_[1] = std::rotl(v_[1], 13) ^ v_[0], v_[0] = std::rotl(v_[0], 32);
    v_[2] += v_[3], v_[3] = std::rotl(v_[3], 16) ^ v_[2];
    v_[0] += v_[3], v_[3] = std::rotl(v_[3], 21) ^ v_[0];
    v_[2] += v_[1], v_[1] = std::rotl(v_[1], 17) ^ v_[2], v_[2] = std::rotl(v_[2], 32);
  }

  std::array<std::uint64_t, 4> v_;
};

}  // namespace hamlyn::internal_::base
