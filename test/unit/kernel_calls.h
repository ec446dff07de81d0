#pragma once
// System calls of the daemon under test, counted, and answered otherwise where a test says so. This program
// has functions of its own by the names of the C library's: they count, and ask the kernel.
#include <atomic>
#include <cstdint>

namespace hamlyn::test {

// Shared with forked children. Only calls of a child that has called count_calls() are counted or changed.
struct KernelCalls {
  std::atomic<std::uint64_t> accepts{0};
  std::atomic<std::uint64_t> waits{0};        // for events that may take time
  std::atomic<std::uint64_t> looks{0};        // for events that are there
  std::atomic<std::uint64_t> again{0};        // looks in the millisecond of the look or wait before
  std::atomic<std::uint64_t> burials{0};      // threads that have taken a table of their own
  std::atomic<std::uint64_t> in_vain{0};      // sends that met no room
  std::atomic<std::uint64_t> descriptors{0};  // that were sent
  std::atomic<std::uint64_t> unserved{0};     // looks at most between news of the listener and an accept
  std::atomic<std::uint64_t> overtaken{0};    // messages sent, at most, between those two

  std::atomic<bool> no_burials{false};    // no thread has a table of its own
  std::atomic<bool> clock_stands{false};  // no time passes
  std::atomic<bool> full{false};          // there are always as many events as are asked for
};

KernelCalls& kernel_calls();
void count_calls();

}  // namespace hamlyn::test
