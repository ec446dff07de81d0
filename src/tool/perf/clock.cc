#include "tool/perf/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hamlyn::tool::perf {
namespace {

using Clock = std::chrono::steady_clock;

struct Moment {
  std::uint64_t ticks;
  Clock::time_point time;
};

// Both clocks at one moment: of some tries the one in which least time went by between the readings, because
// a preemption in the middle would spoil the calibration.
Moment moment() {
  Moment best{};
  std::uint64_t best_gap = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = hamlyn_ticks();
    const Clock::time_point time = Clock::now();
    const std::uint64_t after = hamlyn_ticks();
    if (after - before >= best_gap) continue;
    best_gap = after - before;
    best = {before + best_gap / 2, time};
  }
  return best;
}

double calibrate() {
  const Moment start = moment();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  const Moment end = moment();
  return std::chrono::duration<double, std::nano>(end.time - start.time).count() /
         static_cast<double>(end.ticks - start.ticks);
}

double time_readings() {
  constexpr int kSamples = 64, kReadings = 256;
  std::uint64_t least = ~std::uint64_t{0};  // of samples: others may have been interrupted
  for (int sample = 0; sample != kSamples; ++sample) {
    const std::uint64_t start = hamlyn_ticks();
    std::uint64_t last = start;
    for (int i = 0; i != kReadings; ++i) last = hamlyn_ticks();
    least = std::min(least, last - start);
  }
  return static_cast<double>(least) / kReadings;
}

}  // namespace

double ticks_per_reading() {
  static const double value = time_readings();
  return value;
}

double ns_per_tick() {
  static const double value = calibrate();
  return value;
}

}  // namespace hamlyn::tool::perf
