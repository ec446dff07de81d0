#include "hamlyn/segment/versioned.h"

#include "segment/record_check.h"
#include "segment/record_words.h"

namespace hamlyn::internal_ {

void segment::write_record(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  RecordWords<>::write(to, from, bytes);
}
void segment::read_record(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  RecordWords<>::read(to, from, bytes);
}

std::uint64_t segment::check_of(std::uint64_t version, const void* value, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  return wide ? wide_check(version, value, bytes) : narrow_check(version, value, bytes);
#else
  return narrow_check(version, value, bytes);
#endif
}

}  // namespace hamlyn::internal_
