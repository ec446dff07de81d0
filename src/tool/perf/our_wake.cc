#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/sleeping.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 50;
constexpr std::uint64_t kExchanges = 1000;

void receive(Party& party, std::uint64_t number) {
  const Notification arrival = party.next_asleep();
  expect(arrival.word == number, "a message is missing");
  ShortMessage::check(party, arrival);
}

void ask(Party& party, Room& room) {
  std::vector<double> halves;
  halves.reserve(kExchanges);
  const SleepCount sleeps;
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    pause_before_message();
    const std::uint64_t start = hamlyn_ticks();
    party.send_fast(ShortMessage{i}.bytes(), i);
    receive(party, i);
    const double round_trip = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i > kWarmUp) halves.push_back((round_trip - kPauseNs) / 2);
  }
  sleeps.check(kExchanges);
  room.report(halves);
}

void answer(Party& party, Room&) {
  const SleepCount sleeps;
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    receive(party, i);
    pause_before_message();
    party.send_fast(ShortMessage{i}.bytes(), i);
  }
  sleeps.check(kExchanges);
}

}  // namespace

Meter wake_latency(Place place) {
  const auto round = [place](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .place = place};
    return run_parties(cores, kExchanges, options, ask, options, answer);
  };
  return {.name = place == Place::shm ? "shm.wake.16.oneway" : "ofi.fast.blocked.16.oneway",
          .round = round,
          .single_operations = true};
}

}  // namespace hamlyn::tool::perf
