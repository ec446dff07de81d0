#include <array>
#include <atomic>
#include <cstdint>

#include "tool/perf/limits.h"
#include "tool/perf/pair.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;

// Tight loads on a line that is about to change slow its arrival on some processors, and too long a rest
// comes late: the limit is the best of these.
constexpr std::array kPauses = {0, 1, 2, 4, 8};

// Two lines apart, because processors fetch lines in pairs.
struct alignas(128) Line {
  std::atomic<std::uint64_t> word{0};
};
struct Lines {
  Line there;
  Line back;
};

// The partner of each acquire load is the release store of the other side.
void wait_for(const Line& line, std::uint64_t value, int pauses) {
  while (line.word.load(std::memory_order_acquire) != value) hamlyn_rest(pauses);
}

void ask(Room& room, int pauses) {
  auto& lines = *reinterpret_cast<Lines*>(room.memory().data());
  std::vector<std::uint64_t> moments(kExchanges + 1);
  room.meet();
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    lines.there.word.store(i, std::memory_order_release);
    wait_for(lines.back, i, pauses);
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
  room.report(half_round_trips(moments));
}

void answer(Room& room, int pauses) {
  auto& lines = *reinterpret_cast<Lines*>(room.memory().data());
  room.meet();
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    wait_for(lines.there, i, pauses);
    lines.back.word.store(i, std::memory_order_release);
  }
}

}  // namespace

Meter cacheline_limit() {
  const auto round = [](Cores cores, int style) {
    const int pauses = kPauses[static_cast<std::size_t>(style)];
    return run_pair(
        cores, {.bytes = sizeof(Lines), .results = kExchanges}, [=](Room& room) { ask(room, pauses); },
        [=](Room& room) { answer(room, pauses); });
  };
  return {
      .name = "limit.cacheline.oneway", .round = round, .styles = kPauses.size(), .single_operations = true};
}

}  // namespace hamlyn::tool::perf
