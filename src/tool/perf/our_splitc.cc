#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/ranks.h"
#include "tool/perf/reading.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

namespace {

using namespace hamlyn::splitc;

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kTimed = 50000;
constexpr std::uint64_t kRounds = 2000;  // of kRow accesses each
constexpr std::uint64_t kRow = 512;

void keep_word_changing(Words& words, Room&) { keep_writing(own(words, 0), own(words, kOver)); }

template <class Operation>
RankWork timed(Operation operation) {
  return [operation](Words& words, Room& room) {
    std::vector<double> trips;
    trips.reserve(kTimed);
    std::uint64_t before = hamlyn_ticks();
    for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
      operation(words, i);
      const std::uint64_t now = hamlyn_ticks();
      if (i >= kWarmUp) trips.push_back(static_cast<double>(now - before) * ns_per_tick());
      before = now;
    }
    say_over(words);
    room.report(trips);
  };
}

void read_word(Words& words, std::uint64_t) { expect(*words.at(1) == 0, "another word was read"); }
void read_changing_word(Words& words, Room& room) {
  const global_ptr<std::uint64_t> at = words.at(1);
  std::uint64_t least = 0;
  const std::vector<double> times = time_reads([&] {
    const std::uint64_t read = *at;
    expect(read >= least, "what was read is older than what was read before");
    least = read;
  });
  say_over(words);
  room.report(times);
}
void write_word(Words& words, std::uint64_t number) { *words.at(1) = number; }

// Writes many words, one after the other: nanoseconds of each.
template <class Write>
double time_writes(Write write) {
  for (std::uint64_t i = 0; i != kRow; ++i) write(i, i);
  const std::uint64_t start = hamlyn_ticks();
  for (std::uint64_t round = 0; round != kRounds; ++round)
    for (std::uint64_t i = 0; i != kRow; ++i) write(i, round);
  return static_cast<double>(hamlyn_ticks() - start) * ns_per_tick() / static_cast<double>(kRounds * kRow);
}
void write_words(Words& words, Room& room) {
  const global_ptr<std::uint64_t> to = words.at(1);
  room.report(
      time_writes([&](std::uint64_t i, std::uint64_t value) { to[static_cast<std::ptrdiff_t>(i)] = value; }));
  say_over(words);
}
void write_bare_words(Words& words, Room& room) {
  auto* const to = words.at(1).local();
  room.report(time_writes([&](std::uint64_t i, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>(to[i]).store(value, std::memory_order_release);  // pairs with nothing
  }));
  say_over(words);
}

// As many words to the other side, until that has waited for all of them.
void store_words(Words& words, Room& room) {
  const global_ptr<std::uint64_t> to = words.at(1);
  std::uint64_t start = 0;
  for (std::uint64_t round = 0; round <= kRounds; ++round) {
    if (round <= 1) barrier();  // all of the first round has landed when the second begins
    if (round == 1) start = hamlyn_ticks();
    for (std::uint64_t i = 0; i != kRow; ++i) store(to + static_cast<std::ptrdiff_t>(i), round);
  }
  barrier();
  const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
  room.report(static_cast<double>(kRounds * kRow) * 1e9 / ns);
}
void take_stores(Words& words, Room&) {
  barrier();
  store_sync(kRow * sizeof(std::uint64_t));
  barrier();
  store_sync(kRounds * kRow * sizeof(std::uint64_t));
  expect(own(words, kRow - 1).load() == kRounds, "a store is missing");
  barrier();
}

// Words in this order: one behind the other, or at no regular distance.
using Order = std::array<std::ptrdiff_t, kRow>;
Order in_turn() {
  Order out;
  std::iota(out.begin(), out.end(), 0);
  return out;
}
Order shuffled() {
  Order out = in_turn();
  std::shuffle(out.begin(), out.end(), std::mt19937_64(1));
  return out;
}

void get_words(Words& words, Room& room, const Order& order) {
  std::array<std::uint64_t, kRow> into{};
  const global_ptr<std::uint64_t> from = words.at(1);
  for (std::uint64_t i = 0; i != kRow; ++i) from[static_cast<std::ptrdiff_t>(i)] = i;
  std::uint64_t start = 0;
  for (std::uint64_t round = 0; round != kRounds; ++round) {
    if (round == kRounds / 10) start = hamlyn_ticks();
    for (std::uint64_t i = 0; i != kRow; ++i) get(into[i], from + order[i]);
    hamlyn::splitc::sync();
  }
  const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
  for (std::uint64_t i = 0; i != kRow; ++i)
    expect(into[i] == static_cast<std::uint64_t>(order[i]), "a get has brought another word");
  room.report(static_cast<double>((kRounds - kRounds / 10) * kRow) * 1e9 / ns);
  say_over(words);
}

template <class Together>
RankWork meet(Together together) {
  return [together](Words&, Room& room) {
    std::vector<double> times;
    times.reserve(kTimed);
    std::uint64_t before = hamlyn_ticks();
    for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
      together();
      const std::uint64_t now = hamlyn_ticks();
      if (i >= kWarmUp) times.push_back(static_cast<double>(now - before) * ns_per_tick());
      before = now;
    }
    if (rank() == 0) room.report(times);
  };
}

std::string kind(bool guarded) { return guarded ? "" : "mapped."; }

Meter of_ranks(const std::string& name, const RankOptions& options, const RankWork& first,
               const RankWork& second) {
  return {.name = prefix(options.place) + "splitc." + name,
          .round = [=](Cores cores, int) { return run_ranks(cores, options, first, second); },
          .single_operations = options.results == kTimed};
}

Meter of_ranks(const std::string& name, bool guarded, std::size_t results, const RankWork& first,
               const RankWork& second) {
  return of_ranks(name, {.results = results, .way = guarded_ranks(guarded)}, first, second);
}

}  // namespace

Meter splitc_read(bool guarded) {
  const std::string name = "read." + kind(guarded) + "8.roundtrip";
  return guarded ? of_ranks(name, true, kTimed, timed(read_word), serve)
                 : of_ranks(name, false, kReads, read_changing_word, keep_word_changing);
}

Meter splitc_read_far() {
  return of_ranks("read.8.roundtrip", {.results = kTimed, .place = Place::ofi}, timed(read_word), serve);
}

Meter splitc_write() { return of_ranks("write.8.roundtrip", true, kTimed, timed(write_word), serve); }
Meter splitc_write_cost() { return of_ranks("write.mapped.8.cost", false, 1, write_words, serve); }
Meter bare_write_cost() { return of_ranks("bare_write.mapped.8.cost", false, 1, write_bare_words, serve); }

Meter splitc_store_rate(bool guarded) {
  return of_ranks("store." + kind(guarded) + "8.rate", guarded, 1, store_words, take_stores);
}
RankWork getting(const Order& order) {
  return [order](Words& words, Room& room) { get_words(words, room, order); };
}
Meter splitc_get_rate() { return of_ranks("get.8.rate", true, 1, getting(in_turn()), serve); }
Meter splitc_get_rate_shuffled() {
  return of_ranks("get.shuffled.8.rate", true, 1, getting(shuffled()), serve);
}
Meter splitc_read_over_vi() {
  return of_ranks("vi.read.8.roundtrip", {.results = kTimed, .way = ranks_over_vi()}, timed(read_word),
                  serve);
}
Meter splitc_write_over_vi() {
  return of_ranks("vi.write.8.roundtrip", {.results = kTimed, .way = ranks_over_vi()}, timed(write_word),
                  serve);
}
Meter splitc_store_rate_over_vi() {
  return of_ranks("vi.store.8.rate", {.results = 1, .way = ranks_over_vi()}, store_words, take_stores);
}
Meter splitc_get_rate_over_vi() {
  return of_ranks("vi.get.8.rate", {.results = 1, .way = ranks_over_vi()}, getting(in_turn()), serve);
}
Meter splitc_all_store_sync(bool guarded) {
  const RankWork both = meet([] { all_store_sync(); });
  return of_ranks("allstoresync." + kind(guarded) + "2.roundtrip", guarded, kTimed, both, both);
}
Meter splitc_barrier(bool guarded) {
  const RankWork both = meet([] { barrier(); });
  return of_ranks("barrier." + kind(guarded) + "2.roundtrip", guarded, kTimed, both, both);
}

}  // namespace hamlyn::tool::perf
