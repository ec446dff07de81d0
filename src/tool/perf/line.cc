#include "tool/perf/line.h"

#include <atomic>

#include "tool/perf/pair.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

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

void ask(Room& room, const Exchanges& exchanges) {
  auto& lines = *reinterpret_cast<Lines*>(room.memory().data());
  std::vector<std::uint64_t> moments(exchanges.timed + 1);
  room.meet();
  for (std::uint64_t i = 1; i <= exchanges.warm_up + exchanges.timed; ++i) {
    lines.there.word.store(i, std::memory_order_release);
    wait_for(lines.back, i, exchanges.pauses);
    if (i >= exchanges.warm_up) moments[i - exchanges.warm_up] = hamlyn_ticks();
  }
  room.report(half_round_trips(moments));
}

void answer(Room& room, const Exchanges& exchanges) {
  auto& lines = *reinterpret_cast<Lines*>(room.memory().data());
  room.meet();
  for (std::uint64_t i = 1; i <= exchanges.warm_up + exchanges.timed; ++i) {
    wait_for(lines.there, i, exchanges.pauses);
    lines.back.word.store(i, std::memory_order_release);
  }
}

}  // namespace

std::vector<double> exchange_lines(Cores cores, const Exchanges& exchanges) {
  return run_pair(
      cores, {.bytes = sizeof(Lines), .results = exchanges.timed}, [&](Room& room) { ask(room, exchanges); },
      [&](Room& room) { answer(room, exchanges); });
}

}  // namespace hamlyn::tool::perf
