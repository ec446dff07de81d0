// SipHash as its authors publish it, and as libsodium has it.
#include "base/siphash.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace hamlyn::internal_::base {
namespace {

// Key 00 to 0f and bytes 00, 01 and so on: vectors of the authors' reference.
TEST(SipHash, IsWhatItsAuthorsPublish) {
  constexpr SipHash::Key key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(SipHash::of(key, {}), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(SipHash::of(key, std::array<std::uint64_t, 1>{0x0706050403020100}), 0x93f5f5799a932462u);
}

TEST(SipHash, IsWhatLibsodiumHas) {
  std::mt19937_64 chance(1);
  for (std::size_t words = 0; words != 50; ++words) {
    const SipHash::Key key{chance(), chance()};
    std::vector<std::uint64_t> in(words);
    for (std::uint64_t& word : in) word = chance();
    std::array<unsigned char, crypto_shorthash_BYTES> out;
    static_assert(sizeof key == crypto_shorthash_KEYBYTES);
    ASSERT_EQ(::crypto_shorthash(out.data(), reinterpret_cast<const unsigned char*>(in.data()), 8 * words,
                                 reinterpret_cast<const unsigned char*>(key.data())),
              0);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i != out.size(); ++i) expected |= std::uint64_t{out[i]} << 8 * i;
    EXPECT_EQ(SipHash::of(key, in), expected) << words;
  }
}

}  // namespace
}  // namespace hamlyn::internal_::base
