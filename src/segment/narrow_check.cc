#include "segment/record_check.h"
#include "segment/xxh3.h"

std::uint64_t hamlyn::internal_::segment::narrow_check(std::uint64_t version, const void* value,
                                                       std::size_t bytes) noexcept {
  return XXH3_64bits_withSeed(value, bytes, version);
}
