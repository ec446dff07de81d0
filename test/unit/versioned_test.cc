// Records that are read while they are written.
#include "hamlyn/segment/versioned.h"

#include <gtest/gtest.h>

#include <vector>

#include "segment/record_check.h"

namespace hamlyn::test {
namespace {

struct Value {
  std::uint64_t words[5];
  friend bool operator==(const Value&, const Value&) = default;
};
using Versioned = hamlyn::Versioned<Value>;
constexpr std::size_t kWords = sizeof(Versioned) / sizeof(std::uint64_t);

// Values that follow from their version in a few simple ways.
Versioned record(std::uint64_t version, int way) {
  Value value;
  for (std::size_t i = 0; i < 5; ++i)
    value.words[i] = way == 0 ? version : way == 1 ? ~version : way == 2 ? 0 : version * 1000 + i;
  return Versioned::of(value, version);
}

TEST(VersionedOf, is_whole_as_it_was_made) {
  EXPECT_TRUE(record(1, 0).whole());
  EXPECT_TRUE(record(~std::uint64_t{0}, 0).whole());
  EXPECT_FALSE(Versioned{}.whole()) << "nobody has written it";
}

// By whatever processor it was made, and is read.
TEST(VersionedOf, has_one_check_by_narrow_and_by_wide_vectors) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "SKIPPED: this processor has no wide vectors";
#endif
  std::vector<std::uint8_t> bytes(5000);
  for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  for (const std::size_t length : {0u, 8u, 16u, 40u, 128u, 240u, 248u, 1024u, 4096u, 5000u}) {
    for (const std::uint64_t version : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      EXPECT_EQ(internal_::segment::narrow_check(version, bytes.data(), length),
                internal_::segment::wide_check(version, bytes.data(), length))
          << length;
    }
  }
}

// Whatever words a reader has of the one and of the other.
TEST(VersionedOf, is_not_whole_as_a_mixture_of_two) {
  for (std::uint64_t step = 0; step < 4 * 100; ++step) {
    const std::uint64_t version = 1 + step / 4;
    const int way = static_cast<int>(step % 4);
    const Versioned older = record(version, way), newer = record(version + 1, way);
    for (std::uint32_t words = 1; words + 1 < 1u << kWords; ++words) {
      Versioned mixed = older;
      for (std::size_t i = 0; i < kWords; ++i) {
        if ((words >> i & 1) != 0)
          std::memcpy(reinterpret_cast<std::byte*>(&mixed) + 8 * i,
                      reinterpret_cast<const std::byte*>(&newer) + 8 * i, 8);
      }
      const bool one_of_them =
          std::memcmp(&mixed, &older, sizeof mixed) == 0 || std::memcmp(&mixed, &newer, sizeof mixed) == 0;
      ASSERT_EQ(mixed.whole(), one_of_them) << version << " " << words;
    }
  }
}

TEST(VersionedOf, is_not_whole_with_a_bit_changed) {
  for (std::size_t bit = 0; bit < sizeof(Versioned) * 8; ++bit) {
    Versioned changed = record(7, 0);
    reinterpret_cast<std::byte*>(&changed)[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(changed.whole()) << bit;
  }
}

}  // namespace
}  // namespace hamlyn::test
