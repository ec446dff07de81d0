#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/sleeping.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 50;
constexpr std::uint64_t kExchanges = 1000;

using Next = Notification (Party::*)();

void receive(Party& party, Next next, std::uint64_t number) {
  const Notification arrival = (party.*next)();
  expect(arrival.word == number, "a message is missing");
  ShortMessage::check(party, arrival);
}

void ask(Party& party, Room& room, Next next) {
  std::vector<double> halves;
  halves.reserve(kExchanges);
  const SleepCount sleeps;
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    pause_before_message();
    const std::uint64_t start = hamlyn_ticks();
    party.send_fast(ShortMessage{i}.bytes(), i);
    receive(party, next, i);
    const double round_trip = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i > kWarmUp) halves.push_back((round_trip - kPauseNs) / 2);
  }
  sleeps.check(kExchanges);
  room.report(halves);
}

void answer(Party& party, Next next) {
  const SleepCount sleeps;
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    receive(party, next, i);
    pause_before_message();
    party.send_fast(ShortMessage{i}.bytes(), i);
  }
  sleeps.check(kExchanges);
}

Meter meter(const char* name, Place place, Next next) {
  const auto round = [place, next](Cores cores, int) {
    const PartyOptions options{.bytes = 64, .place = place};
    return run_parties(
        cores, kExchanges, options, [next](Party& party, Room& room) { ask(party, room, next); }, options,
        [next](Party& party, Room&) { answer(party, next); });
  };
  return {.name = name, .round = round, .single_operations = true};
}

}  // namespace

Meter wake_latency(Place place) {
  return meter(place == Place::shm ? "shm.wake.16.oneway" : "ofi.fast.blocked.16.oneway", place,
               &Party::next_asleep);
}
Meter descriptor_wake_latency() {
  return meter("shm.wake.descriptor.16.oneway", Place::shm, &Party::next_on_descriptor);
}

}  // namespace hamlyn::tool::perf
