#pragma once
// Two pinned processes that measure together, and what comes back from them.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tool/perf/cores.h"

namespace hamlyn::tool::perf {

// Memory that the two processes and the one that waits for them share.
class Room {
 public:
  Room(std::size_t bytes, std::size_t results);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // For the measuring processes: zeroed, page-aligned, populated.
  std::span<std::byte> memory() const { return {memory_, bytes_}; }

  // Waits, spinning, until both have come here.
  void meet();

  // Reports results; more than the room was made for are dropped.
  void report(std::span<const double> results);
  void report(double result) { report(std::span{&result, 1}); }
  std::vector<double> results() const;

  // The reason for which side 0 or 1 failed; cut to fit.
  void fail(int side, const char* why);
  const char* failure(int side) const;

 private:
  struct Head;
  Head* head_;
  std::size_t results_;
  std::byte* memory_;
  std::size_t bytes_;
};

using Side = std::function<void(Room&)>;

struct PairOptions {
  std::size_t bytes = 4096;  // of shared memory for the sides' own use
  std::size_t results = 1;   // at most
  int seconds = 60;          // then both are ended, and it is an error
};

// Runs each side in a process of its own on its own processor. Returns what they reported. Throws
// std::runtime_error with the side's own reason if one fails.
std::vector<double> run_pair(Cores cores, const PairOptions& options, const Side& first, const Side& second);

// Half round trips in nanoseconds from the moments, in ticks, at which one ended and the next began.
std::vector<double> half_round_trips(std::span<const std::uint64_t> moments);

}  // namespace hamlyn::tool::perf
