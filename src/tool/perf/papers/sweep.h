#pragma once
// Messages of figure 5 of paper 2: which sizes, how many, how they are touched.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tool/perf/clock.h"
#include "tool/perf/touch.h"

namespace hamlyn::tool::perf::papers {

// Messages that are timed, and those before them that are not.
inline std::uint64_t timed(std::size_t bytes) {
  return std::clamp<std::uint64_t>((std::uint64_t{128} << 20) / bytes, 128, 100'000);
}
inline std::uint64_t all_of(std::size_t bytes) { return timed(bytes) + timed(bytes) / 4; }
// Messages under way at most.
inline std::uint64_t window(std::size_t bytes) { return bytes <= 4096 ? 64 : 8; }

// GB/s of the timed ones.
inline double gigabytes(std::size_t bytes, std::uint64_t ticks) {
  return static_cast<double>(timed(bytes) * bytes) / (static_cast<double>(ticks) * ns_per_tick());
}

// Fills a message of any size, as hamlyn_fill does.
inline void fill(std::span<std::byte> message, std::uint64_t number) {
  hamlyn_fill(message.data(), message.size(), number);
}
// Reads all of it.
inline bool is_filled(std::span<const std::byte> message, std::uint64_t number) {
  if (message.size() % 128 == 0)
    return hamlyn_read_all(message.data(), message.size()) == hamlyn_filled_sum(message.size(), number);
  const auto value = static_cast<std::byte>((number * 37 + 11) & 0xff);
  return std::ranges::all_of(message, [=](std::byte each) { return each == value; });
}

}  // namespace hamlyn::tool::perf::papers
