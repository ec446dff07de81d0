#pragma once
#include <cstddef>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// Bytes that move between cores at a time. (The standard's constant makes gcc warn in headers.)
inline constexpr std::size_t kCacheLine = 64;

}  // namespace hamlyn::internal_::base
