#include "library/futex.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "library/setting.h"

namespace hamlyn::library {

namespace {

futex_waitv waiter(const void* address, std::uint32_t value, std::uint32_t flags) noexcept {
  futex_waitv one{};
  one.val = value;
  one.uaddr = reinterpret_cast<std::uintptr_t>(address);
  one.flags = FUTEX_32 | flags;
  return one;
}

}  // namespace

void futex_sleep(const Watched& watched, const std::atomic<std::uint32_t>& own, std::uint32_t value,
                 std::optional<std::chrono::steady_clock::time_point> deadline) noexcept {
  if (simulation != nullptr) return simulation->sleep(own, value, deadline);
  std::array<futex_waitv, Watched::kMost + 1> words;
  words[0] = waiter(&own, value, FUTEX_PRIVATE_FLAG);
  for (std::size_t i = 0; i < watched.count; ++i) {
    words[i + 1] = waiter(watched.doorbells[i].address, watched.doorbells[i].value, 0);
  }
  timespec until{};
  if (deadline) {
    const auto nanoseconds = deadline->time_since_epoch().count();
    until.tv_sec = nanoseconds / 1'000'000'000;
    until.tv_nsec = nanoseconds % 1'000'000'000;
  }
  syscall(SYS_futex_waitv, words.data(), static_cast<unsigned>(watched.count + 1), 0,
          deadline ? &until : nullptr, CLOCK_MONOTONIC);
}

void yield() noexcept { simulation != nullptr ? simulation->step_aside() : void(sched_yield()); }

void futex_wake(std::atomic<std::uint32_t>& own) noexcept {
  if (simulation != nullptr) return;  // it looks at the words itself
  syscall(SYS_futex, &own, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace hamlyn::library
