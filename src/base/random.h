#pragma once
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// 64 bits from the kernel's random source: a key that cannot be guessed.
std::uint64_t random_key();

}  // namespace hamlyn::internal_::base
