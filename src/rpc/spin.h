#pragma once
// The looks of a side that waits, before it sleeps (paper 4, section 5.4).
#include <chrono>
#include <cstdint>

#include "base/namespaces.h"
#include "hamlyn/rpc/call.h"
#include "library/wait/deadline.h"
#include "library/wait/spin_time.h"
#include "library/wait/waiting.h"

namespace hamlyn::internal_::rpc {

class Spin {
 public:
  Spin(hamlyn::rpc::Waits waits, const library::Waiting& waiting) noexcept
      : waits_(waits), waiting_(&waiting) {}
  // Waits where there is no interface, and so no cancel.
  explicit Spin(hamlyn::rpc::Waits waits) noexcept : waits_(waits) {}

  // The looks of one wait.
  class Round {
   public:
    explicit Round(Spin& spin) noexcept : spin_(spin) {}
    // Whether to look once more. The clock is read at one look in eight.
    bool goes_on() noexcept {
      if ((++looks_ & 7) != 0) [[likely]]
        return looks_ == 1 || spin_.waits_ != hamlyn::rpc::Waits::sleep;
      return in_time();
    }
    // How many cancels there had been when it began to wait.
    std::uint32_t cancels() const noexcept { return looks_ < 8 ? spin_.cancels() : cancels_; }
    // Says that it came, to this thread while it looked, or while it slept.
    void found() noexcept {
      if (looks_ >= 8) [[unlikely]]
        spin_.time_.came_after(library::Clock::now() - begin_);
    }

   private:
    bool in_time() noexcept {
      const library::Clock::time_point now = library::Clock::now();
      if (looks_ == 8) {
        begin_ = now;
        cancels_ = spin_.cancels();
      } else if (cancels_ != spin_.cancels()) {
        return false;
      }
      return spin_.waits_ == hamlyn::rpc::Waits::spin || now - begin_ < spin_.time_.now();
    }

    Spin& spin_;
    std::uint32_t looks_ = 0;
    std::uint32_t cancels_ = 0;
    library::Clock::time_point begin_;
  };

 private:
  std::uint32_t cancels() const noexcept { return waiting_ == nullptr ? 0 : waiting_->cancels(); }

  const hamlyn::rpc::Waits waits_;
  const library::Waiting* const waiting_ = nullptr;
  library::SpinTime time_{std::chrono::microseconds{2}, std::chrono::microseconds{100},
                          std::chrono::microseconds{25}, library::SpinTime::Drop::to_half};
};

}  // namespace hamlyn::internal_::rpc
