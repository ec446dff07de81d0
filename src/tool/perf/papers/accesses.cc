// Figure 2 of paper 2: Split-C's operations on one object, by a rank whose other rank serves. And table 4:
// what a get of a word costs, part by part.
#include <array>
#include <atomic>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/papers/meters.h"
#include "tool/perf/ranks.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf::papers {

namespace {

using splitc::everywhere;
using splitc::global_ptr;

constexpr std::size_t kRow = 64;  // objects, one after the other
constexpr std::uint64_t kWarmUp = 16, kRounds = 160;

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

// What the words are before and after: of the owner, or of the rank that writes.
template <class T>
void number_row(std::span<T> row) {
  for (std::size_t i = 0; i != kRow; ++i) row[i] = value_of<T>(i);
}
template <class T>
void check_row(std::span<const T> row) {
  for (std::size_t i = 0; i != kRow; ++i)
    expect(row[i] == value_of<T>(i), "another value was read, or stands there");
}

// Stores are over when all of them have landed.
template <class T>
void work_on(Access access, Room& room) {
  everywhere<T> theirs(kRow);
  std::array<T, kRow> here{};
  if (!brings(access)) number_row<T>(here);
  splitc::barrier();
  std::uint64_t start = 0;
  for (std::uint64_t round = 0; round != kWarmUp + kRounds; ++round) {
    if (round == kWarmUp) {
      splitc::all_store_sync();
      start = hamlyn_ticks();
    }
    access_row(access, theirs.at(1), here);
  }
  splitc::all_store_sync();
  const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
  if (brings(access)) check_row<T>(here);
  room.report(ns / static_cast<double>(kRounds * kRow));
}
template <class T>
void own(Access access) {
  everywhere<T> mine(kRow);
  if (brings(access)) number_row<T>(mine.mine());
  splitc::barrier();
  splitc::all_store_sync();
  splitc::all_store_sync();
  if (!brings(access)) check_row<T>(mine.mine());
}

template <class T>
std::vector<double> run_access(Access access, bool guarded, Cores cores) {
  return run_ranks(
      cores, {.guarded = guarded}, [access](Words&, Room& room) { work_on<T>(access, room); },
      [access](Words&, Room&) { own<T>(access); });
}

// --- a get of a word

constexpr std::uint64_t kGets = 16, kBatches = 2000;

// Whose turn it is, in the room: a line by which the ranks wait for each other without their interfaces.
std::atomic_ref<std::uint64_t> turn(Room& room) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(room.memory().data()));
}
constexpr std::uint64_t kAskedAll = ~std::uint64_t{0};
void give_turn(Room& room, std::uint64_t to) { turn(room).store(to, std::memory_order_release); }
std::uint64_t await_turn(Room& room, std::uint64_t after) {
  std::uint64_t now = 0;  // acquire: what the other side has sent stands in this one's rings
  while ((now = turn(room).load(std::memory_order_acquire)) == after) hamlyn_rest(1);
  return now;
}

double each_ns(std::uint64_t start) {
  const double ticks = static_cast<double>(hamlyn_ticks() - start) - ticks_per_reading();
  return ticks * ns_per_tick() / static_cast<double>(kGets);
}

// Asks for a batch, lets the other rank answer it, and waits for the answers that are there.
void get_batches(Words& words, Room& room, GetPart part) {
  std::array<std::uint64_t, kGets> into{};
  const global_ptr<std::uint64_t> from = words.at(1);
  std::vector<double> samples;
  for (std::uint64_t batch = 0; batch != kBatches; ++batch) {
    std::uint64_t start = hamlyn_ticks();
    for (std::uint64_t i = 0; i != kGets; ++i) splitc::get(into[i], from + static_cast<std::ptrdiff_t>(i));
    const double asked = each_ns(start);
    give_turn(room, 2 * batch + 1);
    await_turn(room, 2 * batch + 1);
    start = hamlyn_ticks();
    splitc::sync();
    samples.push_back(part == GetPart::ask ? asked : each_ns(start));
    for (std::uint64_t i = 0; i != kGets; ++i) expect(into[i] == i, "another word was read");
  }
  give_turn(room, kAskedAll);
  if (part != GetPart::serve) room.report(samples);
}
// Answers a batch, until its interface finds nothing more.
void serve_batches(Room& room, GetPart part) {
  std::vector<double> samples;
  std::uint64_t now = 0;
  while ((now = await_turn(room, now)) != kAskedAll) {
    const std::uint64_t start = hamlyn_ticks();
    while (interface_of_rank().run()) {
    }
    samples.push_back(each_ns(start));
    give_turn(room, ++now);
  }
  if (part == GetPart::serve) room.report(samples);
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
          splitc::barrier();
          serve_batches(room, part);
        });
  };
  return {.name = std::string("shm.splitc.get.") + kGetPartNames[static_cast<std::size_t>(part)] + ".cost",
          .round = round};
}

}  // namespace hamlyn::tool::perf::papers
