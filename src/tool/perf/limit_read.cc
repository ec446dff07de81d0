#include <array>
#include <stdexcept>

#include "base/copy.h"
#include "tool/perf/limits.h"
#include "tool/perf/pair.h"
#include "tool/perf/reading.h"

namespace hamlyn::tool::perf {

namespace {

constexpr std::size_t kCell = 40;  // of the line, as of a segment
constexpr std::size_t kOver = 128;

std::atomic_ref<std::uint64_t> word_of(Room& room, std::size_t at) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(room.memory().data() + at));
}

void read_line(Room& room) {
  room.meet();
  std::array<std::uint64_t, kCell / 8> cell{};
  std::uint64_t least = 0;
  const std::vector<double> times = time_reads([&] {
    base::copy_from_shared(reinterpret_cast<std::byte*>(cell.data()), room.memory().data(), kCell);
    if (cell[0] < least) throw std::runtime_error("what was read is older than what was read before");
    least = cell[0];
  });
  word_of(room, kOver).store(1, std::memory_order_release);  // pairs with keep_writing
  room.report(times);
}

void write_line(Room& room) {
  room.meet();
  keep_writing(word_of(room, 0), word_of(room, kOver));
}

}  // namespace

Meter read_limit() {
  const auto round = [](Cores cores, int) {
    return run_pair(cores, {.results = kReads}, read_line, write_line);
  };
  return {.name = "limit.read.40.roundtrip", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
