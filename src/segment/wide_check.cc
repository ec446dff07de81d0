#include "segment/record_check.h"

std::uint64_t hamlyn::internal_::segment::wide_check(std::uint64_t version, const void* value,
                                                     std::size_t bytes) noexcept {
  return check_here(version, value, bytes);
}
