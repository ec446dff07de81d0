#pragma once
// Those who sleep on the descriptor of the way to other hosts instead of on a word of memory. Each has an
// event of its own: one that was woken and is still on its way out must not take what is meant for the next.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"

namespace hamlyn::library {

class FarSleepers {
 public:
  using Word = std::atomic<std::uint32_t>;

  class Sleeper {
    friend class FarSleepers;
    std::atomic<bool> taken_{false};
    std::atomic<const Word*> word_{nullptr};  // it sleeps for this one to move
    base::FileDescriptor event_;
  };

  // Before all else. Throws Error.
  void open();
  // Null: there are too many, sleep on the word.
  Sleeper* take() noexcept;
  // Sleeps until `descriptor` is readable, `word` has moved from `value` and somebody has called wake, or the
  // deadline. The sleeper is given back.
  void sleep(Sleeper& sleeper, int descriptor, const Word& word, std::uint32_t value,
             std::optional<std::chrono::steady_clock::time_point> deadline) noexcept;

  // After the word has moved. False: nobody sleeps for it here.
  bool any(const Word& word) const noexcept;
  // Wakes those who sleep for it, or all of them. From threads that have the process's descriptors.
  void wake(const Word& word) noexcept;
  void wake_all() noexcept;

 private:
  // The interface thread, one that sleeps in a wait, and those that are on their way out.
  std::array<Sleeper, 4> sleepers_;
};

}  // namespace hamlyn::library
