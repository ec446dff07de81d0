#include <algorithm>
#include <atomic>
#include <cstring>

#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"
#include "tool/perf/sleeping.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;
constexpr std::uint64_t kPassiveWarmUp = 50;
constexpr std::uint64_t kPassiveExchanges = 1000;
const PartyOptions kParty{.bytes = 64, .remote = true};

// Both sides say it: the target that its bytes are there, the other that it needs no more.
constexpr std::uint64_t kReady = 1;

void wait_until_ready(Party& party) { expect(party.next().word == kReady, "another message came"); }

// Fills the bytes of the figure with the same 16 again and again.
void put_bytes(Party& party) {
  const ShortMessage message{kReady};
  const auto bytes = party.figure_bytes();
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 16)
    std::copy(message.bytes().begin(), message.bytes().end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(at));
  party.send_fast({}, kReady);
}

void get_long(Party& party, std::size_t length) {
  const auto bytes = party.get(16, length);
  expect(std::memcmp(bytes.data() + length - 16, ShortMessage{kReady}.bytes().data(), 16) == 0,
         "a get brought other bytes");
}
void get_bytes(Party& party, std::uint64_t) { get_long(party, 16); }

void add_one(Party& party, std::uint64_t number) {
  expect(party.fetch_add(0, 1) == number, "a fetch-and-op was lost, or done twice");
}

template <class Operation>
PartySide asking(Operation operation) {
  return [operation](Party& party, Room& room) {
    std::vector<double> trips;
    trips.reserve(kExchanges);
    wait_until_ready(party);
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < kWarmUp + kExchanges; ++i) {
      operation(party, i);
      const std::uint64_t now = hamlyn_ticks();
      if (i >= kWarmUp) trips.push_back(static_cast<double>(now - before) * ns_per_tick());
      before = now;
    }
    party.send_fast({}, kReady);
    room.report(trips);
  };
}

// The target polls for messages, of which none comes before the end.
void poll(Party& party, Room&) {
  put_bytes(party);
  wait_until_ready(party);
}

void ask_passive(Party& party, Room& room, std::size_t length) {
  std::vector<double> trips;
  trips.reserve(kPassiveExchanges);
  wait_until_ready(party);
  for (std::uint64_t i = 0; i < kPassiveWarmUp + kPassiveExchanges; ++i) {
    pause_before_message();
    const std::uint64_t start = hamlyn_ticks();
    get_long(party, length);
    const double trip = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i >= kPassiveWarmUp) trips.push_back(trip);
  }
  std::atomic_ref<std::byte>(room.memory()[0]).store(std::byte{1}, std::memory_order_relaxed);
  room.report(trips);
}

// The target computes: not one call of the library before the other side has all.
void compute(Party& party, Room& room) {
  put_bytes(party);
  const std::atomic_ref<std::byte> done(room.memory()[0]);  // stored by the other side when it has all
  while (done.load(std::memory_order_relaxed) == std::byte{0}) {
  }
}

Meter polled(const char* name, Place place, const PartySide& ask) {
  const auto round = [place, ask](Cores cores, int) {
    PartyOptions party = kParty;
    party.place = place;
    return run_parties(cores, kExchanges, party, ask, party, poll);
  };
  return {.name = prefix(place) + name, .round = round, .single_operations = true};
}

}  // namespace

Meter fetch_add_round_trip(Place place) { return polled("fetchadd.8.roundtrip", place, asking(add_one)); }
Meter get_round_trip(Place place) { return polled("get.16.roundtrip", place, asking(get_bytes)); }

Meter passive_get_round_trip(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    PartyOptions party = kParty;
    party.bytes += bytes;
    const auto ask = [bytes](Party& asking, Room& room) { ask_passive(asking, room, bytes); };
    return run_parties(cores, kPassiveExchanges, party, ask, party, compute);
  };
  return {.name = "shm.get.passive." + std::to_string(bytes) + ".roundtrip",
          .round = round,
          .single_operations = true};
}

}  // namespace hamlyn::tool::perf
