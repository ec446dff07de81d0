// The run lock: one at a time, each sees what those before it wrote, and everybody gets in.
#include <algorithm>
#include <new>

#include "base/run_lock_slow.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

namespace {

struct ExploredThreads : Explored {
  struct Mutex {
    std::uint32_t word = 0;
    void lock() { Explorer::take(&word, sizeof word); }
    bool try_lock() {  // as one who comes just when it is free
      lock();
      return true;
    }
    void unlock() { Explorer::store(&word, 0, sizeof word, Order::ordered); }
  };

  static inline char marks[4];
  static const void* self() noexcept { return &marks[Explorer::task()]; }
  static bool comes_as_other() noexcept { return false; }

  static void light_fence(const Here& here = Here::current()) noexcept {
    if (OrderedPlace::kept("light fence", here)) Explorer::light_fence();
  }
  static void heavy_fence(const Here& here = Here::current()) noexcept {
    if (OrderedPlace::kept("heavy fence", here)) Explorer::heavy_fence();
  }
  static void await_zero(const std::uint32_t& word, const Here& here = Here::current()) noexcept {
    Explorer::await(&word, sizeof word, 0,
                    OrderedPlace::kept("acquire", here) ? Order::ordered : Order::relaxed);
  }
  template <class T>
  static T load_plain(const T& word) noexcept {
    return load(word, Order::plain);
  }
  template <class T>
  static void store_plain(T& word, T value) noexcept {
    store(word, value, Order::plain);
  }
};

using Lock = base::BasicRunLock<ExploredThreads>;

struct ExploredLock final : Lock {
  using Lock::Lock;
};

struct Shared {
  base::RunLockWords words{};
  ExploredLock lock{&words};
  std::uint64_t total = 0;
};

void work(Shared& shared) {
  const std::uint64_t total = ExploredThreads::load_plain(shared.total) + 1;
  ExploredThreads::store_plain(shared.total, total);
  Explorer::report(total);
}

void as_application(Shared& shared) {
  shared.lock.enter();
  work(shared);
  shared.lock.leave();
}
void as_other(Shared& shared) {
  shared.lock.enter_as_other();
  work(shared);
  shared.lock.leave();
}
void as_one_who_tries(Shared& shared) {
  if (!shared.lock.try_enter_as_other()) return;
  work(shared);
  shared.lock.leave();
}

// Task 0 is the owner, and so many strangers have come before the others do.
std::string run(Model model, std::uint32_t strangers, std::initializer_list<void (*)(Shared&)> others) {
  alignas(Shared) static std::byte place[sizeof(Shared)];
  static Shared* shared;
  shared = new (place) Shared;
  shared->words.owner = &ExploredThreads::marks[0];
  shared->words.strangers = strangers;
  shared->words.alive = 1;
  Explorer explorer(place, model);
  explorer.add([] {
    as_application(*shared);
    as_application(*shared);
  });
  for (void (*const other)(Shared&) : others) explorer.add([other] { other(*shared); });
  return explorer.explore([](const std::vector<std::vector<std::uint64_t>>& reports) -> std::string {
    std::vector<std::uint64_t> totals;
    for (const auto& each : reports) totals.insert(totals.end(), each.begin(), each.end());
    std::ranges::sort(totals);
    for (std::size_t i = 0; i < totals.size(); ++i) {
      if (totals[i] != i + 1) return "two were inside";
    }
    return {};
  });
}

}  // namespace

std::vector<Scenario> run_lock_scenarios() {
  return {{"one_other", [](Model model) { return run(model, 0, {as_other}); }},
          {"who_tries",
           [](Model model) {
             return run(model, 0, {as_other, as_one_who_tries});
           }},
          {"two_others",
           [](Model model) {
             return run(model, 0, {as_other, as_application});
           }},
          {"end_of_the_bias", [](Model model) {
             return run(model, 15, {as_application, as_other});
           }}};
}

}  // namespace hamlyn::test
