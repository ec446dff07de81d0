#pragma once
// The thread that opens the way to other hosts, which takes up to a second the first time, and then helps
// those who sleep: a thread cannot wait for words of memory and for a descriptor at once.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/marked_descriptor.h"
#include "base/namespaces.h"

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
  // Wakes whoever sleeps on the descriptor, for a thread that does not have the process's descriptors.
  void relay() noexcept;

 private:
  // A thread that watches the descriptor hears of nothing else.
  enum class Watch : std::uint8_t { none, asked, watching };

  void main() noexcept;
  void open() noexcept;
  void watch_arrivals_once() noexcept;
  void call() noexcept;

  Engine& engine_;
  base::MarkedDescriptor own_event_, epoll_;
  std::atomic<std::uint32_t> word_{0};  // call to main, which reads it before those that were set
  std::atomic<bool> stop_{false}, relay_{false};
  std::atomic<Watch> watch_{Watch::none};
  std::atomic<bool> done_{false};  // open to done(): whoever sees it sees error_
  std::string error_;
  std::thread thread_;
};

}  // namespace hamlyn::internal_::library
