#pragma once
// Whether a thread that polls has its processor to itself. Where more threads spin than there are processors,
// whoever looks in vain keeps the processor from the peer it waits for, until the scheduler takes it away. A
// poll that comes long after the one before was probably held up so: then others are let run between looks.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

// Any thread: what another writes at the same time makes a guess worse, and nothing wrong.
class Company {
 public:
  // A look at the time `now`, in cycles, has found nothing. True: let others run before the next one. Looks
  // that have come soon after each other say that the thread does nothing else.
  bool looked_in_vain(std::uint64_t now) noexcept {
    const std::uint64_t last = last_.load(std::memory_order_relaxed), gap = now - last;
    const std::uint32_t soon = soon_.load(std::memory_order_relaxed);
    std::uint32_t left = left_.load(std::memory_order_relaxed);
    last_.store(now, std::memory_order_relaxed);
    if (gap > kHeldUp && soon == kSpins) left = kYields;
    soon_.store(gap > kSoon ? 0 : std::min(soon + 1, kSpins), std::memory_order_relaxed);
    if (left == 0) return false;
    left_.store(left - 1, std::memory_order_relaxed);
    return true;
  }
  // Others were let run, until `now`.
  void let_run(std::uint64_t now) noexcept {
    const std::uint64_t last = last_.load(std::memory_order_relaxed);
    if (now - last > kSomebodyRan) left_.store(kYields, std::memory_order_relaxed);
    last_.store(now, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kHeldUp = 1u << 20;  // cycles; some hundred microseconds
  static constexpr std::uint64_t kSoon = 1u << 16;
  static constexpr std::uint32_t kSpins = 16;  // looks in a row
  static constexpr std::uint64_t kSomebodyRan = 1u << 14;
  static constexpr std::uint32_t kYields = 1000;  // until that is forgotten

  std::atomic<std::uint64_t> last_{0};
  std::atomic<std::uint32_t> soon_{0};
  std::atomic<std::uint32_t> left_{0};
};

}  // namespace hamlyn::internal_::library
