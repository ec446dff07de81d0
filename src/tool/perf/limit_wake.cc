#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "tool/perf/limits.h"
#include "tool/perf/pair.h"
#include "tool/perf/sleeping.h"

namespace hamlyn::tool::perf {
namespace {

constexpr std::uint32_t kWarmUp = 50;
constexpr std::uint32_t kExchanges = 1000;

struct alignas(128) Bell {
  std::atomic<std::uint32_t> word{0};
};
struct Bells {
  Bell there;
  Bell back;
};

void ring(Bell& bell, std::uint32_t value) {
  bell.word.store(value, std::memory_order_release);
  syscall(SYS_futex, &bell.word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void wait_for(Bell& bell, std::uint32_t value) {
  for (;;) {
    const std::uint32_t seen = bell.word.load(std::memory_order_acquire);  // partner: the store in ring
    if (seen == value) return;
    syscall(SYS_futex, &bell.word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
}

void ask(Room& room, double pause_ns) {
  auto& bells = *reinterpret_cast<Bells*>(room.memory().data());
  std::vector<double> halves;
  halves.reserve(kExchanges);
  room.meet();
  const SleepCount sleeps;
  for (std::uint32_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    pause_before_message(pause_ns);
    const std::uint64_t start = hamlyn_ticks();
    ring(bells.there, i);
    wait_for(bells.back, i);
    const double round_trip = static_cast<double>(hamlyn_ticks() - start) * ns_per_tick();
    if (i > kWarmUp) halves.push_back((round_trip - pause_ns) / 2);
  }
  sleeps.check(kExchanges);
  room.report(halves);
}

void answer(Room& room, double pause_ns) {
  auto& bells = *reinterpret_cast<Bells*>(room.memory().data());
  room.meet();
  const SleepCount sleeps;
  for (std::uint32_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    wait_for(bells.there, i);
    pause_before_message(pause_ns);
    ring(bells.back, i);
  }
  sleeps.check(kExchanges);
}

Meter wake_after(const char* name, double pause_ns) {
  const auto round = [=](Cores cores, int) {
    return run_pair(
        cores, {.bytes = sizeof(Bells), .results = kExchanges}, [=](Room& room) { ask(room, pause_ns); },
        [=](Room& room) { answer(room, pause_ns); });
  };
  return {.name = name, .round = round, .single_operations = true};
}

// A thread of the other side sleeps while another of its threads computes on the same processor. The asker
// looks at memory for the answer.
void ask_beside_computing(Room& room) {
  auto& bells = *reinterpret_cast<Bells*>(room.memory().data());
  std::vector<double> trips;
  trips.reserve(kExchanges);
  room.meet();
  for (std::uint32_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    pause_before_message(kPauseNs);
    const std::uint64_t start = hamlyn_ticks();
    ring(bells.there, i);
    while (bells.back.word.load(std::memory_order_acquire) != i) {  // partner: the store below
    }
    if (i > kWarmUp) trips.push_back(static_cast<double>(hamlyn_ticks() - start) * ns_per_tick());
  }
  room.report(trips);
}

void answer_beside_computing(Room& room) {
  auto& bells = *reinterpret_cast<Bells*>(room.memory().data());
  std::jthread computes([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
    }
  });
  room.meet();
  const SleepCount sleeps;
  for (std::uint32_t i = 1; i <= kWarmUp + kExchanges; ++i) {
    wait_for(bells.there, i);
    bells.back.word.store(i, std::memory_order_release);  // partner: the asker's look
  }
  sleeps.check(kExchanges);
}

}  // namespace

Meter wake_limit() { return wake_after("limit.wake.oneway", kPauseNs); }
Meter long_wake_limit() { return wake_after("limit.wake.long.oneway", kLongPauseNs); }
Meter computing_wake_limit() {
  const auto round = [](Cores cores, int) {
    return run_pair(cores, {.bytes = sizeof(Bells), .results = kExchanges}, ask_beside_computing,
                    answer_beside_computing);
  };
  return {.name = "limit.wake.computing.oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
