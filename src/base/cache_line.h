#pragma once
#include <cstddef>

namespace hamlyn::base {

// What moves between cores at a time. (The standard's constant makes gcc warn in headers.)
inline constexpr std::size_t kCacheLine = 64;

}  // namespace hamlyn::base
