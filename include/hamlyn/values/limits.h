#pragma once
// A part of a slot, or of a share's buffer.
#include <cstdint>

namespace hamlyn {

// Bytes [base, base + bound), counted from the start of the whole.
struct Limits {
  std::uint64_t base = 0;
  std::uint64_t bound = ~std::uint64_t{0};  // cut to what there is
};

}  // namespace hamlyn
