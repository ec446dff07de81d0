#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/copy.h"
#include "hamlyn/segment.h"
#include "tool/perf/adding.h"
#include "tool/perf/far_nodes.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/sleeping.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kWarmUp = 5000;
constexpr std::uint64_t kExchanges = 50000;
constexpr std::size_t kCell = 40;                // the bytes of the paper's cell
constexpr std::array kPauses = {0, 1, 2, 4, 8};  // as for limit.cacheline: the best of these

// One of two processes, each with a segment that the other has imported.
class Exporter {
 public:
  Exporter(const std::string& meeting, int number, Place place, Sharing sharing, std::size_t bytes)
      : interface_({.node = place == Place::ofi ? far_node(number) : std::string{}}),
        own_(interface_,
             {.name = meeting + "-" + std::to_string(number), .bytes = bytes, .sharing = sharing}),
        other_(interface_, meeting + "-" + std::to_string(1 - number), {.timeout = seconds{10}}) {}

  Interface& interface() { return interface_; }
  Segment& own() { return own_; }
  Import& other() { return other_; }
  std::atomic_ref<std::uint64_t> word() { return own_.at<std::uint64_t>(0); }

  // The other side's writes land when this one runs its interface, or by themselves if it has it mapped.
  void wait_for(std::uint64_t value, int pauses) {
    const auto mine = word();
    if (other_.writes_by_stores()) {
      while (mine.load(std::memory_order_acquire) != value) hamlyn_rest(pauses);
    } else {
      while (mine.load(std::memory_order_acquire) != value) interface_.run();
    }
  }
  void write(std::span<const std::byte> data, const WriteOptions& options = {}, std::size_t offset = 0) {
    for (;;) {
      const Status status = other_.write(offset, data, options);
      if (status == Status::ok) return;
      expect(status == Status::queue_full || status == Status::no_place, name(status));
      interface_.run();
    }
  }

 private:
  Interface interface_;
  Segment own_;
  Import other_;
};

using SegmentWork = std::function<void(Exporter&, Room&)>;

std::vector<double> run_sides(Cores cores, std::size_t results, Place place, Sharing sharing,
                              std::size_t bytes, const SegmentWork& first, const SegmentWork& second) {
  const std::string meeting = new_meeting();
  if (place == Place::ofi) far_node(0);  // here, once for all rounds
  const auto side = [&](Room& room, int number) {
    Exporter made{meeting, number, place, sharing, bytes};
    room.meet();
    (number == 0 ? first : second)(made, room);
    room.meet();  // nobody's segment goes while the other uses it
  };
  return run_pair(
      cores, {.results = results}, [&](Room& room) { side(room, 0); }, [&](Room& room) { side(room, 1); });
}

// What is written: its number, and numbers that follow from it.
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

void ask(Exporter& side, Room& room, int pauses) {
  std::vector<std::uint64_t> moments(kExchanges + 1);
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    side.write(Cell{i * 16}.bytes());
    side.wait_for(i * 16, pauses);
    check(side, i * 16);
    if (i >= kWarmUp) moments[i - kWarmUp] = hamlyn_ticks();
  }
  room.report(half_round_trips(moments));
}

void answer(Exporter& side, Room&, int pauses) {
  for (std::uint64_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    side.wait_for(i * 16, pauses);
    check(side, i * 16);
    side.write(Cell{i * 16}.bytes());
  }
}

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
    const std::uint64_t over = ~std::uint64_t{0};
    side.write(std::as_bytes(std::span(&over, 1)), {}, 128);
    room.report(trips);
  };
}

// Until the other side has all: serving what it asks for, or, where it has the segment mapped, writing to the
// line that it reads.
void serve(Exporter& side, Room&) {
  const auto over = side.own().at<std::uint64_t>(128);
  const auto line = side.own().at<std::uint64_t>(0);
  const bool mapped = side.other().reads_by_loads();
  while (over.load(std::memory_order_acquire) == 0) {
    if (mapped) line.fetch_add(1, std::memory_order_relaxed);
    if (!side.other().writes_by_stores()) side.interface().run();
  }
}

void read_cell(Exporter& side, std::uint64_t) {
  std::array<std::byte, kCell> cell;
  expect(side.other().read(0, cell, seconds{10}) == Status::ok, "a read failed");
}

void swap_word(Exporter& side, std::uint64_t number) {
  const Outcome outcome = side.other().compare_and_swap(64, number, number + 1, seconds{10});
  expect(outcome.status == Status::ok && outcome.value == number, "a swap was lost, or done twice");
}

Meter two_sided(const std::string& name, Place place, Sharing sharing, const SegmentWork& first,
                const SegmentWork& second) {
  const auto round = [=](Cores cores, int) {
    return run_sides(cores, kExchanges, place, sharing, 4096, first, second);
  };
  return {.name = prefix(place) + name, .round = round, .single_operations = true};
}

std::string kind(Sharing sharing) { return sharing == Sharing::guarded ? "" : "mapped."; }

}  // namespace

Meter segment_write(Place place, Sharing sharing) {
  const auto round = [=](Cores cores, int style) {
    const int pauses = kPauses[static_cast<std::size_t>(style)];
    return run_sides(
        cores, kExchanges, place, sharing, 4096, [=](Exporter& side, Room& room) { ask(side, room, pauses); },
        [=](Exporter& side, Room& room) { answer(side, room, pauses); });
  };
  return {.name = prefix(place) + "segment.write." + kind(sharing) + "40.oneway",
          .round = round,
          .styles = sharing == Sharing::mapped_read_write ? static_cast<int>(kPauses.size()) : 1,
          .single_operations = true};
}

Meter segment_read(Place place, Sharing sharing) {
  return two_sided("segment.read." + kind(sharing) + "40.roundtrip", place, sharing, timed(read_cell), serve);
}

Meter segment_swap(Place place, Sharing sharing) {
  return two_sided("segment.cas." + kind(sharing) + "8.roundtrip", place, sharing, timed(swap_word), serve);
}

}  // namespace hamlyn::tool::perf
