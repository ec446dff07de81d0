// Whether rows of puts cost at the end of a long time what they cost at its begin: blocks of 1 MiB, both
// sides on one processor, and on two. Ends with 1 if the last minute is slower than the first by more than a
// tenth.
//   flat_rows MINUTES
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "hamlyn/segment/segment.h"
#include "tool/perf/cores.h"
#include "tool/perf/pair.h"

namespace {

using namespace hamlyn;
using namespace hamlyn::tool::perf;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBlock = 1 << 20, kRow = 16, kPut = 48;
constexpr std::size_t kRows = kBlock / (kRow * kPut);
constexpr std::size_t kOver = kBlock;  // the word that ends it
constexpr double kMost = 1.1;          // times the first minute

void expect(bool as_it_should_be, const char* what) {
  if (!as_it_should_be) throw std::runtime_error(what);
}

void write_block(Interface& interface, Import& import, std::array<std::byte, kPut>& data) {
  std::array<PutMessage, kRow> row;
  for (std::size_t r = 0; r != kRows; ++r) {
    for (std::size_t k = 0; k != kRow; ++k) row[k] = {data, (r * kRow + k) * kPut};
    std::size_t sent = 0;
    for (std::size_t done = 0; done != kRow; done += sent) {
      const Status status = import.write_row(std::span(row).subspan(done), sent);
      expect(status == Status::ok || status == Status::queue_full, "a row was not written");
      if (status == Status::queue_full) interface.run();
    }
  }
  expect(import.flush(std::chrono::seconds{10}) == Status::ok, "a block has not landed");
}

double median(std::vector<double>& times) {
  expect(!times.empty(), "a minute went by without a block");
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Reports the median time of a block in the first minute, and in the last.
void write(Room& room, const std::string& name, std::chrono::minutes all) {
  Interface interface;
  Import import(interface, name, {.timeout = std::chrono::seconds{10}});
  std::array<std::byte, kPut> data{};
  const auto start = Clock::now();
  std::vector<double> first, last;
  for (auto now = start; now - start < all;) {
    write_block(interface, import, data);
    const auto end = Clock::now();
    const double us = std::chrono::duration<double, std::micro>(end - now).count();
    if (end - start < std::chrono::minutes{1}) first.push_back(us);
    if (end - start > all - std::chrono::minutes{1}) last.push_back(us);
    now = end;
  }
  expect(import.store(kOver, std::uint64_t{1}) == Status::ok, "the end was not written");
  expect(import.flush(std::chrono::seconds{10}) == Status::ok, "the end has not landed");
  room.report(std::array{median(first), median(last)});
  room.meet();
}

// Takes it asleep: that is what rows of puts do not wake each time.
void take(Room& room, const std::string& name) {
  Interface interface;
  Segment segment(interface, {.name = name, .bytes = kBlock + 4096});
  const auto over = [](std::uint64_t word) { return word != 0; };
  expect(segment.wait_until(kOver, over, std::chrono::nanoseconds::max()) == Status::ok, "it has not ended");
  room.meet();
}

bool flat(const char* where, Cores cores, std::chrono::minutes all) {
  const std::string name = "flat-rows-" + std::to_string(cores.first) + "-" + std::to_string(cores.second);
  const PairOptions options{.results = 2, .seconds = static_cast<int>(all.count() * 60 + 60)};
  const auto times = run_pair(
      cores, options, [&](Room& room) { write(room, name, all); }, [&](Room& room) { take(room, name); });
  const double ratio = times.at(1) / times.at(0);
  std::printf(
      "1 MiB of rows of puts, both sides on %s: %.0f us in the first minute, %.0f in the last (%.2f)\n",
      where, times[0], times[1], ratio);
  return ratio <= kMost;
}

}  // namespace

int main(int count, char** arguments) try {
  const int minutes = count == 2 ? std::atoi(arguments[1]) : 0;
  if (minutes < 1) {
    std::fputs("usage: flat_rows MINUTES\n", stderr);
    return 2;
  }
  const Cores two = choose_cores(allowed_processors());
  const bool one_flat = flat("one processor", {two.first, two.first}, std::chrono::minutes{minutes});
  const bool two_flat = flat("two processors", two, std::chrono::minutes{minutes});
  return one_flat && two_flat ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "flat_rows: %s\n", error.what());
  return 2;
}
