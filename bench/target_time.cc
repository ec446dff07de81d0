// How long the target of a read of 64 KiB works for it, beside what it takes to put as much back itself, with
// a signal behind it. Processor time of the target is the time of its turns that moved something. Ends with 1
// if the read costs it more than 1.2 times the put.
//   target_time [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <vector>

#include "hamlyn/segment/segment.h"
#include "tool/perf/cores.h"
#include "tool/perf/pair.h"

namespace {

using namespace hamlyn;
using namespace hamlyn::tool::perf;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock = 65536;
constexpr std::size_t kPhase = kBlock, kAsked = kBlock + 64, kCame = kBlock + 128, kSegment = kBlock + 4096;
constexpr std::uint64_t kTimes = 2000;
constexpr double kMost = 1.2;  // times the put

void expect(bool as_it_should_be, const char* what) {
  if (!as_it_should_be) throw std::runtime_error(what);
}

void ask(Room& room, int rounds) {
  Interface interface;
  Segment own(interface, {.name = "target-time-asks", .bytes = kSegment});
  Import other(interface, "target-time-gives", {.timeout = 10s});
  std::vector<std::byte> block(kBlock);
  const auto came = own.at<std::uint64_t>(kCame);
  const auto say = [&](std::uint64_t phase) {
    expect(other.store(kPhase, phase) == Status::ok && other.flush(5s) == Status::ok, "no word has landed");
  };
  std::uint64_t number = 0, phase = 0;
  for (int round = 0; round != rounds; ++round) {
    for (std::uint64_t i = 0; i != kTimes; ++i) expect(other.read(0, block, 5s) == Status::ok, "no read");
    say(++phase);
    for (std::uint64_t i = 0; i != kTimes; ++i) {
      ++number;
      while (other.store(kAsked, number) != Status::ok) interface.run();
      while (came.load(std::memory_order_acquire) != number) interface.run();
    }
    say(++phase);
  }
  room.meet();
}

// Reports the target's time of a read, and of a put, of each round.
void give(Room& room, int rounds) {
  Interface interface;
  Segment own(interface, {.name = "target-time-gives", .bytes = kSegment});
  Import other(interface, "target-time-asks", {.timeout = 10s});
  const std::vector<std::byte> block(kBlock);
  const auto phase = own.at<std::uint64_t>(kPhase), asked = own.at<std::uint64_t>(kAsked);
  std::uint64_t done = 0;
  const auto until = [&](std::uint64_t next) {
    std::chrono::duration<double, std::micro> spent{0};
    while (phase.load(std::memory_order_acquire) != next) {
      const auto start = Clock::now();
      bool worked = interface.run();
      if (const std::uint64_t now = asked.load(std::memory_order_acquire); now != done) {
        done = now;
        worked = true;
        expect(other.write_signal(0, block, kCame, now, Signal::set, 5s) == Status::ok, "no put");
      }
      if (worked) spent += Clock::now() - start;
    }
    return spent.count() / kTimes;
  };
  std::vector<double> results;
  for (std::uint64_t step = 1; step <= 2 * static_cast<std::uint64_t>(rounds); ++step)
    results.push_back(until(step));
  room.report(results);
  room.meet();
}

}  // namespace

int main(int count, char** arguments) try {
  const int rounds = count == 2 ? std::atoi(arguments[1]) : 5;
  if (count > 2 || rounds < 1 || rounds > 100) {
    std::fputs("usage: target_time [ROUNDS]\n", stderr);
    return 2;
  }
  const PairOptions options{.results = 2 * static_cast<std::size_t>(rounds)};
  const auto times = run_pair(
      choose_cores(allowed_processors()), options, [&](Room& room) { ask(room, rounds); },
      [&](Room& room) { give(room, rounds); });
  std::vector<double> ratios;
  for (std::size_t i = 0; i + 1 < times.size(); i += 2) {
    ratios.push_back(times[i] / times[i + 1]);
    std::printf("the target's time of 64 KiB: read %.2f us, put back %.2f us (%.2f)\n", times[i],
                times[i + 1], ratios.back());
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  std::printf("median of %zu rounds: %.2f, at most %.1f\n", ratios.size(), *middle, kMost);
  return *middle <= kMost ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "target_time: %s\n", error.what());
  return 2;
}
