#pragma once
// How often a side looks before it sleeps (paper 4, section 5.4): as long as that has paid lately.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/rpc/call.h"

namespace hamlyn::internal_::rpc {

class Spin {
 public:
  explicit Spin(hamlyn::rpc::Waits waits) noexcept : waits_(waits) {}

  // Looks that a wait may take.
  std::uint32_t looks() const noexcept {
    if (waits_ == hamlyn::rpc::Waits::spin) return kAlways;
    if (waits_ == hamlyn::rpc::Waits::sleep) return 0;
    // Relaxed, as below: any thread's count will do.
    return lately_.load(std::memory_order_relaxed);
  }
  static bool is_over(std::uint32_t looked, std::uint32_t looks) noexcept {
    return looked >= looks && looks != kAlways;
  }
  // It came while somebody looked, or in so short a sleep that looking on would have found it.
  void paid() noexcept {
    const std::uint32_t looks = lately_.load(std::memory_order_relaxed);
    if (looks != kMost) lately_.store(std::min(kMost, 2 * looks), std::memory_order_relaxed);
  }
  void slept() noexcept {
    const std::uint32_t looks = lately_.load(std::memory_order_relaxed);
    lately_.store(std::max(kLeast, looks / 2), std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kAlways = 0xFFFFFFFF;
  static constexpr std::uint32_t kLeast = 16, kMost = 4096;

  const hamlyn::rpc::Waits waits_;
  std::atomic<std::uint32_t> lately_{kMost / 4};
};

}  // namespace hamlyn::internal_::rpc
