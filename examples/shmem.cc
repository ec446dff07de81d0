// Programs in the manner of OpenSHMEM, over segments (shmem/shmem.h): put, get, atomics, put with signal and
// wait, barrier, reductions and broadcast, each tried by several processes.
//
//   shmem [PROCESSES] [guarded|mapped]   starts so many processes (4), of both kinds of heap if none is named
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <numeric>
#include <string>

#include "shmem/shmem.h"
#include "spawn_self.h"

namespace {

constexpr std::size_t kHeap = 1 << 20;

// A ring of long puts and gets: each process gives its numbers to the next.
void ring(Shmem& shmem) {
  constexpr std::size_t kNumbers = 5000;
  const std::size_t at = shmem.allocate<std::uint64_t>(kNumbers);
  const std::size_t next = (shmem.me() + 1) % shmem.all(),
                    last = (shmem.me() + shmem.all() - 1) % shmem.all();
  std::vector<std::uint64_t> numbers(kNumbers);
  std::iota(numbers.begin(), numbers.end(), shmem.me() * 1000000);
  shmem.put(at, std::span<const std::uint64_t>(numbers), next);
  shmem.barrier();
  require(shmem.local<std::uint64_t>(at, kNumbers)[7] == last * 1000000 + 7, "a put did not arrive");
  std::vector<std::uint64_t> back(kNumbers);
  shmem.get(std::span(back), at, next);
  require(back == numbers, "a get brought something else");
  shmem.barrier();
}

// Everybody counts in one word, and takes turns by another.
void words(Shmem& shmem) {
  constexpr std::uint64_t kTimes = 200;
  const std::size_t count = shmem.allocate<std::uint64_t>(1), lock = shmem.allocate<std::uint64_t>(1);
  const std::size_t guarded = shmem.allocate<std::uint64_t>(1);
  for (std::uint64_t i = 0; i != kTimes; ++i) shmem.fetch_add(count, 1, 0);
  for (int i = 0; i != 10; ++i) {
    while (shmem.compare_swap(lock, 0, shmem.me() + 1, 0) != 0) std::this_thread::yield();
    shmem.put(guarded, shmem.get<std::uint64_t>(guarded, 0) + 1, 0);
    shmem.quiet();  // before the lock is free
    require(shmem.swap(lock, 0, 0) == shmem.me() + 1, "the lock was somebody else's");
  }
  shmem.barrier();
  require(shmem.get<std::uint64_t>(count, 0) == kTimes * shmem.all(), "an addition was lost");
  require(shmem.get<std::uint64_t>(guarded, 0) == 10 * shmem.all(), "two had the lock at a time");
  shmem.barrier();
}

// A token goes round with data: whoever sees the signal sees the data.
void signals(Shmem& shmem) {
  constexpr std::uint64_t kRounds = 50;
  const std::size_t at = shmem.allocate<std::uint64_t>(5), signal = shmem.allocate<std::uint64_t>(1);
  const std::size_t next = (shmem.me() + 1) % shmem.all();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    if (shmem.me() != 0) shmem.wait_until(signal, [&](std::uint64_t there) { return there == round; });
    const std::array<std::uint64_t, 5> data{round, shmem.me(), round, round, ~round};
    if (shmem.me() != 0)
      require(shmem.local<std::uint64_t>(at, 5)[4] == ~round, "a signal came before its data");
    shmem.put_signal(at, std::span<const std::uint64_t>(data), signal, 1, hamlyn::Signal::add, next);
    if (shmem.me() == 0) shmem.wait_until(signal, [&](std::uint64_t there) { return there == round; });
  }
  shmem.barrier();
}

void together(Shmem& shmem) {
  std::array<double, 20> values;
  for (std::size_t i = 0; i != values.size(); ++i) values[i] = static_cast<double>(i * (shmem.me() + 1));
  shmem.reduce(std::span<double>(values));
  const auto all = static_cast<double>(shmem.all() * (shmem.all() + 1) / 2);
  require(values[3] == 3 * all && values[19] == 19 * all, "a sum is wrong");
  std::array<std::uint64_t, 2> mine{shmem.me() + 7, 2};
  shmem.reduce(std::span<std::uint64_t>(mine), [](auto one, auto other) { return std::min(one, other); });
  require(mine[0] == 7, "the smallest is another");
  mine = {shmem.me(), 2};
  shmem.reduce(std::span<std::uint64_t>(mine), [](auto one, auto other) { return std::max(one, other); });
  require(mine[0] == shmem.all() - 1, "the largest is another");
  mine = {1, shmem.me() % 2 == 0 ? 1u : 3u};
  shmem.reduce(std::span<std::uint64_t>(mine), std::multiplies<std::uint64_t>());
  std::uint64_t product = 1;
  for (std::size_t pe = 1; pe < shmem.all(); pe += 2) product *= 3;
  require(mine[1] == product, "a product is wrong");
  std::array<std::uint64_t, 3> told{shmem.me(), 1, 2};
  shmem.broadcast(std::span<std::uint64_t>(told), shmem.all() - 1);
  require(told[0] == shmem.all() - 1, "something else was broadcast");
}

// Returns the median, in microseconds.
double time_barrier(Shmem& shmem) {
  std::vector<double> times(200);
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    shmem.barrier();
    time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }
  std::ranges::nth_element(times, times.begin() + 100);
  return times[100];
}

int take_part(const std::string& meeting, std::size_t me, std::size_t all, bool mapped) {
  Shmem shmem(meeting, me, all, kHeap, mapped);
  ring(shmem);
  words(shmem);
  signals(shmem);
  together(shmem);
  const double barrier = time_barrier(shmem);
  if (me == 0)
    std::printf("%zu processes, %s heaps: all is as it should be; a barrier takes %.1f us\n", all,
                mapped ? "mapped" : "guarded", barrier);
  shmem.barrier();  // nobody's heap goes while others use it
  return 0;
}

// Words of a partner: its meeting, number and kind.
int start(std::size_t all, bool mapped) {
  const std::string meeting = "shmem." + std::to_string(getpid()) + (mapped ? ".m" : ".g");
  std::deque<SecondProcess> partners;
  for (std::size_t pe = 1; pe != all; ++pe)
    partners.emplace_back("=" + meeting,
                          std::to_string(pe) + "/" + std::to_string(all) + (mapped ? "m" : "g"));
  int result = take_part(meeting, 0, all, mapped);
  for (SecondProcess& partner : partners) result |= partner.wait() ? 0 : 1;
  return result;
}

int run(int count, char** words) {
  if (count == 3 && words[1][0] == '=') {
    std::size_t me = 0, all = 0;
    char kind = 0;
    require(std::sscanf(words[2], "%zu/%zu%c", &me, &all, &kind) == 3,
            "these are words of a partner of the example");
    return take_part(words[1] + 1, me, all, kind == 'm');
  }
  const std::size_t all = count > 1 ? std::stoul(words[1]) : 4;
  require(all != 0 && all <= Shmem::kMost, "there are 1 to 64 processes");
  const std::string kind = count > 2 ? words[2] : "";
  require(kind.empty() || kind == "guarded" || kind == "mapped", "a heap is guarded or mapped");
  const int guarded = kind == "mapped" ? 0 : start(all, false);
  const int mapped = kind == "guarded" ? 0 : start(all, true);
  return guarded | mapped;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(run(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shmem: %s\n", error.what());
    return 1;
  }
}
