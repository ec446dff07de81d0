#pragma once
// A layer as a machine whose bursts can be timed.
#include <algorithm>
#include <concepts>
#include <cstdint>

#include "tool/perf/clock.h"
#include "tool/perf/logp/survey.h"

namespace hamlyn::tool::perf::logp {

// A side that asks. Its requests are answered by the other one as they come.
template <class T>
concept Asker = requires(T asker) {
  // Sends a request, and never waits. False: it has not been sent, for there is no room.
  { asker.send() } -> std::same_as<bool>;
  // Looks once, and takes a reply if there is one.
  asker.look();
  // Replies that have been taken.
  { asker.replies() } -> std::same_as<std::uint64_t>;
};

// Computes for so many ticks: nothing before it is still under way when it begins, nor it when it ends.
inline void compute(std::uint64_t ticks) {
  if (ticks == 0) return;
  const std::uint64_t end = hamlyn_ticks() + ticks;
  while (hamlyn_ticks() < end) {
  }
}

// Asks nobody.
struct Nobody {
  static bool send() { return true; }
  static void look() {}
  static std::uint64_t replies() { return 0; }
};

// The burst itself. Returns its time in ticks.
template <Asker A>
std::uint64_t burst_of(A& asker, std::uint32_t length, std::uint64_t delay) {
  const std::uint64_t start = hamlyn_ticks();
  for (std::uint32_t i = 0; i != length; ++i) {
    while (!asker.send()) asker.look();
    compute(delay);
    if (i >= kUnlooked) asker.look();
  }
  return hamlyn_ticks() - start;
}

template <Asker A>
class Bursts : public Machine {
 public:
  explicit Bursts(A& asker) : asker_(asker) {
    for (int i = 0; i != kWarmUp; ++i) round_trip();
  }

  double round_trip() override {
    const std::uint64_t start = hamlyn_ticks();
    for (int i = 0; i != kTogether; ++i) {
      while (!asker_.send()) asker_.look();
      ++asked_;
      take_all();
    }
    return ns(hamlyn_ticks() - start) / kTogether;
  }
  double burst(std::uint32_t length, double delay) override {
    const std::uint64_t ticks = ask(length, in_ticks(delay));
    take_all();
    return ns(ticks);
  }
  double computation(double delay) override {
    Nobody nobody;
    return ns(burst_of(nobody, kLongest, in_ticks(delay))) / kLongest;
  }

 private:
  static constexpr int kWarmUp = 300;
  static constexpr int kTogether = 16;  // round trips: some clocks move in steps of ten nanoseconds

  static std::uint64_t in_ticks(double delay) { return static_cast<std::uint64_t>(delay / ns_per_tick()); }
  // Without what reading the clock costs.
  double ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks - std::min(ticks, clock_)) * ns_per_tick();
  }
  std::uint64_t ask(std::uint32_t length, std::uint64_t delay) {
    asked_ += length;
    return burst_of(asker_, length, delay);
  }
  void take_all() {
    while (asker_.replies() != asked_) asker_.look();
  }
  // Ticks from one reading to the next with nothing between them.
  static std::uint64_t clock_cost() {
    Nobody nobody;
    std::uint64_t least = burst_of(nobody, 0, 0);
    for (int i = 0; i != 1000; ++i) least = std::min(least, burst_of(nobody, 0, 0));
    return least;
  }

  A& asker_;
  std::uint64_t asked_ = 0;
  const std::uint64_t clock_ = clock_cost();
};

}  // namespace hamlyn::tool::perf::logp
