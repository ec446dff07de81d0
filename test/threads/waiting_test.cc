// Several threads wait in one interface while messages arrive throughout: some have little time, some are let
// go, some hear what they wait for. Every message is taken once, and every wait ends.
#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "test/threads/beside.h"
#include "test/threads/going.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Waiting : public WithManagers {};

// How often each word was taken, of those that were said at one slot.
class Taken {
 public:
  explicit Taken(std::size_t words) : times_(words) {}
  void take(std::uint64_t word) {
    ASSERT_LT(word, times_.size());
    ++times_[word];
    ++count_;
  }
  bool all() const { return count_ >= times_.size(); }
  std::size_t count() const { return count_; }
  void expect_each_once() const {
    EXPECT_TRUE(std::ranges::all_of(times_, [](const auto& times) { return times == 1; }));
  }

 private:
  std::vector<std::atomic<unsigned>> times_;
  std::atomic<std::size_t> count_ = 0;
};

// One of the threads of a flow. As long as not all is taken it hears, each time for longer by `step` and
// never for 3 ms; without a step it has all the time that there is.
void hear_a_flow(Ear& ear, Taken& taken, std::chrono::microseconds step) {
  for (auto timeout = 0us; !taken.all(); timeout = (timeout + step) % 3000) {
    std::uint64_t word = 0;
    const Status status = ear.hear(word, step == 0us ? std::chrono::nanoseconds{kPatience} : timeout);
    if (status == Status::ok) {
      taken.take(word);
    } else if (status != Status::cancelled) {
      EXPECT_EQ(status, Status::timed_out);
      ASSERT_NE(step, 0us) << "it has slept through what it waited for";
    }
  }
}

// Makes a receiver, has a thread wait on it, and destroys it.
void retire_one(Manager& manager) {
  auto receiver = std::make_unique<DatagramReceiver>(manager, 64);
  std::atomic<bool> over = false;
  std::thread waits([&over, raw = receiver.get()] {
    Datagram none;
    EXPECT_EQ(raw->receive(none, kPatience), Status::cancelled);
    over = true;
  });
  while (!waiting_in(manager) && !over) std::this_thread::yield();
  receiver.reset();
  waits.join();
}

TEST_F(Waiting, threads_take_each_message_of_a_flow_once) {
  with_both([](Managers& both) {
    Ear ear(both.receiver.interface(), both.sender.interface());
    Ear back(both.sender.interface(), both.receiver.interface(), 16);
    Taken taken(600), taken_back(300);
    const auto all = [&] { return taken.all() && taken_back.all(); };
    std::atomic<int> left = 0;
    std::vector<std::thread> threads;
    const auto start = [&](const std::function<void()>& work) {
      ++left;
      threads.emplace_back([&left, work] {
        work();
        --left;
      });
    };
    for (const auto step : {0us, 0us, 170us}) start([&, step] { hear_a_flow(ear, taken, step); });
    for (const auto step : {0us, 130us}) start([&, step] { hear_a_flow(back, taken_back, step); });
    start([&] {
      for (std::uint64_t word = 0; word < 300; ++word) back.speaker.say(word);  // it waits for places
    });
    start([&] {
      while (!all()) retire_one(both.receiver);
    });
    start([&] {
      for (std::uint64_t word = 0; word < 600; ++word) {
        ear.speaker.say(word);
        if (word % 16 == 0) eventually([&] { return taken.count() > word; });  // then all of them sleep
      }
    });
    const auto count = [&] { return taken.count() + taken_back.count(); };
    while (left != 0) {
      both.receiver.interface().cancel();
      if (all()) both.sender.interface().cancel();
      while (const auto polled = ear.queue.poll()) taken.take(polled->word);
      // The others are not to be cancelled all the time: one of them at least takes something in between.
      EXPECT_TRUE(eventually([&, before = count()] { return all() || count() != before; }))
          << "all of them sleep";
    }
    for (std::thread& thread : threads) thread.join();
    taken.expect_each_once();
    taken_back.expect_each_once();
  });
}

// A thread of one round: it waits once.
struct Waiter {
  enum class Kind { patient, hasty, let_go };
  Waiter(Managers& both, Ear& common, std::mt19937& random)
      : kind(static_cast<Kind>(random() % 3)),
        own(kind != Kind::patient || random() % 2 == 0
                ? std::make_unique<Ear>(both.receiver.interface(), both.sender.interface())
                : nullptr),
        ear(own != nullptr ? own.get() : &common),
        timeout(kind == Kind::hasty ? std::chrono::microseconds(random() % 4000)
                                    : std::chrono::nanoseconds{kPatience}) {}
  void start() {
    thread = std::thread([this] { end = ear->hear(word, timeout); });
  }

  Kind kind;
  std::unique_ptr<Ear> own;
  Ear* ear;
  std::chrono::nanoseconds timeout;
  std::uint64_t word = 0;
  Status end = Status::pending;
  std::thread thread;
};

// So many wait at once, and nobody comes back to make good what was lost: in any order somebody speaks to
// each, or lets it go, and somebody may poll in between.
void one_round(Managers& both, Ear& common, bool one_host, std::mt19937& random) {
  using Kind = Waiter::Kind;
  constexpr std::size_t kWaiters = 4;
  std::vector<std::unique_ptr<Waiter>> waiters;
  std::vector<std::size_t> turns;
  for (std::size_t i = 0; i < kWaiters; ++i) {
    waiters.push_back(std::make_unique<Waiter>(both, common, random));
    waiters[i]->start();
    turns.push_back(i);
  }
  // Sometimes all are asleep for long, sometimes some are on their way. (With links to other hosts they
  // relieve each other.)
  if (one_host && random() % 2 == 0) {
    const auto lasting = std::ranges::count_if(waiters, [](auto& each) { return each->kind != Kind::hasty; });
    if (lasting != 0) {
      EXPECT_TRUE(eventually(
          [&] { return sleep_in(both.receiver.interface(), static_cast<std::uint32_t>(lasting) - 1); }));
    }
  }
  std::ranges::shuffle(turns, random);
  std::vector<std::uint64_t> said, heard;
  for (const std::size_t turn : turns) {
    Waiter& waiter = *waiters[turn];
    if (random() % 4 == 0) {
      EXPECT_FALSE(both.receiver.queue().poll());
    }
    if (waiter.kind == Kind::let_go && random() % 2 == 0) {
      while (!waits_in(waiter.ear->queue)()) std::this_thread::yield();
      waiter.own.reset();
      waiter.thread.join();
      EXPECT_EQ(waiter.end, Status::cancelled);
      continue;
    }
    waiter.ear->speaker.say(turn);
    said.push_back(turn);
  }
  for (auto& waiter : waiters) {
    if (waiter->thread.joinable()) waiter->thread.join();
    if (waiter->end == Status::ok) heard.push_back(waiter->word);
    if (waiter->end != Status::timed_out) continue;
    EXPECT_EQ(waiter->kind, Kind::hasty) << "it has slept through what it waited for";
    EXPECT_EQ(waiter->ear->hear(waiter->word), Status::ok);  // it came too late, and is there
    heard.push_back(waiter->word);
  }
  std::ranges::sort(said);
  std::ranges::sort(heard);
  EXPECT_EQ(heard, said);
}

TEST_F(Waiting, threads_are_woken_whoever_ends_first) {
  with_both([one_host = nodes == nullptr](Managers& both) {
    Ear common(both.receiver.interface(), both.sender.interface());
    std::mt19937 random(1);
    for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round)
      one_round(both, common, one_host, random);
  });
}

// Each waits once in a round, as soon as it hears of it, and nobody comes back before the next: who is passed
// over while it lies down is missed.
TEST_F(Waiting, threads_that_lie_down_are_not_passed_over) {
  with_both([](Managers& both) {
    constexpr std::size_t kPair = 2;
    constexpr std::uint64_t kRounds = 3000;
    std::vector<std::unique_ptr<Ear>> ears;
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> round = 0, over = 0;
    for (std::size_t i = 0; i < kPair; ++i)
      ears.push_back(std::make_unique<Ear>(both.receiver.interface(), both.sender.interface()));
    for (std::size_t i = 0; i < kPair; ++i) {
      threads.emplace_back([&, i] {
        for (std::uint64_t mine = 1; mine <= kRounds; ++mine) {
          while (round < mine) std::this_thread::yield();
          std::uint64_t word = 0;
          EXPECT_EQ(ears[i]->hear(word), Status::ok);
          EXPECT_EQ(word, mine);
          ++over;
        }
      });
    }
    std::mt19937 random(1);
    for (std::uint64_t each = 1; each <= kRounds; ++each) {
      round = each;
      // They lie down one after the other, and meanwhile both are spoken to.
      for (auto rests = random() % 2000; rests != 0; --rests) base::pause();
      for (auto& ear : ears) ear->speaker.say(each);
      while (over != each * kPair) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
