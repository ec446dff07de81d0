#include <array>

#include "tool/perf/adding.h"
#include "tool/perf/clock.h"
#include "tool/perf/ours.h"
#include "tool/perf/to_and_fro.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::array kPauses = {0, 1, 2, 4, 8};  // as for limit.cacheline: the best of these

const PartyOptions kOptions{.bytes = 4096, .sharing = Sharing::mapped_read_write};

SharedWord own_word(Party& party) {
  return SharedWord{*reinterpret_cast<std::uint64_t*>(party.area().data())};
}

class Ends {
 public:
  Ends(Party& party, Room& room, int pauses)
      : mine_(own_word(party)), theirs_(party.map().word<std::uint64_t>(kControlBytes)), pauses_(pauses) {
    room.meet();
  }
  // Each side looks at its own memory and stores into the other's: the acquire pairs with that release.
  void send(std::uint64_t number) { theirs_.store(number, std::memory_order_release); }
  void receive(std::uint64_t number) {
    while (mine_.load(std::memory_order_acquire) != number) hamlyn_rest(pauses_);
  }
  void finish() {}

 private:
  const SharedWord mine_, theirs_;
  const int pauses_;
};

}  // namespace

Meter mapped_latency() {
  const auto round = [](Cores cores, int style) {
    return to_and_fro<Ends>(cores, {}, kOptions, kPauses[static_cast<std::size_t>(style)]);
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
