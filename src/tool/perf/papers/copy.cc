// Table 5 of paper 2: what a copy costs, within a processor's caches.
#include <cstring>
#include <string>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/pair.h"
#include "tool/perf/papers/meters.h"

namespace hamlyn::tool::perf::papers {

namespace {

constexpr std::size_t kCopies = 16, kSamples = 2000;

void copy(Room& room, std::size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  std::vector<double> samples(kSamples);
  for (double& sample : samples) {
    const std::uint64_t start = hamlyn_ticks();
    for (std::size_t i = 0; i != kCopies; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      __asm__ volatile("" : : "r"(to.data()) : "memory");  // each is one
    }
    const double ticks = static_cast<double>(hamlyn_ticks() - start) - ticks_per_reading();
    sample = ticks * ns_per_tick() / kCopies;
  }
  room.report(samples);
}

}  // namespace

Meter copy_cost(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    return run_pair(
        cores, {.results = kSamples}, [bytes](Room& room) { copy(room, bytes); }, [](Room&) {});
  };
  return {.name = "copy." + std::to_string(bytes) + ".cost", .round = round};
}

}  // namespace hamlyn::tool::perf::papers
