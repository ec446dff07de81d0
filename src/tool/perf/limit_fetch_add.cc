#include "tool/perf/adding.h"
#include "tool/perf/clock.h"
#include "tool/perf/limits.h"
#include "tool/perf/pair.h"

namespace hamlyn::tool::perf {

Meter fetch_add_limit() {
  const auto word = [](Room& room) {
    return SharedWord{*reinterpret_cast<std::uint64_t*>(room.memory().data())};
  };
  const auto round = [=](Cores cores, int) {
    return run_pair(
        cores, {.results = kAdditions},
        [=](Room& room) {
          room.meet();
          room.report(time_additions(word(room), ns_per_tick()));
        },
        [=](Room& room) {
          room.meet();
          add_until_told(word(room));
        });
  };
  return {.name = "limit.fetchadd.8.roundtrip", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
