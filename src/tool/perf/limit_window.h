#pragma once
// A window of messages in shared memory without any check: the frame of the bandwidth limits.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tool/perf/pair.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {

struct Window {
  struct alignas(128) Count {
    std::atomic<std::uint64_t> word{0};
  };
  Count sent;   // written by the sender alone
  Count taken;  // written by the receiver alone
  std::byte padding[4096 - 2 * sizeof(Count)];

  std::byte* message(std::uint64_t sequence, std::size_t bytes) {
    return reinterpret_cast<std::byte*>(this + 1) + sequence % kWindow * bytes;
  }
  static std::size_t memory(std::size_t bytes) { return sizeof(Window) + kWindow * bytes; }
};

// Work of a side on one message: its place and its number.
using Work = std::function<void(std::byte* message, std::uint64_t sequence)>;

// One round: GB/s measured by the receiver.
std::vector<double> run_window(Cores cores, std::size_t bytes, const Work& send, const Work& receive);

}  // namespace hamlyn::tool::perf
