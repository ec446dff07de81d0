// Threads that wait beside one that sleeps as the one who notices arrivals (docs/architecture.md, section 7):
// whatever ends its sleep, one of them has its role then, and nobody sleeps through what it waits for. What
// test/model/beside.pml explores, with real threads.
#include "test/threads/beside.h"

#include <functional>
#include <memory>
#include <vector>

#include "test/threads/going.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Beside : public WithManagers {};

// Threads that wait at a queue each.
class Sleepers {
 public:
  Sleepers(Managers& both, std::uint32_t count) : here_(both.receiver.interface()), each_(count) {
    for (Each& each : each_) each.ear = std::make_unique<Ear>(here_, both.sender.interface());
  }
  ~Sleepers() {
    for (Each& each : each_) {
      if (each.thread.joinable()) each.thread.join();
    }
  }

  // The first sleeps deeply, no longer than `timeout`; then all others come to wait beside it.
  void settle(std::chrono::nanoseconds timeout = kPatience) {
    start(each_[0], timeout);
    EXPECT_TRUE(eventually([&] { return sleep_in(here_, 0) || each_[0].over; }));
    for (std::size_t i = 1; i < each_.size(); ++i) start(each_[i], kPatience);
    EXPECT_TRUE(eventually([&] { return all_sleep(each_.size()) || each_[0].over; }));
  }
  bool all_sleep(std::size_t count) const { return sleep_in(here_, static_cast<std::uint32_t>(count) - 1); }
  void say(std::size_t to) { each_[to].ear->speaker.say(to); }
  void destroy_queue_of_first() { each_[0].ear.reset(); }
  Status end_of(std::size_t which) {
    each_[which].thread.join();
    return each_[which].end;
  }
  // Whatever has happened to the first: for those who are left one of them notices what arrives, as long as
  // there are any.
  void others_hear() {
    for (std::size_t i = 1; i < each_.size(); ++i) {
      EXPECT_TRUE(eventually([&] { return all_sleep(each_.size() - i); })) << "nobody is the sleeper";
      say(i);
      expect_heard(i);
    }
  }
  void expect_heard(std::size_t which) {
    EXPECT_EQ(end_of(which), Status::ok);
    EXPECT_EQ(each_[which].word, which);
  }

 private:
  struct Each {
    std::unique_ptr<Ear> ear;
    std::thread thread;
    std::uint64_t word = 0;
    Status end = Status::pending;
    std::atomic<bool> over{false};
  };
  static void start(Each& each, std::chrono::nanoseconds timeout) {
    each.thread = std::thread([&each, timeout, ear = each.ear.get()] {
      each.end = ear->hear(each.word, timeout);
      each.over = true;
    });
  }

  Interface& here_;
  std::vector<Each> each_;
};

constexpr std::uint32_t kSleepers = 4;

TEST_F(Beside, one_that_hears_something_leaves_its_role_to_another) {
  with_both([](Managers& both) {
    Sleepers sleepers(both, kSleepers);
    sleepers.settle();
    sleepers.say(0);
    sleepers.expect_heard(0);
    sleepers.others_hear();
  });
}

TEST_F(Beside, one_whose_time_is_over_leaves_its_role_to_another) {
  with_both([](Managers& both) {
    Sleepers sleepers(both, kSleepers);
    sleepers.settle(40ms);
    EXPECT_EQ(sleepers.end_of(0), Status::timed_out);
    sleepers.others_hear();
  });
}

TEST_F(Beside, one_that_is_let_go_leaves_its_role_to_another) {
  with_both([](Managers& both) {
    Sleepers sleepers(both, kSleepers);
    sleepers.settle();
    sleepers.destroy_queue_of_first();
    EXPECT_EQ(sleepers.end_of(0), Status::cancelled);
    sleepers.others_hear();
  });
}

// Whoever polls takes the role, and may never come again.
TEST_F(Beside, one_is_the_sleeper_again_behind_a_poll) {
  with_both([](Managers& both) {
    Sleepers sleepers(both, kSleepers);
    sleepers.settle();
    EXPECT_FALSE(both.receiver.queue().poll());
    EXPECT_TRUE(eventually([&] { return sleepers.all_sleep(kSleepers); })) << "nobody is the sleeper";
    sleepers.say(0);
    sleepers.expect_heard(0);
    sleepers.others_hear();
  });
}

// Whoever wakes first takes in what all of them wait for.
TEST_F(Beside, all_hear_what_arrives_at_once) {
  with_both([](Managers& both) {
    for (int turn = 0; turn < 20; ++turn) {
      Sleepers sleepers(both, kSleepers);
      sleepers.settle();
      for (std::size_t i = 0; i < kSleepers; ++i) sleepers.say(i);
      for (std::size_t i = 0; i < kSleepers; ++i) sleepers.expect_heard(i);
    }
  });
}

TEST_F(Beside, all_are_cancelled_at_once) {
  with_both([](Managers& both) {
    Sleepers sleepers(both, kSleepers);
    sleepers.settle();
    both.receiver.interface().cancel();
    for (std::size_t i = 0; i < kSleepers; ++i) EXPECT_EQ(sleepers.end_of(i), Status::cancelled);
  });
}

// Nothing arrives, and nobody sleeps beside it.
TEST_F(Beside, one_that_sleeps_alone_is_told_of_what_another_thread_settles) {
  with_both([](Managers& both) {
    Engine& engine = both.receiver.interface().engine();
    bool settled = false;
    Status end = Status::pending;
    std::thread waits([&] {
      const auto ready = [&] { return settled ? Status::ok : Status::pending; };
      end = engine.wait(ready, library::deadline_in(std::chrono::nanoseconds{kPatience}));
    });
    EXPECT_TRUE(eventually([&] { return sleep_in(both.receiver.interface(), 0); }));
    {
      const base::RunLockGuard guard(engine.lock());
      settled = true;
      engine.settled();
    }
    waits.join();
    EXPECT_EQ(end, Status::ok) << "it has slept through what it waited for";
  });
}

// The sleeper has armed its watch when nobody wanted room.
// `bytes` of each message.
void expect_room_to_be_told_of(Managers& both, std::size_t bytes) {
  constexpr std::uint32_t kMessages = 1000;  // there are places for all of them, and no room
  const std::vector<std::byte> data(bytes);
  MessageArea area(both.sender.interface(), data.size());
  NotificationQueue queue(both.sender.interface());
  Slot slot(area, queue, {.places = kMessages});
  Speaker speaker(both.receiver.interface(), slot.ticket());
  Sleepers sleepers(both, 1);
  sleepers.settle();
  std::atomic<bool> over = false;
  std::thread wants_room;
  {
    const Deaf deaf(both.sender.interface());
    wants_room = std::thread([&] {
      for (std::uint32_t i = 0; i < kMessages; ++i) speaker.say(i, data);
      over = true;
    });
    EXPECT_TRUE(eventually([&] { return sleep_in(both.receiver.interface(), 1) || over; }));
    EXPECT_FALSE(over) << "there was room for all of it";
  }
  std::uint32_t heard = 0;
  EXPECT_TRUE(eventually([&] {
    while (const auto next = queue.poll()) EXPECT_EQ(next->word, heard++);
    return over.load();
  }));
  wants_room.join();
  sleepers.say(0);
  sleepers.expect_heard(0);
}

TEST_F(Beside, one_that_wants_room_is_told_of_it) {
  with_both([](Managers& both) { expect_room_to_be_told_of(both, 256); });
}

// For which the link's first ring is too short: it sleeps until there is a longer one.
TEST_F(Beside, one_that_wants_a_longer_ring_is_told_of_it) {
  with_both([](Managers& both) { expect_room_to_be_told_of(both, 4096); });
}

}  // namespace
}  // namespace hamlyn::test
