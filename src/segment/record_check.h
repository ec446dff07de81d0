#pragma once
// The check of a versioned record is compiled twice: for any processor of the machine's kind, and for those
// with wide vectors, which take a long record twice as fast. The hash is compiled in: nobody links its
// library for it. Only the two compilations include this.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace hamlyn::internal_::segment {

std::uint64_t narrow_check(std::uint64_t version, const void* value, std::size_t bytes) noexcept;
std::uint64_t wide_check(std::uint64_t version, const void* value, std::size_t bytes) noexcept;

namespace {
inline std::uint64_t check_here(std::uint64_t version, const void* value, std::size_t bytes) noexcept {
  return XXH3_64bits_withSeed(value, bytes, version);
}
}  // namespace

}  // namespace hamlyn::internal_::segment
