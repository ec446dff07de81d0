#include "tool/perf/our_vi.h"

#include <array>

#include "tool/perf/clock.h"
#include "tool/perf/sleeping.h"
#include "tool/perf/timing.h"
#include "tool/perf/vi_end.h"

namespace hamlyn::tool::perf {

namespace {

constexpr std::uint64_t kWarmUp = 5000, kTimed = 50000;
constexpr std::uint64_t kWaitWarmUp = 50, kWaits = 1000;

// To and fro. `send` gives a message to the other side, and does what is behind that.
template <class Send>
void answer(Party& party, const ViShape& shape, bool remote, Send send) {
  ViEnd end(party.interface(), shape);
  meet(party, end, false);
  if (remote) end.offer();
  for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
    vi::Descriptor* const free = end.receive();
    send(end);
    end.post(free);
  }
  end.await_end();
}
template <class Send>
void time_to_and_fro(Party& party, Room& room, const ViShape& shape, bool remote, Send send) {
  ViEnd end(party.interface(), shape);
  meet(party, end, true);
  if (remote) end.offer();
  std::vector<std::uint64_t> moments(kTimed + 1);
  for (std::uint64_t i = 0; i <= kWarmUp + kTimed; ++i) {
    vi::Descriptor* const free = i != 0 ? end.receive() : nullptr;
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
    if (i != kWarmUp + kTimed) send(end);
    if (free != nullptr) end.post(free);
  }
  room.report(half_round_trips(moments));
}
template <class Send>
Meter to_and_fro_of(std::string name, Place place, const ViShape& shape, bool remote, Send send) {
  const auto round = [=](Cores cores, int) {
    const PartyOptions options{.place = place};
    return run_parties(
        cores, kTimed, options,
        [=](Party& party, Room& room) { time_to_and_fro(party, room, shape, remote, send); }, options,
        [=](Party& party, Room&) { answer(party, shape, remote, send); });
  };
  return {.name = prefix(place) + name, .round = round, .single_operations = true};
}

// Takes the end of an earlier write first, if there was one: nobody waits for the write's own.
void write_with_immediate(ViEnd& end) {
  vi::Descriptor& write = *end.send_of(0);
  if (write.control != 0) end.await_sent();
  end.describe_remote(0, vi::kRdmaWrite | vi::kImmediate);
  end.post_send(&write);
}

void ask_asleep(Party& party, Room& room) {
  ViEnd end(party.interface());
  meet(party, end, true);
  std::vector<double> halves;
  const SleepCount sleeps;
  for (std::uint64_t i = 1; i <= kWaitWarmUp + kWaits; ++i) {
    pause_before_message();
    const std::uint64_t start = hamlyn_ticks();
    end.send();
    end.post(end.receive_asleep());
    const double round_trip = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i > kWaitWarmUp) halves.push_back((round_trip - kPauseNs) / 2);
  }
  sleeps.check(kWaits);
  room.report(halves);
}
void answer_asleep(Party& party, Room&) {
  ViEnd end(party.interface());
  meet(party, end, false);
  for (std::uint64_t i = 1; i <= kWaitWarmUp + kWaits; ++i) {
    end.post(end.receive_asleep());
    pause_before_message();
    end.send();
  }
  end.await_end();
}

constexpr ViShape kReads{.bytes = 4096};

void time_reads(Party& party, Room& room) {
  ViEnd end(party.interface(), kReads);
  meet(party, end, true);
  end.offer();
  std::vector<double> trips;
  for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
    end.describe_remote(0, vi::kRdmaRead);
    const std::uint64_t start = hamlyn_ticks();
    end.post_send(end.send_of(0));
    end.await_sent();
    if (i >= kWarmUp) trips.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
  }
  room.report(trips);
}
void be_read(Party& party, Room&) {
  ViEnd end(party.interface(), kReads);
  meet(party, end, false);
  end.offer();
  end.await_end();
}

}  // namespace

Meter vi_send(Place place, std::uint32_t bytes) {
  return to_and_fro_of("vi.send." + std::to_string(bytes) + ".oneway", place, {.bytes = bytes}, false,
                       [](ViEnd& end) { end.send(); });
}

Meter vi_write() { return to_and_fro_of("vi.write.16.oneway", Place::shm, {}, true, write_with_immediate); }

namespace {

Meter send_at(const std::string& level, const ViShape& shape) {
  return to_and_fro_of("vi.send." + level + ".16.oneway", Place::shm, shape, false,
                       [](ViEnd& end) { end.send(); });
}

}  // namespace

Meter vi_send_unreliable() { return send_at("unreliable", {.level = vi::Reliability::unreliable}); }
Meter vi_send_reception() { return send_at("reception", {.level = vi::Reliability::reception}); }

Meter vi_beside(std::size_t others) {
  return to_and_fro_of("vi.beside" + std::to_string(others) + ".16.oneway", Place::shm, {.others = others},
                       false, [](ViEnd& end) { end.send(); });
}

Meter vi_wait() {
  const auto round = [](Cores cores, int) {
    return run_parties(cores, kWaits, {}, ask_asleep, {}, answer_asleep);
  };
  return {.name = "shm.vi.wait.16.oneway", .round = round, .single_operations = true};
}

Meter vi_read() {
  const auto round = [](Cores cores, int) { return run_parties(cores, kTimed, {}, time_reads, {}, be_read); };
  return {.name = "shm.vi.read.4096.roundtrip", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
