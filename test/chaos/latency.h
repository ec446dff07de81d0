#pragma once
// Round trips by how long they took, in shared memory: eight steps to each doubling, so within 9 %.
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace hamlyn::chaos {

class Latency {
 public:
  void add(std::chrono::nanoseconds time) noexcept {
    const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 1));
    const auto doublings = static_cast<std::uint32_t>(std::bit_width(nanoseconds) - 1);
    const std::uint64_t rest = doublings < 3 ? 0 : (nanoseconds >> (doublings - 3)) & 7;
    counts_[doublings * 8 + static_cast<std::uint32_t>(rest)].fetch_add(1, std::memory_order_relaxed);
  }
  void clear() noexcept {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }
  std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const auto& count : counts_) all += count.load(std::memory_order_relaxed);
    return all;
  }
  // So many microseconds are not exceeded by `part` of them; 0: there are none.
  double microseconds(double part) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count())));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size() && wanted != 0; ++i) {
      seen += counts_[i].load(std::memory_order_relaxed);
      if (seen >= wanted)
        return std::ldexp(1.0 + static_cast<double>(i % 8 + 1) / 8, static_cast<int>(i / 8)) / 1000;
    }
    return 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, std::size_t{64} * 8> counts_;
};

}  // namespace hamlyn::chaos
