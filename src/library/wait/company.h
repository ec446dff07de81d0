#pragma once
// Whether a thread that polls has its processor to itself. Where more threads spin than there are processors,
// whoever looks in vain keeps the processor from the peer it waits for, until the scheduler takes it away. A
// poll that comes long after the one before was probably held up so: then others are let run between looks.
#include <atomic>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

// Any thread: what another writes at the same time makes a guess worse, and nothing wrong.
class Company {
 public:
  // A look at the time `now`, in cycles, has found nothing. True: let others run before the next one.
  bool looked_in_vain(std::uint64_t now) noexcept {
    const std::uint64_t last = last_.load(std::memory_order_relaxed);
    last_.store(now, std::memory_order_relaxed);
    std::uint32_t left = left_.load(std::memory_order_relaxed);
    if (now - last > kHeldUp) left = kYields;
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
  static constexpr std::uint64_t kSomebodyRan = 1u << 14;
  static constexpr std::uint32_t kYields = 1000;  // until that is forgotten

  std::atomic<std::uint64_t> last_{~std::uint64_t{0} >> 1};
  std::atomic<std::uint32_t> left_{0};
};

}  // namespace hamlyn::internal_::library
