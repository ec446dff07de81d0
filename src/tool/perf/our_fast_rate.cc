#include <algorithm>
#include <array>
#include <span>

#include "tool/perf/clock.h"
#include "tool/perf/our_short.h"
#include "tool/perf/ours.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint64_t kWarmUp = 100000;
constexpr std::uint64_t kTimed = 2000000;

// Each message has a landing place of its own until its receiver has surely read it: more landing places than
// notification places, which bound what is under way.
constexpr std::uint32_t kPlaces = 512;
constexpr std::uint64_t kLandings = 1024;
constexpr std::uint64_t kCell = 40;  // the most bytes of each

void stream(Party& party, Room&) {
  for (std::uint64_t i = 0; i < kWarmUp + kTimed; ++i) {
    party.send_fast(ShortMessage{i}.bytes(), i, i % kLandings * 16);
  }
}

// Sends messages of 40 bytes that begin as those of 16.
void stream_cells(Party& party, Room&) {
  for (std::uint64_t i = 0; i < kWarmUp + kTimed; ++i) {
    const std::array<std::uint64_t, 5> words{i, ~i, i, i, i};
    party.send_fast(std::as_bytes(std::span{words}), i, i % kLandings * kCell);
  }
}

// Sends the same messages in rows.
void stream_rows(Party& party, Room&) {
  constexpr std::size_t kRow = 16;
  static_assert((kWarmUp + kTimed) % kRow == 0);
  std::array<std::array<std::uint64_t, 2>, kRow> words;
  std::array<FastMessage, kRow> row;
  for (std::uint64_t i = 0; i < kWarmUp + kTimed; i += kRow) {
    for (std::size_t k = 0; k < kRow; ++k) {
      words[k] = {i + k, ~(i + k)};
      row[k] = {std::as_bytes(std::span{words[k]}), i + k, (i + k) % kLandings * 16 + kControlBytes};
    }
    party.send_fast(row);
  }
}

// Any message that was refused for want of a place would show: as a notification of trouble, and by the sum.
void count(Party& party, Room& room) {
  std::uint64_t sum = 0;
  std::uint64_t start = 0;
  std::array<Notification, 32> arrivals;
  for (std::uint64_t i = 0; i < kWarmUp + kTimed;) {
    // No more than are still to come: the goodbye that follows is not ours.
    const std::size_t left = kWarmUp + kTimed - i;
    const std::size_t count = party.next(std::span{arrivals}.first(std::min(left, arrivals.size())));
    for (std::size_t k = 0; k < count; ++k, ++i) {
      if (i == kWarmUp) start = hamlyn_ticks();
      sum += arrivals[k].word;
      if (!ShortMessage::looked_at(i)) continue;
      arrivals[k].length = std::min<std::uint64_t>(arrivals[k].length, 16);
      ShortMessage::check(party, arrivals[k]);
    }
  }
  const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
  constexpr std::uint64_t kAll = kWarmUp + kTimed;
  expect(sum == kAll * (kAll - 1) / 2, "a message is missing");
  room.report(static_cast<double>(kTimed) * 1e9 / ns);
}

Meter rate(const char* name, Place place, void (*sender)(Party&, Room&)) {
  const auto round = [place, sender](Cores cores, int) {
    const PartyOptions options{.bytes = kLandings * kCell, .places = kPlaces, .place = place};
    return run_parties(cores, 1, options, sender, options, count);
  };
  return {.name = prefix(place) + name, .round = round};
}

}  // namespace

Meter fast_rate(Place place) { return rate("fast.16.rate", place, stream); }
Meter fast_cell_rate() { return rate("fast.40.rate", Place::shm, stream_cells); }
Meter fast_row_rate() { return rate("fast.row.16.rate", Place::shm, stream_rows); }

}  // namespace hamlyn::tool::perf
