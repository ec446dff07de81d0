#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;

void receive(Party& party, std::uint64_t number) {
  const Notification& arrival = party.next();
  expect(arrival.word == number, "a message is missing");
  if (ShortMessage::looked_at(number)) ShortMessage::check(party, arrival);
}

void ask(Party& party, Room& room) {
  std::vector<std::uint64_t> moments(kExchanges + 1);
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    party.send_fast(ShortMessage{i}.bytes(), i);
    receive(party, i);
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
  room.report(half_round_trips(moments));
}

void answer(Party& party, Room&) {
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    receive(party, i);
    party.send_fast(ShortMessage{i}.bytes(), i);
  }
}

}  // namespace

Meter fast_latency(Place place) {
  const auto round = [place](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .places = 256, .place = place};  // the default of a slot
    return run_parties(cores, kExchanges, options, ask, options, answer);
  };
  return {.name = prefix(place) + "fast.16.oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
