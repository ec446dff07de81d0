#include <array>

#include "tool/perf/adding.h"
#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;
constexpr std::array kPauses = {0, 1, 2, 4, 8};  // as for limit.cacheline: the best of these

const PartyOptions kOptions{.bytes = 4096, .sharing = Sharing::mapped_read_write};

SharedWord own_word(Party& party) {
  return SharedWord{*reinterpret_cast<std::uint64_t*>(party.area().data())};
}

// Each side looks at its own memory and stores into the other's: the acquire here pairs with that release.
void wait_for(SharedWord mine, std::uint64_t value, int pauses) {
  while (mine.load(std::memory_order_acquire) != value) hamlyn_rest(pauses);
}

void ask(Party& party, Room& room, int pauses) {
  const SharedWord mine = own_word(party);
  const SharedWord theirs = party.map().word<std::uint64_t>(kControlBytes);
  std::vector<std::uint64_t> moments(kExchanges + 1);
  room.meet();
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    theirs.store(i, std::memory_order_release);
    wait_for(mine, i, pauses);
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
  room.report(half_round_trips(moments));
}

void answer(Party& party, Room& room, int pauses) {
  const SharedWord mine = own_word(party);
  const SharedWord theirs = party.map().word<std::uint64_t>(kControlBytes);
  room.meet();
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    wait_for(mine, i, pauses);
    theirs.store(i, std::memory_order_release);
  }
}

}  // namespace

Meter mapped_latency() {
  const auto round = [](Cores cores, int style) {
    const int pauses = kPauses[static_cast<std::size_t>(style)];
    return run_parties(
        cores, kExchanges, kOptions, [=](Party& party, Room& room) { ask(party, room, pauses); }, kOptions,
        [=](Party& party, Room& room) { answer(party, room, pauses); });
  };
  return {.name = "shm.mapped.write.8.oneway",
          .round = round,
          .styles = kPauses.size(),
          .single_operations = true};
}

Meter mapped_fetch_add() {
  const auto round = [](Cores cores, int) {
    return run_parties(
        cores, kAdditions, kOptions,
        [](Party& party, Room& room) {
          const SharedWord theirs = party.map().word<std::uint64_t>(kControlBytes);
          room.meet();
          room.report(time_additions(theirs, ns_per_tick()));
        },
        kOptions,
        [](Party& party, Room& room) {
          room.meet();
          add_until_told(own_word(party));
        });
  };
  return {.name = "shm.fetchadd.mapped.8.roundtrip", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
