#pragma once
// Sleepers on the descriptor of the way to other hosts, in place of a word of memory. Each has an event of
// its own: one that was woken and is still on its way out must not take what is meant for the next.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/marked_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::library {

// Has `epoll` tell of what comes by the descriptor of an endpoint. Edge-triggered, for that may stay readable
// when all has been read: `net` of 1.17 leaves its signal standing (its issue 8947). False: there is no
// memory.
bool watch_arrivals(int epoll, int descriptor) noexcept;

class FarSleepers {
 public:
  using Word = std::atomic<std::uint32_t>;

  class Sleeper {
    friend class FarSleepers;
    std::atomic<bool> taken_{false};  // take to take, by exchange: whoever finds it false has the place
    std::atomic<const Word*> word_{nullptr};  // it sleeps for this one to move: sleep to any and wake, which
                                              // look after they have moved the word; sequentially consistent
    base::MarkedDescriptor event_;
    // Watches both, and the sleeper waits in it. To poll an epoll of libfabric's epoll would lead each
    // wake-up through one more of them.
    base::MarkedDescriptor epoll_;
    int watched_ = -1;
  };

  // Before all else. Throws Error.
  void open();
  // Before the last look at what has come by `descriptor`. Null: there are too many, sleep on the word.
  Sleeper* take(int descriptor) noexcept;
  // Sleeps until something comes by the descriptor or has come since take, `word` has moved from `value` and
  // somebody has called wake, or the deadline.
  void sleep(Sleeper& sleeper, const Word& word, std::uint32_t value,
             std::optional<std::chrono::steady_clock::time_point> deadline) noexcept;
  void give_back(Sleeper& sleeper) noexcept;

  // After the word has moved. False: nobody sleeps for it here.
  bool any(const Word& word) const noexcept;
  // Wakes those who sleep for it, or all of them. From threads that have the process's descriptors. False:
  // the program has closed one that was needed.
  bool wake(const Word& word) noexcept;
  bool wake_all() noexcept;

  // The interface thread, one that sleeps in a wait, and those that are on their way out.
  static constexpr std::size_t kPlaces = 4;
  // For a thread with a table of its own, in which they have the same numbers; -1: the program has closed it.
  using Events = std::array<int, kPlaces>;
  Events events() const noexcept;
  void wake_all(const Events& events) noexcept;
  // Whether the program has closed any descriptor of these.
  bool closed() const noexcept;

 private:
  std::array<Sleeper, kPlaces> sleepers_;
};

}  // namespace hamlyn::internal_::library
