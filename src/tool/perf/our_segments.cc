#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/copy.h"
#include "tool/perf/exporter.h"
#include "tool/perf/ours.h"
#include "tool/perf/reading.h"
#include "tool/perf/sleeping.h"
#include "tool/perf/to_and_fro.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;
constexpr std::uint64_t kSleepsBefore = 50;
constexpr std::uint64_t kSleeps = 1000;
constexpr std::size_t kCell = 40;                // the bytes of the paper's cell
constexpr std::array kPauses = {0, 1, 2, 4, 8};  // as for limit.cacheline: the best of these

// Written data: its number, and numbers that follow from it.
class Cell {
 public:
  explicit Cell(std::uint64_t number) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = number + i;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words_}); }

 private:
  std::array<std::uint64_t, kCell / 8> words_;
};

void check(Exporter& side, std::uint64_t number) {
  if (number % 1024 != 0) return;
  // Its words come one by one, if the other side stores them.
  const Cell wanted{number};
  for (int looks = 1000000; looks != 0; --looks) {
    std::array<std::byte, kCell> found;
    base::copy_from_shared(found.data(), side.own().bytes().data(), kCell);
    if (std::memcmp(found.data(), wanted.bytes().data(), kCell) == 0) return;
  }
  expect(false, "a write landed that is not the one sent");
}

struct CellEnds {
  Exporter& side;
  const int pauses;

  void send(std::uint64_t number) { side.write(Cell{number * 16}.bytes()); }
  void receive(std::uint64_t number) {
    side.wait_for(number * 16, pauses);
    check(side, number * 16);
  }
  void finish() {}
};

template <class Operation>
SegmentWork timed(Operation operation) {
  return [operation](Exporter& side, Room& room) {
    std::vector<double> trips;
    trips.reserve(kExchanges);
    std::uint64_t before = hamlyn_ticks();
    for (std::uint64_t i = 0; i < kWarmUp + kExchanges; ++i) {
      operation(side, i);
      const std::uint64_t now = hamlyn_ticks();
      if (i >= kWarmUp) trips.push_back(static_cast<double>(now - before) * ns_per_tick());
      before = now;
    }
    side.say_over(128);
    room.report(trips);
  };
}

constexpr std::uint64_t kRowsBefore = 10000;
constexpr std::uint64_t kRows = 200000;
constexpr std::size_t kRow = 16;

// Words in rows; the last of each says how many rows there are.
void write_rows(Exporter& side, Room&) {
  std::array<std::uint64_t, kRow> words;
  std::array<PutMessage, kRow> row;
  for (std::size_t k = 0; k < kRow; ++k)
    row[k] = {std::as_bytes(std::span(&words[k], 1)), k + 1 == kRow ? 0 : 64 + 8 * k};
  for (std::uint64_t i = 1; i <= kRowsBefore + kRows; ++i) {
    words.fill(i);
    std::size_t sent = 0;
    for (std::size_t done = 0; done != kRow; done += sent) {
      const Status status = side.other().write_row(std::span(row).subspan(done), sent);
      if (status == Status::ok) continue;
      expect(status == Status::queue_full, name(status));
      side.interface().run();
    }
  }
}

void take_rows(Exporter& side, Room& room) {
  std::uint64_t start = 0;
  for (std::uint64_t seen = 0; seen != kRowsBefore + kRows;) {
    side.interface().run();
    seen = side.word().load(std::memory_order_acquire);
    if (start == 0 && seen >= kRowsBefore) start = hamlyn_ticks();
  }
  const double ns = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
  expect(side.own().at<std::uint64_t>(64).load() == kRowsBefore + kRows, "a put is missing");
  room.report(static_cast<double>(kRows * kRow) * 1e9 / ns);
}

// Until the other side has all: serving what it asks for, or, where it has the segment mapped, writing to the
// line that it reads.
void serve(Exporter& side, Room&) {
  const auto over = side.own().at<std::uint64_t>(128);
  if (side.other().writes_by_stores()) return keep_writing(side.word(), over);
  while (over.load(std::memory_order_acquire) == 0) side.interface().run();
}

template <std::size_t kBytes>
void read_bytes(Exporter& side, std::uint64_t) {
  std::array<std::byte, kBytes> bytes;
  expect(side.other().read(0, bytes, seconds{10}) == Status::ok, "a read failed");
}

// As the limit is measured.
void read_mapped_cells(Exporter& side, Room& room) {
  const std::vector<double> times = time_reads([&] { read_bytes<kCell>(side, 0); });
  side.say_over(128);
  room.report(times);
}

void swap_word(Exporter& side, std::uint64_t number) {
  const Outcome outcome = side.other().compare_and_swap(64, number, number + 1, seconds{10});
  expect(outcome.status == Status::ok && outcome.value == number, "a swap was lost, or done twice");
}

// Data, and whether it has landed.
void write_and_flush(Exporter& side, std::uint64_t number) {
  side.write(Cell{number}.bytes());
  expect(side.other().flush(seconds{10}) == Status::ok, "a write has not landed");
}

// Writes and flushes in one call.
void write_flushed(Exporter& side, std::uint64_t number) {
  expect(side.other().write_flushed(0, Cell{number}.bytes(), seconds{10}) == Status::ok,
         "a write has not landed");
}

// Data with a signal behind it, to and fro.
struct SignalEnds {
  Exporter& side;

  void send(std::uint64_t number) {
    const Status status =
        side.other().write_signal(0, Cell{number * 16}.bytes(), 64, number, Signal::set, seconds{10});
    expect(status == Status::ok, "a signal was not sent");
  }
  void receive(std::uint64_t number) {
    const auto signal = side.own().at<std::uint64_t>(64);
    while (signal.load(std::memory_order_acquire) != number) side.interface().run();
    check(side, number * 16);
  }
  void finish() {}
};

// Blocks, one after the other to one place, as peers' tools do it, until all have landed.
void write_blocks(Exporter& side, Room& room, std::size_t bytes) {
  const std::vector<std::byte> block(bytes, std::byte{0x5A});
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < all_messages(bytes); ++i) {
    if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
    side.write_block(block);
  }
  expect(side.other().flush(seconds{10}) == Status::ok, "a block has not landed");
  room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
  side.say_over(bytes);
}

// Waits for the word behind the last block, which the other side's write lands or stores.
void take_blocks(Exporter& side, std::size_t bytes) {
  const auto over = side.own().at<std::uint64_t>(bytes);
  while (over.load(std::memory_order_acquire) == 0) {
    if (!side.other().writes_by_stores()) side.interface().run();
  }
  expect(side.own().bytes()[bytes - 1] == std::byte{0x5A}, "a block has not landed");
}

// Blocks of the other side's segment into this one's, as often, some of them under way at a time.
void get_blocks(Exporter& side, Room& room, std::size_t bytes) {
  constexpr std::size_t kUnderWay = 8;
  std::array<RemoteHandle, kUnderWay> under_way{};
  std::uint64_t start = 0;
  const auto finish = [&](std::uint64_t number) {
    const Outcome outcome = side.other().wait(under_way[number % kUnderWay], seconds{10});
    expect(outcome.status == Status::ok, "a get failed");
  };
  const std::uint64_t all = all_messages(bytes);
  for (std::uint64_t i = 0; i < all; ++i) {
    if (i >= kUnderWay) finish(i);
    if (i == warm_up_messages(bytes)) start = hamlyn_ticks();
    const Status status = side.other().read(0, side.own(), 0, bytes, &under_way[i % kUnderWay]);
    expect(status == Status::pending, name(status));
  }
  for (std::uint64_t i = all; i < all + kUnderWay; ++i) finish(i);
  room.report(gigabytes_per_second(bytes, hamlyn_ticks() - start));
  expect(side.own().bytes()[bytes - 1] == std::byte{0x5A}, "a get brought other bytes");
  side.say_over(bytes);
}

void give_blocks(Exporter& side, std::size_t bytes) {
  std::memset(side.own().bytes().data(), 0x5A, bytes);
  const auto over = side.own().at<std::uint64_t>(bytes);
  while (over.load(std::memory_order_acquire) == 0) side.interface().run();
}

// How one side wakes the other, which sleeps until it does.
struct Wakes {
  void (*wake)(Exporter&, std::uint64_t number);
  void (*sleep)(Exporter&, std::uint64_t number);
};

// An exporter, by a write that tells it.
constexpr Wakes kByNotification{
    [](Exporter& side, std::uint64_t number) { side.write(Cell{number}.bytes(), {.notify = true}); },
    [](Exporter& side, std::uint64_t) {
      SegmentRecord record;
      expect(side.own().wait(record, seconds{10}) == Status::ok, "nothing was told of");
    }};

// An importer, by a store of the exporter's.
constexpr Wakes kByStore{[](Exporter& side, std::uint64_t number) {
                           side.own().at<std::uint64_t>(256).store(number, std::memory_order_release);
                           side.own().changed();
                         },
                         [](Exporter& side, std::uint64_t number) {
                           const auto there = [number](std::uint64_t word) { return word == number; };
                           expect(side.other().wait_until(256, there, seconds{10}) == Status::ok,
                                  "a store was not told of");
                         }};

// An exporter, by a signal.
constexpr Wakes kBySignal{
    [](Exporter& side, std::uint64_t number) {
      const Status status = side.other().write_signal(0, {}, 256, number, Signal::set, seconds{10});
      expect(status == Status::ok, "a signal was not sent");
    },
    [](Exporter& side, std::uint64_t number) {
      const auto there = [number](std::uint64_t word) { return word == number; };
      expect(side.own().wait_until(256, there, seconds{10}) == Status::ok, "a signal was not heard");
    }};

void ask_asleep(Exporter& side, Room& room, const Wakes& wakes) {
  std::vector<double> halves;
  halves.reserve(kSleeps);
  const SleepCount sleeps;
  for (std::uint64_t i = 1; i <= kSleepsBefore + kSleeps; ++i) {
    pause_before_message();
    const std::uint64_t start = hamlyn_ticks();
    wakes.wake(side, i);
    wakes.sleep(side, i);
    const double round_trip = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i > kSleepsBefore) halves.push_back((round_trip - kPauseNs) / 2);
  }
  sleeps.check(kSleeps);
  room.report(halves);
}

void answer_asleep(Exporter& side, const Wakes& wakes) {
  for (std::uint64_t i = 1; i <= kSleepsBefore + kSleeps; ++i) {
    wakes.sleep(side, i);
    pause_before_message();
    wakes.wake(side, i);
  }
}

Meter two_sided(const std::string& name, Place place, Sharing sharing, const SegmentWork& first,
                const SegmentWork& second) {
  const auto round = [=](Cores cores, int) {
    return run_sides(cores, kExchanges, place, sharing, 4096, first, second);
  };
  return {.name = prefix(place) + name, .round = round, .single_operations = true};
}

Meter asleep(const std::string& name, Place place, Sharing sharing, const Wakes& wakes) {
  return two_sided(
      name, place, sharing, [wakes](Exporter& side, Room& room) { ask_asleep(side, room, wakes); },
      [wakes](Exporter& side, Room&) { answer_asleep(side, wakes); });
}

std::string kind(Sharing sharing) { return sharing == Sharing::guarded ? "" : "mapped."; }

}  // namespace

Meter segment_write(Place place, Sharing sharing) {
  const auto round = [=](Cores cores, int style) {
    const int pauses = kPauses[static_cast<std::size_t>(style)];
    const auto first = [=](Exporter& side, Room& room) {
      CellEnds ends{side, pauses};
      ask(ends, room, {});
    };
    const auto second = [=](Exporter& side, Room&) {
      CellEnds ends{side, pauses};
      answer(ends, {});
    };
    return run_sides(cores, kExchanges, place, sharing, 4096, first, second);
  };
  return {.name = prefix(place) + "segment.write." + kind(sharing) + "40.oneway",
          .round = round,
          .styles = sharing == Sharing::mapped_read_write ? static_cast<int>(kPauses.size()) : 1,
          .single_operations = true};
}

Meter segment_read(Place place, Sharing sharing) {
  const SegmentWork reads = sharing == Sharing::guarded ? timed(read_bytes<kCell>) : read_mapped_cells;
  return two_sided("segment.read." + kind(sharing) + "40.roundtrip", place, sharing, reads, serve);
}

Meter put_row_rate() {
  const auto round = [](Cores cores, int) {
    return run_sides(cores, 1, Place::shm, Sharing::guarded, 4096, write_rows, take_rows);
  };
  return {.name = "shm.put.row.8.rate", .round = round};
}

Meter segment_read_page(Place place) {
  return two_sided("segment.read.4096.roundtrip", place, Sharing::guarded, timed(read_bytes<4096>), serve);
}

Meter get_bandwidth(Place place, std::size_t bytes) {
  const auto round = [=](Cores cores, int) {
    return run_sides(
        cores, 1, place, Sharing::guarded, bytes + 4096,
        [=](Exporter& side, Room& room) { get_blocks(side, room, bytes); },
        [=](Exporter& side, Room&) { give_blocks(side, bytes); });
  };
  return {.name = prefix(place) + "get." + std::to_string(bytes) + ".bandwidth", .round = round};
}

Meter segment_swap(Place place, Sharing sharing) {
  return two_sided("segment.cas." + kind(sharing) + "8.roundtrip", place, sharing, timed(swap_word), serve);
}

Meter segment_flush(Place place) {
  return two_sided("segment.flush.40.roundtrip", place, Sharing::guarded, timed(write_and_flush), serve);
}

Meter segment_write_flushed(Place place) {
  return two_sided("segment.write_flushed.40.roundtrip", place, Sharing::guarded, timed(write_flushed),
                   serve);
}

Meter segment_signal(Place place) {
  const auto first = [](Exporter& side, Room& room) {
    SignalEnds ends{side};
    ask(ends, room, {});
  };
  const auto second = [](Exporter& side, Room&) {
    SignalEnds ends{side};
    answer(ends, {});
  };
  return two_sided("segment.write_signal.40.oneway", place, Sharing::guarded, first, second);
}

Meter segment_bandwidth(Place place, Sharing sharing, std::size_t bytes) {
  const auto round = [=](Cores cores, int) {
    return run_sides(
        cores, 1, place, sharing, bytes + 4096,
        [=](Exporter& side, Room& room) { write_blocks(side, room, bytes); },
        [=](Exporter& side, Room&) { take_blocks(side, bytes); });
  };
  return {.name = prefix(place) + "segment.write." + kind(sharing) + std::to_string(bytes) + ".bandwidth",
          .round = round};
}

Meter segment_notify(Place place) {
  return asleep("segment.notify.40.oneway", place, Sharing::guarded, kByNotification);
}

Meter segment_wait(Place place, Sharing sharing) {
  return asleep("segment.wait." + kind(sharing) + "8.oneway", place, sharing, kByStore);
}

Meter segment_signal_wait(Place place, Sharing sharing) {
  return asleep("segment.signal_wait." + kind(sharing) + "8.oneway", place, sharing, kBySignal);
}

}  // namespace hamlyn::tool::perf
