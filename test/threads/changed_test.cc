// State that a waiting thread looks at is changed by another thread of the process, without any arrival:
// nobody sleeps through that. What test/model/waiting.pml explores, with real threads.
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "base/fence.h"
#include "hamlyn/protocols/loan.h"
#include "hamlyn/protocols/tagged_write.h"
#include "test/threads/beside.h"

namespace hamlyn::test {
namespace {

class Changed : public WithManagers {};

// Takes no time, a little, or so long that the other threads sleep.
void do_something_else(std::mt19937& random) {
  for (auto rests = random() % 3 * (random() % 3000); rests != 0; --rests) base::pause();
}

// Threads share one buffer: each waits until another gives it back.
TEST_F(Changed, a_buffer_that_comes_back_is_taken) {
  with_both([](Managers& both) {
    LoanPool pool(both.sender, {{64, 1}});
    std::array<std::thread, 3> threads;
    for (std::size_t i = 0; i != threads.size(); ++i) {
      threads[i] = std::thread([&, i] {
        std::mt19937 random(static_cast<unsigned>(i));
        for (int round = 0; round != 700; ++round) {
          Loan loan;
          ASSERT_EQ(pool.take(64, loan, kPatience), Status::ok) << "it has slept through what it waited for";
          do_something_else(random);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

// One thread finds what the other waits for, and puts it aside.
TEST_F(Changed, a_tag_that_is_put_aside_is_taken) {
  with_both([](Managers& both) {
    constexpr std::uint64_t kRounds = 700;
    TaggedReceiver receiver(both.receiver, 64);
    TaggedSender sender(both.sender, receiver.make_seed(), kPatience);
    std::atomic<std::uint64_t> taken = 0;
    std::array<std::thread, 2> threads;
    for (std::uint64_t i = 0; i != threads.size(); ++i) {
      threads[i] = std::thread([&, i] {
        for (std::uint64_t round = 0; round != kRounds; ++round) {
          Tagged tagged;
          ASSERT_EQ(receiver.get_specific_tag(2 * round + i, tagged, kPatience), Status::ok)
              << "it has slept through what it waited for";
          ++taken;
        }
      });
    }
    std::mt19937 random(1);
    for (std::uint64_t round = 0; round != kRounds && !HasFailure(); ++round) {
      const std::uint64_t first = random() % 2;
      for (const std::uint64_t which : {first, 1 - first}) {
        do_something_else(random);
        ASSERT_EQ(sender.send({}, 0, 2 * round + which, kPatience), Status::ok);
      }
      while (taken != 2 * (round + 1) && !HasFailure()) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
  });
}

// During the look the interface thread takes the role of the one who notices arrivals. Then the waiting
// thread sleeps in its place, for a short time, finds what it wants, and never comes again.
TEST_F(Changed, others_are_served_after_a_wait_whose_look_took_long) {
  with_both([](Managers& both) {
    Interface& here = both.receiver.interface();
    MessageArea area(here, 64);
    NotificationQueue queue(here);
    Slot slot(area, queue, {.fast = false, .fetches = true});
    Terminus terminus(both.sender.interface());
    ASSERT_EQ(terminus.connect(slot.ticket(), kPatience), Status::ok);
    Engine& engine = here.engine();
    const auto& role = engine.*reveal(EngineRole{});
    bool last_before_sleep = false;
    const auto look = [&] {
      if (last_before_sleep) return Status::ok;
      EXPECT_TRUE(eventually([&] { return role.load() == SleeperRole::interface_thread; }));
      const base::RunLockGuard guard(engine.lock());
      last_before_sleep = engine.*reveal(EngineWaiting{}) != 0;
      return Status::pending;
    };
    library::Waiting& waiting = here.waiting();
    EXPECT_EQ(
        waiting.until(look, library::deadline_in(std::chrono::nanoseconds{kPatience}), waiting.cancels()),
        Status::ok);
    const Fetch add{.op = FetchOp::add, .operand = 1};
    EXPECT_EQ(terminus.fetch(slot.ticket(), add, {}, kPatience).status, Status::ok) << "nobody serves it";
  });
}

}  // namespace
}  // namespace hamlyn::test
