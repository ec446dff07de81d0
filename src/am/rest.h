#pragma once
// Rests of a thread between looks in vain: it spins, then lets others have the processor, then sleeps.
#include <cstdint>

#include "base/namespaces.h"
#include "library/wait/futex.h"

namespace hamlyn::internal_::am {

class Rest {
 public:
  // Whether to look again at once. No: it is time to sleep.
  bool goes_on() noexcept {
    ++looks_;
    if (looks_ <= kSpins) return true;
    if (looks_ > kSpins + kYields) return false;
    library::yield();
    return true;
  }
  void found() noexcept { looks_ = 0; }

 private:
  static constexpr std::uint32_t kSpins = 64, kYields = 64;

  std::uint32_t looks_ = 0;
};

}  // namespace hamlyn::internal_::am
