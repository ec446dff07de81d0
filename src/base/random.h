#pragma once
#include <cstdint>

namespace hamlyn::base {

// 64 bits from the kernel's random source: a key that cannot be guessed.
std::uint64_t random_key();

}  // namespace hamlyn::base
