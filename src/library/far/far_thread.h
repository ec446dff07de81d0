#pragma once
// The thread that opens the way to other hosts, which takes up to a second the first time, and then helps
// those who sleep: a thread cannot wait for words of memory and for a descriptor at once.
//
// When the way is open it has a table of its own, with what it needs of its own and of those who sleep on
// descriptors: whatever the program closes, they are woken, and it can be stopped.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/marked_descriptor.h"
#include "base/namespaces.h"
#include "library/far/far_sleepers.h"
#include "library/wait/wake_event.h"

namespace hamlyn::internal_::library {

class Engine;

class FarThread {
 public:
  // Starts once the thread has its place in the engine: a thread that hears of it looks there. Throws Error.
  explicit FarThread(Engine& engine);
  // From a thread that has the process's descriptors. False: there are no threads left.
  bool start() noexcept;
  void stop() noexcept;
  ~FarThread();  // stops it
  FarThread(const FarThread&) = delete;
  FarThread& operator=(const FarThread&) = delete;

  // Whether the way is open, or cannot be opened.
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  // Once done: why it cannot; empty: it is open.
  const std::string& error() const noexcept { return error_; }

  // The two of the thread that falls asleep as the one who notices arrivals, under the run lock. It sleeps on
  // words, and is to be woken through them when something comes from another host; or on the descriptor.
  void watch() noexcept;
  void watch_no_more() noexcept;
  // Wakes whoever sleeps on the descriptor, for a thread that does not have the process's descriptors, or
  // when the program has closed them.
  void relay() noexcept;

 private:
  // A thread that watches the descriptor hears of nothing else.
  enum class Watch : std::uint8_t { none, asked, watching };

  void main() noexcept;
  void open() noexcept;
  void leave_process();
  void watch_arrivals_once() noexcept;
  void call() noexcept;

  Engine& engine_;
  base::MarkedDescriptor epoll_;
  int own_epoll_ = -1;                  // in the thread's table
  FarSleepers::Events own_events_{};    // likewise
  WakeEvent event_;                     // of the thread while it watches
  std::atomic<std::uint32_t> word_{0};  // call to main, which reads it before those that were set
  std::atomic<bool> stop_{false}, relay_{false};
  std::atomic<Watch> watch_{Watch::none};
  std::atomic<bool> done_{false};  // open to done(): whoever sees it sees error_
  std::string error_;
  std::thread thread_;
};

}  // namespace hamlyn::internal_::library
