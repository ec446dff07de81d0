#include "library/wait/descriptor_wait.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

#include "base/uncancelled.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

bool wait_for_descriptors(std::span<pollfd> descriptors, Deadline until) noexcept {
  if (simulation != nullptr) return simulation->wait(descriptors, until);
  const base::Uncancelled guard;
  for (;;) {
    timespec time{};
    if (until) {
      const auto left = std::max<Clock::rep>((*until - Clock::now()).count(), 0);
      time.tv_sec = left / 1'000'000'000;
      time.tv_nsec = left % 1'000'000'000;
    }
    if (::ppoll(descriptors.data(), descriptors.size(), until ? &time : nullptr, nullptr) >= 0) return true;
    if (errno != EINTR) return false;
  }
}

}  // namespace hamlyn::internal_::library
