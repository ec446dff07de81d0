#include "library/wait/futex.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "library/setting.h"

namespace hamlyn::internal_::library {

namespace {

// Between two looks at the doorbells of links, where nobody can sleep on them.
constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds{1};
// futex_waitv was refused once: the kernel is older than it, or a filter or valgrind does not know it.
std::atomic<bool> one_word_only{false};

timespec parts_of(std::chrono::nanoseconds time) noexcept {
  const auto nanoseconds = std::max<std::chrono::nanoseconds::rep>(time.count(), 0);
  return {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
}

// Sleeps on this process's own word alone. The caller looks at the links afterwards, and sleeps again.
void sleep_on_one(bool others, const std::atomic<std::uint32_t>& own, std::uint32_t value,
                  std::optional<std::chrono::steady_clock::time_point> deadline) noexcept {
  std::optional<std::chrono::nanoseconds> time;
  if (deadline) time = *deadline - std::chrono::steady_clock::now();
  if (others) time = std::min(time.value_or(kLook), kLook);
  const timespec rest = parts_of(time.value_or(kLook));
  syscall(SYS_futex, &own, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, time ? &rest : nullptr, nullptr, 0);
}

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
  if (one_word_only.load(std::memory_order_relaxed))
    return sleep_on_one(watched.count != 0, own, value, deadline);
  std::array<futex_waitv, Watched::kMost + 1> words;
  words[0] = waiter(&own, value, FUTEX_PRIVATE_FLAG);
  for (std::size_t i = 0; i < watched.count; ++i) {
    words[i + 1] = waiter(watched.doorbells[i].address, watched.doorbells[i].value, 0);
  }
  const timespec until = parts_of(deadline ? deadline->time_since_epoch() : kLook);
  const long woken = syscall(SYS_futex_waitv, words.data(), static_cast<unsigned>(watched.count + 1), 0,
                             deadline ? &until : nullptr, CLOCK_MONOTONIC);
  if (woken < 0 && (errno == ENOSYS || errno == EPERM)) one_word_only.store(true, std::memory_order_relaxed);
}

void yield() noexcept { simulation != nullptr ? simulation->step_aside() : void(sched_yield()); }

void futex_wake(std::atomic<std::uint32_t>& own) noexcept {
  if (simulation != nullptr) return;  // it looks at the words itself
  syscall(SYS_futex, &own, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace hamlyn::internal_::library
