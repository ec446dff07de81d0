#pragma once
// Sleeping on words of memory: several at a time (futex_waitv, kernel 5.16), so that a process sleeps on the
// doorbells of all its links with one call and is woken by one, without a descriptor.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/namespaces.h"

namespace hamlyn::internal_::library {

// Words that one sleep watches: one of our own and the doorbells of links.
struct Watched {
  static constexpr std::size_t kMost = 127;  // doorbells; the kernel takes 128 words

  struct Word {
    const std::uint32_t* address;
    std::uint32_t value;
  };
  std::array<Word, kMost> doorbells;
  std::size_t count = 0;
};

// Sleeps until one of the words no longer has its value and somebody has woken it, or until the deadline.
void futex_sleep(const Watched& watched, const std::atomic<std::uint32_t>& own, std::uint32_t value,
                 std::optional<std::chrono::steady_clock::time_point> deadline) noexcept;

// Lets others run.
void yield() noexcept;

// Wakes all that sleep on a word of this process.
void futex_wake(std::atomic<std::uint32_t>& own) noexcept;

}  // namespace hamlyn::internal_::library
