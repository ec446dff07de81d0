#pragma once
// Times that an application gives, made such that a deadline by the clock can be made of them.
#include <algorithm>
#include <chrono>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// Nobody sees the end of a longer time, and the clock may not hold it.
inline constexpr std::chrono::milliseconds kLongestTime = std::chrono::years{100};

constexpr std::chrono::milliseconds within_clock(std::chrono::milliseconds time) noexcept {
  return std::clamp(time, std::chrono::milliseconds{0}, kLongestTime);
}

}  // namespace hamlyn::internal_::base
