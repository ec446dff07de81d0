#pragma once
// A process that is blocked in a call sleeps until something happens: its threads wake no more than once a
// second. Virtual time costs nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "test/simulation/hosted.h"

namespace hamlyn::test {

class IdleWatch {
 public:
  // Waits that last beyond the time in which wakes are counted.
  static constexpr std::chrono::seconds kWait{40};
  static constexpr std::uint64_t kSecond = 1'000 * kMillisecond;
  static constexpr std::uint64_t kFrom = 10 * kSecond, kTo = 30 * kSecond;

  // Counts what process `number` wakes for between those times. Stays until the run is over.
  IdleWatch(Hosted& hosted, std::uint64_t number, std::uint64_t from = kFrom, std::uint64_t to = kTo)
      : host_(hosted.host), number_(number), from_(from), to_(to) {
    host_.after(from_, [this] { before_ = wakes(); });
    host_.after(to_, [this] { after_ = wakes(); });
  }
  // By that process, once the call has returned.
  void returned() { over_ = host_.time() < to_; }
  // After the run.
  void expect_idle() const {
    EXPECT_FALSE(over_) << "the call did not wait";
    EXPECT_NE(after_, 0u) << "the process was awake once";
    EXPECT_LE(after_ - before_, (to_ - from_ + kSecond - 1) / kSecond);
  }

 private:
  std::uint64_t wakes() { return host_.inhabitant(number_).wakes; }

  simulation::Host& host_;
  const std::uint64_t number_, from_, to_;
  std::uint64_t before_ = 0, after_ = 0;
  bool over_ = true;
};

}  // namespace hamlyn::test
