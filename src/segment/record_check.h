#pragma once
// The check of a versioned record, compiled twice: for any processor of the machine's kind, and for those
// with wide vectors, which take a long record twice as fast. Both give the same number.
#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

std::uint64_t narrow_check(std::uint64_t version, const void* value, std::size_t bytes) noexcept;
std::uint64_t wide_check(std::uint64_t version, const void* value, std::size_t bytes) noexcept;

}  // namespace hamlyn::internal_::segment
