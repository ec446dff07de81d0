#include "library/far/far_sleepers.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace hamlyn::internal_::library {
namespace {

// Each time a word moves all who sleep for it see that, however many are on their way in or out.
TEST(FarSleepers, no_wake_is_lost_on_another) {
  constexpr std::uint32_t kMoves = 2000;
  FarSleepers sleepers;
  sleepers.open();
  const base::FileDescriptor nothing(eventfd(0, EFD_CLOEXEC));
  struct Side {
    FarSleepers::Word word{0};
    std::atomic<std::uint32_t> seen[2]{};
  };
  Side sides[2];
  std::vector<std::thread> threads;
  for (Side& side : sides) {
    for (std::atomic<std::uint32_t>& seen : side.seen) {
      threads.emplace_back([&] {
        for (std::uint32_t value = 0; value != kMoves; seen.store(value = side.word.load())) {
          FarSleepers::Sleeper* const sleeper = sleepers.take(nothing.get());
          ASSERT_NE(sleeper, nullptr);
          sleepers.sleep(*sleeper, side.word, value, std::nullopt);
          sleepers.give_back(*sleeper);
        }
      });
    }
  }
  for (std::uint32_t move = 1; move <= kMoves; ++move) {
    for (Side& side : sides) {
      side.word.fetch_add(1);
      sleepers.wake(side.word);
    }
    for (Side& side : sides) {
      for (const auto& seen : side.seen) {
        while (seen.load() != move) std::this_thread::yield();
      }
    }
  }
  for (std::thread& thread : threads) thread.join();
}

void raise(const base::FileDescriptor& event) {
  const std::uint64_t one = 1;
  ASSERT_EQ(write(event.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

// What comes between take and sleep wakes each of them, though none of them reads it.
TEST(FarSleepers, has_so_many_places_and_all_hear_what_comes) {
  FarSleepers sleepers;
  sleepers.open();
  const base::FileDescriptor event(eventfd(1, EFD_CLOEXEC));
  FarSleepers::Word word{5};
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<FarSleepers::Sleeper*> taken;
    while (FarSleepers::Sleeper* const sleeper = sleepers.take(event.get())) taken.push_back(sleeper);
    EXPECT_EQ(taken.size(), 4u);
    EXPECT_FALSE(sleepers.any(word));
    raise(event);
    for (FarSleepers::Sleeper* sleeper : taken) sleepers.sleep(*sleeper, word, 5, std::nullopt);
    for (FarSleepers::Sleeper* sleeper : taken) sleepers.give_back(*sleeper);
    EXPECT_FALSE(sleepers.any(word));
  }
}

// A descriptor that stays readable keeps nobody awake.
TEST(FarSleepers, sleeps_though_all_stays_readable) {
  FarSleepers sleepers;
  sleepers.open();
  const base::FileDescriptor event(eventfd(1, EFD_CLOEXEC));
  const FarSleepers::Word word{5};
  FarSleepers::Sleeper* const sleeper = sleepers.take(event.get());
  ASSERT_NE(sleeper, nullptr);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  sleepers.sleep(*sleeper, word, 5, deadline);
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
}

}  // namespace
}  // namespace hamlyn::internal_::library
