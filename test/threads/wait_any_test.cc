// A thread waits for any of several things: of a receiver, of a sender, of the program's own. Whichever
// comes first ends the wait, whoever has brought it.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/protocols/tagged_write.h"
#include "library/engine.h"
#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

template <class Ready>
concept WaitedFor = requires(Interface& interface, Ready ready) {
  interface.wait_any(ready, 1s);
};
static_assert(WaitedFor<bool (*)()> && WaitedFor<std::function<bool()>>);
// A status is no answer: ok is 0, and what it says of "not yet" differs from call to call.
static_assert(!WaitedFor<Status (*)()> && !WaitedFor<int (*)()> && !WaitedFor<bool (*)(int)> &&
              !WaitedFor<bool>);

bool readable(int descriptor, std::chrono::milliseconds within) {
  pollfd wait{descriptor, POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(within.count())) == 1;
}

class WaitAny : public WithManagers {};

// Every message of a stream and of a tagged write is taken, whatever comes first, by a thread that sleeps by
// `wait_any` or in poll(2).
void take_all(Managers& both, bool by_descriptor) {
  constexpr std::uint64_t kRounds = 500;
  TaggedReceiver tags(both.receiver, 64);
  StreamReceiver stream(both.receiver);
  const Seed seed = stream.make_seed();
  std::thread other([&] {
    TaggedSender tag(both.sender, tags.make_seed(), kPatience);
    StreamSender record(both.sender, seed);
    for (std::uint64_t i = 0; i != kRounds; ++i) {
      ASSERT_EQ(i % 3 == 0 ? tag.send({}, 0, i, kPatience) : record.send(bytes_of("record"), kPatience),
                Status::ok);
      for (auto rests = i * 7919 % 2000; rests != 0; --rests) base::pause();
    }
    ASSERT_EQ(record.close(kPatience), Status::ok);
  });
  std::uint64_t tagged = 0, records = 0;
  bool closed = false;
  const auto any = [&] {
    Tagged write;
    Record record;
    if (tags.get_tag(write, 0s) == Status::ok) return ++tagged != 0;
    const Status status = stream.receive(record, 0s);
    closed = status == Status::closed;
    if (status != Status::ok) return closed;
    EXPECT_EQ(stream.release(record), Status::ok);
    return ++records != 0;
  };
  Interface& interface = both.receiver.interface();
  while (!closed || tagged + records != kRounds) {
    const Status status = interface.wait_any(any, by_descriptor ? 0s : kPatience);
    if (status == Status::ok) continue;
    ASSERT_EQ(status, Status::timed_out);
    ASSERT_TRUE(by_descriptor && readable(interface.descriptor(), kPatience))
        << "it has slept through what it waited for: " << tagged << " and " << records;
  }
  other.join();
}

TEST_F(WaitAny, takes_whatever_comes) {
  with_both([](Managers& both) { take_all(both, false); });
}

TEST_F(WaitAny, takes_whatever_comes_as_the_descriptor_tells) {
  with_both([](Managers& both) { take_all(both, true); });
}

TEST_F(WaitAny, hears_of_room) {
  with_both([](Managers& both) {
    TaggedReceiver tags(both.receiver, 64, {.places = 1});
    TaggedSender tag(both.sender, tags.make_seed(), kPatience);
    ASSERT_EQ(tag.send({}, 0, 1, kPatience), Status::ok);
    std::thread other([&] {
      Tagged write;
      for (int i = 0; i != 200; ++i) ASSERT_EQ(tags.get_tag(write, kPatience), Status::ok) << i;
    });
    for (std::uint64_t i = 1; i != 200; ++i) {
      const auto sent = [&] { return tag.send({}, 0, i, 0s) == Status::ok; };
      ASSERT_EQ(both.sender.interface().wait_any(sent, kPatience), Status::ok) << i;
    }
    other.join();
  });
}

// The program's own state, under a mutex of its own.
TEST_F(WaitAny, hears_of_what_another_thread_has_changed) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    std::mutex mutex;
    int turn = 0;
    std::array<std::thread, 3> threads;
    for (int number = 0; number != 3; ++number) {
      threads[static_cast<std::size_t>(number)] = std::thread([&, number] {
        const auto ours = [&] {
          const std::lock_guard guard(mutex);
          return turn % 3 == number;
        };
        for (int round = 0; round != 300; ++round) {
          ASSERT_EQ(interface.wait_any(ours, kPatience), Status::ok) << "it has slept through its turn";
          {
            const std::lock_guard guard(mutex);
            ++turn;
          }
          interface.changed();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(turn, 900);
  });
}

// Two threads whose looks poll do not keep each other awake: of a wait in which nothing happens they look a
// few times, though each finds the other asleep.
TEST_F(WaitAny, looks_again_only_when_something_has_changed) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    DatagramReceiver door(both.receiver, 64);
    std::atomic<int> looks = 0, over = 0;
    const auto wait = [&] {
      Datagram datagram;
      const auto never = [&] {
        ++looks;
        return door.receive(datagram, 0s) != Status::timed_out;
      };
      EXPECT_EQ(interface.wait_any(never, 50ms), Status::timed_out);
      ++over;
    };
    std::thread one(wait), other(wait);
    one.join();
    other.join();
    EXPECT_EQ(over, 2);
    EXPECT_LT(looks, 100) << "they kept each other awake";
  });
}

TEST_F(WaitAny, ends_when_time_is_over_or_it_is_cancelled) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    int looks = 0;
    const auto never = [&] { return ++looks == 0; };
    EXPECT_EQ(interface.wait_any(never, 0s), Status::timed_out);
    EXPECT_EQ(interface.wait_any(never, -1s), Status::timed_out);
    EXPECT_EQ(interface.wait_any(never, 1ms), Status::timed_out);
    EXPECT_GE(looks, 3);
    std::thread other([&] {
      while (!interface.engine().somebody_waits()) std::this_thread::yield();
      interface.cancel();
    });
    EXPECT_EQ(interface.wait_any(never, kPatience), Status::cancelled);
    other.join();
    EXPECT_EQ(interface.wait_any([] { return true; }, kPatience), Status::ok);
  });
}

TEST_F(WaitAny, passes_on_what_a_look_throws) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    int looks = 0;
    const auto throws = [&]() -> bool {
      if (++looks == 2) throw std::runtime_error("ours");  // it counts as one that waits then
      return false;
    };
    EXPECT_THROW(static_cast<void>(interface.wait_any(throws, kPatience)), std::runtime_error);
    EXPECT_FALSE(interface.engine().somebody_waits()) << "it counts as one that waits for ever";
  });
}

TEST_F(WaitAny, is_refused_inside_process_arrival_and_in_a_forked_child) {
  with_both([](Managers& both) {
    std::optional<Status> inside, look;
    OwnReceiver waits{both.receiver, [&](const Notification&) {
                        inside = both.receiver.interface().wait_any([] { return false; }, kPatience);
                        look = both.receiver.interface().wait_any([] { return false; }, 0s);
                      }};
    Terminus terminus{both.sender.interface()};
    ASSERT_EQ(terminus.wait_for_place(waits.ticket(), kPatience), Status::ok);
    ASSERT_EQ(terminus.send_fast(waits.ticket(), {}), Status::ok);
    EXPECT_EQ(both.receiver.wait(kPatience), Status::ok);
    EXPECT_EQ(inside, Status::invalid);
    EXPECT_EQ(look, Status::timed_out);
    const pid_t child = ::fork();
    if (child == 0) {
      Interface& interface = both.receiver.interface();
      const bool forked = interface.wait_any([] { return true; }, kPatience) == Status::forked;
      const bool thrown = thrown_by([&] { (void)interface.descriptor(); }) == ErrorCode::forked;
      ::_exit(forked && thrown ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

// The control thread hears of that, which has no descriptors of the process.
TEST_F(WaitAny, has_its_descriptor_tell_of_a_daemon_that_has_gone) {
  Actor child([&](Line& line) {
    Interface interface(options());
    const int descriptor = interface.descriptor();
    const auto detached = [&] { return !interface.attachment().attached; };
    EXPECT_EQ(interface.wait_any(detached, 0s), Status::timed_out);
    line.put('r');
    while (interface.wait_any(detached, 0s) != Status::ok && !HasFailure())
      EXPECT_TRUE(readable(descriptor, kPatience)) << "nothing was told";
    return HasFailure() ? 1 : 0;
  });
  ASSERT_TRUE(child.line().take<char>());
  daemon_.kill();
  EXPECT_EQ(child.wait(), 0);
}

// Whatever changes before the last look is seen by it, whatever changes later is told.
TEST_F(WaitAny, has_its_descriptor_tell_once) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    const int descriptor = interface.descriptor();
    EXPECT_TRUE(readable(descriptor, 0ms)) << "nobody has looked yet";
    EXPECT_EQ(interface.descriptor(), descriptor);
    EXPECT_EQ(interface.wait_any([] { return false; }, 0s), Status::timed_out);
    EXPECT_FALSE(readable(descriptor, 0ms));
    interface.changed();
    EXPECT_TRUE(readable(descriptor, 0ms));
    EXPECT_FALSE(interface.engine().somebody_waits()) << "it tells once";
    bool seen = false;
    const auto changes_behind_the_first_look = [&] {
      if (!seen) interface.changed();
      return std::exchange(seen, true);
    };
    EXPECT_EQ(interface.wait_any(changes_behind_the_first_look, 0s), Status::ok);
    ::close(descriptor);  // a program may
    EXPECT_EQ(interface.wait_any([] { return false; }, 0s), Status::timed_out);
    interface.changed();
    EXPECT_TRUE(readable(interface.descriptor(), 0ms)) << "a new one is made";
  });
}

}  // namespace
}  // namespace hamlyn::test
