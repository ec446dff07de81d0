// Figure 2 of paper 2: Split-C's operations on one object, by a rank whose other rank serves. And table 4:
// what a get of a word costs, part by part.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/papers/meters.h"
#include "tool/perf/ranks.h"
#include "tool/perf/statistics.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf::papers {

namespace {

using splitc::everywhere;
using splitc::global_ptr;

constexpr std::size_t kRow = 64;  // objects, one after the other
constexpr std::uint64_t kWarmUp = 16, kRounds = 400;

double each_ns(double ticks, std::uint64_t count) {
  return ticks * ns_per_tick() / static_cast<double>(count);
}
double ticks_since(std::uint64_t start) {
  return static_cast<double>(hamlyn_ticks() - start) - ticks_per_reading();
}

template <class T>
T value_of(std::uint64_t number) {
  return static_cast<T>(number % 100 + 1);
}

// One row of them.
template <class T>
void access_row(Access access, global_ptr<T> at, std::array<T, kRow>& here) {
  const auto each = [](auto what) {
    for (std::size_t i = 0; i != kRow; ++i) what(static_cast<std::ptrdiff_t>(i), i);
  };
  switch (access) {
    case Access::read:
      return each([&](std::ptrdiff_t p, std::size_t i) { here[i] = at[p]; });
    case Access::write:
      return each([&](std::ptrdiff_t p, std::size_t i) { at[p] = here[i]; });
    case Access::get:
      each([&](std::ptrdiff_t p, std::size_t i) { get(here[i], at + p); });
      return splitc::sync();
    case Access::put:
      each([&](std::ptrdiff_t p, std::size_t i) { put(at + p, here[i]); });
      return splitc::sync();
    default:
      return each([&](std::ptrdiff_t p, std::size_t i) { store(at + p, here[i]); });
  }
}

bool brings(Access access) { return access == Access::read || access == Access::get; }

// Numbers the words of the owner, or of the rank that writes.
template <class T>
void number_row(std::span<T> row) {
  for (std::size_t i = 0; i != kRow; ++i) row[i] = value_of<T>(i);
}
template <class T>
void check_row(std::span<const T> row) {
  for (std::size_t i = 0; i != kRow; ++i)
    expect(row[i] == value_of<T>(i), "another value was read, or stands there");
}

// Reports nanoseconds of each, row by row. Of stores, which nobody acknowledges, as they leave; what has no
// room waits.
template <class T>
void work_on(Access access, Room& room) {
  everywhere<T> theirs(kRow);
  std::array<T, kRow> here{};
  if (!brings(access)) number_row<T>(here);
  splitc::barrier();
  std::vector<double> samples;
  for (std::uint64_t round = 0; round != kWarmUp + kRounds; ++round) {
    const std::uint64_t start = hamlyn_ticks();
    access_row(access, theirs.at(1), here);
    if (round >= kWarmUp) samples.push_back(each_ns(ticks_since(start), kRow));
  }
  splitc::all_store_sync();
  if (brings(access)) check_row<T>(here);
  room.report(samples);
}
template <class T>
void have_row(Access access) {
  everywhere<T> mine(kRow);
  if (brings(access)) number_row<T>(mine.mine());
  splitc::barrier();
  splitc::all_store_sync();
  if (!brings(access)) check_row<T>(mine.mine());
}

template <class T>
std::vector<double> run_access(Access access, bool guarded, Cores cores) {
  return run_ranks(
      cores, {.results = kRounds, .way = guarded_ranks(guarded)},
      [access](Words&, Room& room) { work_on<T>(access, room); },
      [access](Words&, Room&) { have_row<T>(access); });
}

// --- a get of a word

constexpr std::uint64_t kGets = 16, kBatches = 2000;
// Pauses between turns of the one that answers, in which a batch comes; the one that asks rests for longer.
constexpr int kRest = 200;

// Asks for a batch, rests until the other rank has answered it, and waits for the answers that are there.
void get_batches(Words& words, Room& room, GetPart part) {
  std::array<std::uint64_t, kGets> into{};
  const global_ptr<std::uint64_t> from = words.at(1);
  std::vector<double> samples;
  for (std::uint64_t batch = 0; batch != kBatches; ++batch) {
    std::uint64_t start = hamlyn_ticks();
    for (std::uint64_t i = 0; i != kGets; ++i) splitc::get(into[i], from + static_cast<std::ptrdiff_t>(i));
    const double asked = ticks_since(start);
    hamlyn_rest(3 * kRest);
    start = hamlyn_ticks();
    splitc::sync();
    samples.push_back(each_ns(part == GetPart::ask ? asked : ticks_since(start), kGets));
    for (std::uint64_t i = 0; i != kGets; ++i) expect(into[i] == i, "another word was read");
  }
  say_over(words);
  if (part != GetPart::serve) room.report(samples);
}

// Answers whatever has come after each rest, and reports what that takes for each get: turns that somebody
// interrupted count as the longest of the others.
void serve_batches(Words& words, Room& room, GetPart part) {
  constexpr double kLongest = 8;  // medians
  const auto over = own(words, kOver);
  std::vector<double> turns;
  while (over.load(std::memory_order_acquire) == 0) {
    hamlyn_rest(kRest);
    bool moved = false;
    const std::uint64_t start = hamlyn_ticks();
    while (interface_of_rank().run()) moved = true;
    if (moved) turns.push_back(ticks_since(start));
  }
  if (part != GetPart::serve) return;
  const double most = kLongest * median(turns);
  for (double& turn : turns) turn = std::min(turn, most);
  room.report(each_ns(std::accumulate(turns.begin(), turns.end(), 0.0), kBatches * kGets));
}
void number_words(Words& words) { std::iota(words.mine().begin(), words.mine().end(), std::uint64_t{0}); }

}  // namespace

std::string access_name(Access access, CType type, bool guarded) {
  return std::string("shm.splitc.") + kAccessNames[static_cast<std::size_t>(access)] +
         (guarded ? "." : ".mapped.") + kCTypeNames[static_cast<std::size_t>(type)] + ".cost";
}

Meter access_cost(Access access, CType type, bool guarded) {
  const auto round = [=](Cores cores, int) {
    switch (type) {
      case CType::char_type:
        return run_access<char>(access, guarded, cores);
      case CType::short_type:
        return run_access<short>(access, guarded, cores);
      case CType::int_type:
        return run_access<int>(access, guarded, cores);
      case CType::long_type:
        return run_access<long>(access, guarded, cores);
      case CType::float_type:
        return run_access<float>(access, guarded, cores);
      default:
        return run_access<double>(access, guarded, cores);
    }
  };
  return {.name = access_name(access, type, guarded), .round = round};
}

Meter get_part(GetPart part) {
  const auto round = [part](Cores cores, int) {
    return run_ranks(
        cores, {.results = kBatches},
        [part](Words& words, Room& room) {
          splitc::barrier();
          get_batches(words, room, part);
        },
        [part](Words& words, Room& room) {
          number_words(words);
          own(words, kOver).store(0);
          splitc::barrier();
          serve_batches(words, room, part);
        });
  };
  return {.name = std::string("shm.splitc.get.") + kGetPartNames[static_cast<std::size_t>(part)] + ".cost",
          .round = round};
}

}  // namespace hamlyn::tool::perf::papers
