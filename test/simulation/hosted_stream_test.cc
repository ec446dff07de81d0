// Streams, whole, between processes of a simulated host.
#include <algorithm>
#include <array>
#include <functional>

#include "hamlyn/core/send_buffer_area.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/loan.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/protocols/tagged_write.h"
#include "library/setting.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

TEST(HostedStreams, are_opened_once_refused_closed_and_offered_again) {
  class Picky final : public StreamReceiver {
   public:
    using StreamReceiver::StreamReceiver;
    ~Picky() override { retire(); }
    bool wants = false;

   private:
    bool admit(std::uint64_t) noexcept override { return wants; }
  };
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    Picky receiver(manager);
    manager.publish("first", receiver.make_seed());
    Record record;
    all.expect(receiver.receive(record, 3ms) == Status::timed_out, "somebody was let in");
    receiver.wants = true;
    for (int i = 1; i <= 3; ++i) {
      all.expect(receiver.receive(record, 1s) == Status::ok, "no record");
      all.expect(record.text() == std::string(static_cast<std::size_t>(i), 'x'), "another record");
      all.expect(receiver.release(record) == Status::ok, "it cannot be released");
    }
    all.expect(code_of([&] { static_cast<void>(receiver.make_seed()); }) == ErrorCode::invalid_argument,
               "two senders at once");
    all.expect(receiver.receive(record, 1s) == Status::closed, "it is not closed");
    manager.publish("second", receiver.make_seed());
    all.expect(receiver.receive(record, 1s) == Status::ok, "no record of the second");
    all.expect(receiver.close(1s) == Status::ok, "it cannot be closed from here");
    manager.publish("third", receiver.make_seed());
    const Status end = receiver.receive(record, 1s);
    EXPECT_EQ(end, Status::abandoned);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const Seed seed = manager.lookup("first", 1s);
    all.expect(code_of([&] { StreamSender(manager, seed); }) == ErrorCode::peer_refused, "it is let in");
    all.host.pause(5'000'000);
    StreamSender sender(manager, seed);
    all.expect(code_of([&] { StreamSender(manager, seed); }) == ErrorCode::seed_used, "a seed serves twice");
    for (const auto* text : {"x", "xx", "xxx"}) all.expect(sender.send(text) == Status::ok, "it is not sent");
    all.expect(sender.flush() == Status::ok, "it is not flushed");
    all.host.pause(1'000'000);
    all.expect(sender.close() == Status::ok, "it is not closed");
    const Seed next = manager.lookup("second", 1s);
    all.expect(code_of([&] { StreamSender(manager, seed); }) == ErrorCode::seed_forged, "an old seed serves");
    StreamSender second(manager, next);
    Status status = Status::ok;
    while (status == Status::ok) status = second.send(std::vector<std::byte>(200), 1s);
    all.expect(status == Status::closed && second.end() == Status::closed, "it is not told");
    {
      StreamSender third(manager, manager.lookup("third", 1s));
      all.expect(third.send("never read") == Status::ok, "it is not sent");
    }
    static_cast<void>(manager.wait(1ms));  // who leaves at once has no time for a last word
  });
  hosted.run();
}

TEST(HostedStreams, gather_no_more_than_their_receiver_has_memory_for) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager, {.first = 64, .most = 1024, .parcels = 4});
    manager.publish("s", receiver.make_seed());
    int count = 0;
    for (const Record& record : receiver) count += static_cast<int>(record.bytes().size());
    all.expect(count == 20'000 + 1024, "records are lost");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s), {.together = 8192});
    for (int i = 0; i < 200; ++i)
      all.expect(sender.send(std::vector<std::byte>(100), 1s) == Status::ok, "it is not sent");
    all.expect(sender.send(std::vector<std::byte>(1024), 1s) == Status::ok, "the longest is not sent");
    all.expect(sender.send(std::vector<std::byte>(1025), 1s) == Status::too_long, "there is a longer one");
    all.expect(sender.close(1s) == Status::ok, "it is not closed");
  });
  hosted.run();
}

// A program says something by a stream, which leaves when it is flushed or when its thread waits, waits in
// that way, and computes from then on.
void expect_to_leave_before(const std::function<void(Hosted&, Manager&)>& wait,
                            const std::function<void(Hosted&, Manager&)>& answer) {
  Hosted hosted;
  hosted.add([&](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    DatagramReceiver other(manager, 64);
    manager.publish("other", other.make_seed());
    manager.publish("s", receiver.make_seed());
    Record record;
    const Status status = receiver.receive(record, 100ms);
    all.expect(status == Status::ok, "what was put together has not left");
    answer(all, manager);
  });
  hosted.add([&](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s), {.linger = StreamSender::kOnlyOnFlush});
    all.expect(sender.send("here") == Status::ok, "not sent");
    wait(all, manager);
    all.host.pause(1'000 * kMillisecond);
    static_cast<void>(sender.close(1s));
  });
  hosted.run();
}

TEST(HostedStreams, leave_before_a_wait_for_a_loan) {
  const auto nothing = [](Hosted&, Manager&) {};
  for (const auto timeout : {0ms, 5ms}) {
    const auto wait = [&](Hosted& all, Manager& manager) {
      LoanReceiver loans(manager);
      static_cast<void>(loans.make_seed());
      Borrowed none;
      all.expect(loans.receive(none, timeout) == Status::timed_out, "somebody lends something");
    };
    expect_to_leave_before(wait, nothing);
  }
}

TEST(HostedStreams, leave_before_a_datagram_is_delivered) {
  const auto nothing = [](Hosted&, Manager&) {};
  const auto wait = [](Hosted& all, Manager& manager) {
    DatagramSender other(manager, manager.lookup("other", 1s));
    all.expect(other.deliver(bytes_of("there"), 1s) == Status::ok, "not delivered");
  };
  expect_to_leave_before(wait, nothing);
}

TEST(HostedStreams, leave_before_a_name_is_waited_for) {
  const auto wait = [](Hosted&, Manager& manager) { static_cast<void>(manager.lookup("answer", 1s)); };
  const auto answer = [](Hosted& all, Manager& manager) {
    StreamReceiver receiver(manager);
    manager.publish("answer", receiver.make_seed());
    all.host.pause(2'000 * kMillisecond);
  };
  expect_to_leave_before(wait, answer);
}

// The record is put together by a look, and not before the wait.
TEST(HostedStreams, leave_before_each_sleep_of_a_wait_for_any_of_several) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("s", receiver.make_seed());
    Record record;
    all.expect(receiver.receive(record, 300ms) == Status::ok, "what a look has put together has not left");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s), {.linger = StreamSender::kOnlyOnFlush});
    int looks = 0;
    const auto says_something = [&] {
      if (++looks == 2) all.expect(sender.send("here") == Status::ok, "not sent");
      return false;
    };
    const Status status = manager.interface().wait_any(says_something, 500ms);
    all.expect(looks > 1 && status == Status::timed_out, "it has not waited");
  });
  hosted.run();
}

// How long the last records waited, in virtual time, that their sender has put together before it computes.
std::chrono::nanoseconds left_alone(std::chrono::nanoseconds linger, int batches) {
  constexpr int kLast = 3;
  Hosted hosted;
  std::chrono::nanoseconds longest{0};
  library::Clock::time_point sent;
  hosted.add([&](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("s", receiver.make_seed());
    int last = 0;
    for (const Record& record : receiver) {
      if (record.text() != "last") continue;
      longest = std::max<std::chrono::nanoseconds>(longest, library::Clock::now() - sent);
      ++last;
    }
    all.expect(last == kLast, "records are lost");
  });
  hosted.add([&](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s), {.linger = linger});
    const auto send = [&](const std::string& text, int times) {
      for (int i = 0; i < times; ++i) all.expect(sender.send(bytes_of(text), 1s) == Status::ok, "not sent");
    };
    for (int i = 0; i < batches; ++i) {  // as large as batches get, and closer to each other than the looks
      send(std::string(1000, 'x'), 9);
      all.host.pause(10'000);
    }
    sent = library::Clock::now();
    send("last", kLast);
    all.host.pause(100 * kMillisecond);
    all.expect(longest != 0ns, "the last have not left by themselves");
    all.expect(sender.close(1s) == Status::ok, "not closed");
  });
  hosted.run();
  return longest;
}

// An allowance for what wakes the thread and brings the packet, each of a microsecond here.
constexpr std::chrono::nanoseconds kOnTheWay = 10us;

TEST(HostedStreams, leave_by_themselves_within_twice_the_time_that_they_linger) {
  EXPECT_LE(left_alone(50us, 0), 100us + kOnTheWay);
  EXPECT_LE(left_alone(400us, 0), 800us + kOnTheWay);
}

TEST(HostedStreams, leave_by_themselves_within_sixteen_times_it_behind_many_batches) {
  for (const int batches : {1, 10, 100, 101, 107, 150})
    EXPECT_LE(left_alone(50us, batches), 800us + kOnTheWay) << batches;
}

// A batch is on its way that takes long; its receiver closes, and its sender goes before all of it has left.
TEST(HostedStreams, are_closed_by_their_receiver_though_the_last_batch_never_comes) {
  Hosted hosted({.least_delay = 50'000, .most_delay = 50'000, .mtu = 128, .window = 2});
  hosted.add([](Hosted&) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("s", receiver.make_seed());
    Record record;
    EXPECT_EQ(receiver.receive(record, 1s), Status::ok);
    const Status closed = receiver.close(1s);
    EXPECT_EQ(closed, Status::ok) << name(closed);
    const Status end = receiver.receive(record, 1s);
    EXPECT_EQ(end, Status::closed) << name(end);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    {
      StreamSender sender(manager, manager.lookup("s", 1s));
      all.expect(sender.send(std::vector<std::byte>(100)) == Status::ok, "not sent");
      all.expect(sender.flush(1s) == Status::ok, "not flushed");
      for (int i = 0; i < 60; ++i)
        all.expect(sender.send(std::vector<std::byte>(100)) == Status::ok, "not sent");
      Status flushed = sender.flush(0s);
      all.expect(flushed == Status::timed_out, "the batch has left at once");
      while ((flushed = sender.flush(0s)) == Status::timed_out) static_cast<void>(manager.wait(10us));
      all.expect(flushed == Status::closed, name(flushed));
    }
    static_cast<void>(manager.wait(5ms));
  });
  hosted.run();
}

// What the sender has to say finds no room, and its application computes from then on.
TEST(HostedStreams, are_closed_by_their_receiver_though_their_sender_only_flushes) {
  for (const bool closes : {false, true}) {
    Hosted hosted({.least_delay = 50'000, .most_delay = 50'000, .mtu = 128, .window = 2});
    hosted.add([](Hosted&) {
      Manager manager;
      TaggedReceiver other(manager, 64);
      StreamReceiver receiver(manager);
      manager.publish("other", other.make_seed());
      manager.publish("s", receiver.make_seed());
      Record record;
      EXPECT_EQ(receiver.receive(record, 1s), Status::ok);
      const Status closed = receiver.close(100ms);
      EXPECT_EQ(closed, Status::ok) << name(closed);
    });
    hosted.add([closes](Hosted& all) {
      Manager manager;
      TaggedSender other(manager, manager.lookup("other", 1s));
      StreamSender sender(manager, manager.lookup("s", 1s), {.linger = StreamSender::kOnlyOnFlush});
      all.expect(sender.send("first") == Status::ok && sender.flush(1s) == Status::ok, "not sent");
      all.host.pause(5'000'000);
      for (int i = 0; i < 8; ++i)
        all.expect(sender.send(std::vector<std::byte>(100)) == Status::ok, "not gathered");
      while (other.send(bytes_of("x"), 0, 1) == Status::ok) {
      }
      const Status status = closes ? sender.close(1s) : sender.flush(1s);
      all.expect(status == Status::closed, name(status));
      all.host.pause(1'000'000'000);
    });
    hosted.run();
  }
}

// Of two records out of an area the second has not left when the area goes.
TEST(HostedStreams, tell_who_closes_that_an_area_has_gone) {
  Hosted hosted({.least_delay = 50'000, .most_delay = 50'000, .mtu = 128, .window = 2});
  hosted.add([](Hosted&) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("s", receiver.make_seed());
    Record record;
    Status status = Status::ok;
    while (status == Status::ok) status = receiver.receive(record, 1s);
    EXPECT_EQ(status, Status::abandoned) << name(status);
    static_cast<void>(manager.wait(100ms));
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s));
    SendHandle handle;
    {
      SendBufferArea area(manager.interface(), 8192);
      all.expect(sender.bind(0, area) == Status::ok, "it cannot be bound");
      for (const std::size_t at : {std::size_t{0}, std::size_t{4096}})
        all.expect(sender.send({0, at, 4000}, handle) == Status::ok, "it is not sent");
    }
    Status status = sender.close(10ms);
    for (int i = 0; i < 20 && status == Status::timed_out; ++i) status = sender.close(10ms);
    all.expect(status == Status::abandoned, name(status));
  });
  hosted.run();
}

// What a receiver that closes still waits to hear is not worth waiting for when it has died since.
TEST(HostedStreams, do_not_hold_up_who_sends_to_a_receiver_that_has_closed_and_died) {
  Hosted hosted;
  hosted.kill(1, 20 * kMillisecond);
  hosted.add([](Hosted&) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("s", receiver.make_seed());
    Record record;
    EXPECT_EQ(receiver.receive(record, 1s), Status::ok);
    EXPECT_EQ(receiver.close(0s), Status::timed_out);
    static_cast<void>(manager.wait(1s));
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s));
    all.expect(sender.send("first") == Status::ok && sender.flush(1s) == Status::ok, "not sent");
    all.host.pause(50 * kMillisecond);
    const auto before = all.host.now();
    const Status status = sender.send(std::vector<std::byte>(5000), 1ms);
    all.expect(status == Status::closed, name(status));
    all.expect(all.host.now() - before < 10ms, "it waits for the dead");
  });
  hosted.run();
}

// The receiver says several times where its longer memory is, and the words overtake one another.
// Its sender went on in longer memory meanwhile, so that nothing else needs the first.
TEST(HostedStreams, keep_what_was_received_until_it_is_released_though_their_receiver_has_closed) {
  const std::string first(40, 'x'), second(30000, 'y');
  for (const bool as_bytes : {false, true}) {
    SCOPED_TRACE(as_bytes);
    Hosted hosted;
    hosted.add([&](Hosted& all) {
      Manager manager;
      StreamReceiver receiver(manager, {.first = 256, .most = 65536, .parcels = 8});
      manager.publish("stream", receiver.make_seed());
      Record record, longer;
      std::array<std::byte, 20> some;
      std::size_t count = 0;
      if (as_bytes) {
        all.expect(receiver.read(some, count, 1s) == Status::ok && count == 20, "no bytes");
      } else {
        all.expect(receiver.receive(record, 1s) == Status::ok, "no record");
        all.expect(receiver.receive(longer, 1s) == Status::ok, "no second record");
      }
      for (int i = 0; i != 20; ++i) static_cast<void>(manager.wait(100us));
      all.expect(receiver.close(1s) == Status::ok, "it cannot be closed from here");
      if (as_bytes) {
        all.expect(receiver.read(some, count, 0s) == Status::ok && text_of(some) == std::string(20, 'x'),
                   "the rest of what it had begun to read is not there");
        all.expect(receiver.read(some, count, 0s) == Status::closed && count == 0, "more can be read");
      } else {
        all.expect(record.text() == first && longer.text() == second, "they have gone");
        all.expect(receiver.release(longer) == Status::ok, "they cannot be released");
      }
    });
    hosted.add([&](Hosted& all) {
      Manager manager;
      StreamSender sender(manager, manager.lookup("stream", 1s));
      all.expect(sender.send(first) == Status::ok && sender.flush() == Status::ok, "it is not sent");
      all.expect(sender.send(second) == Status::ok && sender.flush() == Status::ok, "it is not sent");
      all.host.pause(5'000'000);
      all.expect(sender.close(1s) == Status::closed, "it is not told");
    });
    hosted.run();
  }
}

// A short record out of an area has left when the long one before it is still to be copied.
TEST(HostedStreams, are_flushed_when_all_is_copied_that_stands_in_an_area) {
  constexpr std::size_t kLong = 8192;
  Hosted hosted({.least_delay = 200'000, .most_delay = 200'000, .window = 2});
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    manager.publish("stream", receiver.make_seed());
    for (const char each : {'0', '1', '2', '3'}) {
      Record record;
      all.expect(receiver.receive(record, 1s) == Status::ok, "no record");
      all.expect(record.text() == std::string(each == '3' ? 100 : kLong, each), "another record");
      static_cast<void>(receiver.release(record));
    }
    Record record;
    all.expect(receiver.receive(record, 1s) == Status::closed, "it is not closed");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    SendBufferArea area(manager.interface(), 4 * kLong);
    StreamSender sender(manager, manager.lookup("stream", 1s));
    all.expect(sender.bind(0, area) == Status::ok, "it cannot be bound");
    const auto send = [&](char each, std::size_t bytes) {
      const std::size_t at = static_cast<std::size_t>(each - '0') * kLong;
      std::ranges::fill(area.bytes(at, bytes), static_cast<std::byte>(each));
      SendHandle handle;
      all.expect(sender.send({0, at, bytes}, handle) == Status::ok, "it is not sent");
    };
    send('0', kLong);
    all.expect(sender.flush() == Status::ok, "it is not flushed");
    all.host.pause(kMillisecond);  // from here on the area is shown
    send('1', kLong);
    all.host.pause(kMillisecond / 10);
    send('2', kLong);
    send('3', 100);
    all.expect(sender.flush() == Status::ok, "it is not flushed");
    std::ranges::fill(area.bytes(), std::byte{0xEE});
    all.expect(sender.close() == Status::ok, "it is not closed");
  });
  hosted.run();
}

TEST(HostedStreams, go_on_in_the_longest_memory_whatever_overtakes_what) {
  for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted({.least_delay = 1000, .most_delay = 100'000}, seed);
    hosted.add([](Hosted& all) {
      Manager manager;
      StreamReceiver receiver(manager, {.first = 64, .most = 65536, .parcels = 8});
      manager.publish("s", receiver.make_seed());
      std::size_t count = 0;
      for (const Record& record : receiver) count += record.bytes().size();
      all.expect(count == 9001, "it is lost");
    });
    hosted.add([](Hosted& all) {
      Manager manager;
      StreamSender sender(manager, manager.lookup("s", 1s));
      all.expect(sender.send("x") == Status::ok && sender.flush(1s) == Status::ok, "it is not sent");
      for (const std::size_t bytes : {1100u, 2100u, 4100u, 8200u})
        all.expect(sender.send(std::vector<std::byte>(bytes), 0s) == Status::timed_out, "there was room");
      all.host.pause(1'000'000);  // it looks when all of them are there
      all.expect(sender.send(std::vector<std::byte>(9000), 10s) == Status::ok, "it waits for ever");
      all.expect(sender.close(10s) == Status::ok, "it cannot be closed");
    });
    hosted.run();
  }
}

// It has come with the seed that was, and nobody has looked at it when the next is made.
TEST(HostedStreams, take_nobody_for_one_who_comes_with_another_seed) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    { const DatagramReceiver before(manager, 64); }
    manager.publish("s", receiver.make_seed());
    all.host.pause(3'000'000);
    const DatagramReceiver again(manager, 64);  // has its slot's number: what has come is looked through
    all.expect(code_of([&] { static_cast<void>(receiver.make_seed()); }) == ErrorCode::invalid_argument,
               "two senders at once");
    Record record;
    all.expect(receiver.receive(record, 1s) == Status::ok, "no record");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s));
    all.expect(sender.send("x") == Status::ok && sender.flush() == Status::ok, "it is not sent");
    all.host.pause(1'000'000);
  });
  hosted.run();
}

void send_a_stream(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager, {.first = 1024, .most = 4096, .parcels = 4});
    manager.publish("s", receiver.make_seed());
    std::size_t count = 0;
    for (;;) {
      Record record;
      const Status status = receiver.receive(record, 1s);
      if (status == Status::ok) {
        all.expect(record.bytes().size() == 500 && record.number() == ++count, "another record");
        static_cast<void>(receiver.release(record));
        continue;
      }
      if (status == Status::closed) return all.expect(count == 20, "records of a closed stream are lost");
      const bool never_came = status == Status::timed_out && receiver.sender() == 0;
      return all.expect(!all.alive(2) && (never_came || status != Status::timed_out),
                        "nobody tells of the death");
    }
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::optional<Seed> seed = seed_of(manager, "s");
    if (!seed) return all.expect(!all.alive(1), "no seed");
    try {
      StreamSender sender(manager, *seed);
      Status status = Status::ok;
      for (int i = 0; i < 20 && status == Status::ok; ++i)
        status = sender.send(std::vector<std::byte>(500), 1s);
      if (status == Status::ok) status = sender.close(1s);
      all.expect(status != Status::timed_out, "nobody tells of the death");
      all.expect(status == Status::ok || !all.alive(1), "it cannot be sent");
    } catch (const Error& error) {
      all.expect(!all.alive(1) && error.code() != ErrorCode::timed_out, "it cannot be opened");
    }
  });
}
TEST(HostedStreams, tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, send_a_stream);
}
TEST(HostedStreams, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, send_a_stream);
}

}  // namespace
}  // namespace hamlyn::test
