// Records that a stream's sender has accepted leave, whatever its program does then: nobody calls it again.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "test/process/streams.h"

namespace hamlyn::test {
namespace {

// A sender in a process of its own, which does as it is told and calls nothing in between.
class StreamsLeftAlone : public Streams {
 protected:
  struct Work {
    unsigned records = 0;  // one behind the other; 0: go without a word
    std::size_t bytes = 0;
  };
  int send_as_told(Line& line, const StreamSender::Options& how) {
    Manager manager({.interface = other_options()});
    const std::optional<Seed> seed = line.take<Seed>();
    if (!seed) return 2;
    StreamSender sender{manager, *seed, how};
    line.put('o');
    for (unsigned sent = 0;;) {
      const std::optional<Work> work = line.take<Work>();
      if (!work) return 3;
      if (work->records == 0) return sender.close(kPatience) == Status::ok ? 0 : 4;
      for (unsigned i = 0; i != work->records; ++i) {
        if (sender.send(text_of_record(sent++, work->bytes)) != Status::ok) return 5;
      }
      line.put('s');
    }
  }
  // Runs `body(receiver, sending process)` in another process than the sender's.
  template <class Body>
  void with_sender(Body body, const StreamSender::Options& how = {}, const StreamOptions& room = {}) {
    Actor sends([&](Line& line) { return send_as_told(line, how); });
    Actor receives([&](Line&) {
      Manager manager({.interface = options()});
      StreamReceiver receiver{manager, room};
      sends.line().put(receiver.make_seed());
      Record record;
      while (!sends.line().take<char>(0ms)) EXPECT_EQ(receiver.receive(record, 1ms), Status::timed_out);
      body(receiver, sends);
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(receives.wait(), 0);
  }
  static void tell(Actor& sends, const Work& work) {
    ASSERT_TRUE(sends.line().put(work));
    ASSERT_TRUE(sends.line().take<char>());
  }
  static void expect_records(StreamReceiver& receiver, unsigned from, unsigned until, std::size_t bytes) {
    for (unsigned i = from; i != until; ++i) {
      Record record;
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok) << "record " << i << " never left";
      EXPECT_EQ(text_of(record.bytes()), text_of_record(i, bytes));
      EXPECT_EQ(receiver.release(record), Status::ok);
    }
  }
};

TEST_F(StreamsLeftAlone, deliver_each_record_of_a_program_that_waits_elsewhere) {
  with_sender([](StreamReceiver& receiver, Actor& sends) {
    for (unsigned i = 0; i != 5; ++i) {
      tell(sends, {1, 64});
      expect_records(receiver, i, i + 1, 64);
    }
  });
}

TEST_F(StreamsLeftAlone, deliver_what_was_put_together) {
  with_sender([](StreamReceiver& receiver, Actor& sends) {
    unsigned sent = 0;
    for (const unsigned records : {2u, 7u, 100u, 300u}) {
      tell(sends, {records, 64});
      expect_records(receiver, sent, sent + records, 64);
      sent += records;
    }
  });
}

TEST_F(StreamsLeftAlone, deliver_what_had_left_though_their_sender_is_killed) {
  with_sender([](StreamReceiver& receiver, Actor& sends) {
    tell(sends, {20, 64});
    expect_records(receiver, 0, 20, 64);
    tell(sends, {1, 64});
    expect_records(receiver, 20, 21, 64);
    sends.signal(SIGKILL);
    Record record;
    EXPECT_EQ(receiver.receive(record, kPatience), Status::link_ended);
  });
}

// Between nodes, too: a flush hands to the host what would else wait for company in the process that dies.
TEST_F(Streams, what_was_flushed_arrives_though_its_sender_dies_at_once) {
  constexpr unsigned kRecords = 20;
  Actor dies([&](Line& line) {
    Manager manager({.interface = other_options()});
    const auto seed = line.take<Seed>();
    StreamSender sender{manager, *seed};
    for (unsigned i = 0; i < kRecords; ++i) {
      if (sender.send(std::to_string(i)) != Status::ok || sender.flush() != Status::ok) return 91;
    }
    raise(SIGKILL);
    return 92;
  });
  in_child([&] {
    Manager manager({.interface = options()});
    StreamReceiver receiver{manager};
    dies.line().put(receiver.make_seed());
    Record record;
    for (unsigned i = 0; i < kRecords; ++i) {
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok) << i;
      EXPECT_EQ(record.text(), std::to_string(i));
    }
    EXPECT_EQ(receiver.receive(record, kPatience), Status::link_ended);
  });
}

// The receiver's memory has no room for the last that are put together, when they are accepted. Their sender
// hears of room only by an arrival that nobody takes there.
TEST_F(StreamsLeftAlone, deliver_what_found_no_room) {
  constexpr unsigned kRecords = 17;  // of 1000 bytes: more than the ring has, by less than a batch
  with_sender(
      [](StreamReceiver& receiver, Actor& sends) {
        tell(sends, {kRecords, 1000});
        expect_records(receiver, 0, kRecords, 1000);
      },
      {}, {.first = 16384, .most = 16384});
}

TEST_F(StreamsLeftAlone, keep_what_is_to_leave_only_on_flush) {
  with_sender(
      [](StreamReceiver& receiver, Actor& sends) {
        tell(sends, {3, 64});
        Record record;
        EXPECT_EQ(receiver.receive(record, 20ms), Status::timed_out) << "it has left all the same";
        ASSERT_TRUE(sends.line().put(Work{}));
        expect_records(receiver, 0, 3, 64);
        EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
      },
      {.linger = StreamSender::kOnlyOnFlush});
}

TEST_F(StreamsLeftAlone, send_each_record_by_itself_when_none_may_linger) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed(), {.linger = 0ns});
    const auto packets = [&] {
      library::Engine& engine = both.sender.interface().engine();
      const base::RunLockGuard guard(engine.lock());
      return engine.core().find_link(both.receiver.interface().id())->counters->packets_out;
    };
    // The first finds out where there is room.
    ASSERT_EQ(sender->send("first"), Status::ok);
    Record record;
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    const std::uint64_t before = packets();
    for (unsigned i = 0; i != 3; ++i) ASSERT_EQ(sender->send("one"), Status::ok);
    EXPECT_EQ(packets() - before, 3);
  });
}

TEST_F(StreamsLeftAlone, linger_no_longer_than_may_be) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    for (const std::chrono::nanoseconds linger :
         {std::chrono::nanoseconds{-1}, std::chrono::nanoseconds{1s} + 1ns})
      EXPECT_EQ(thrown_by([&] { StreamSender(both.sender, seed, {.linger = linger}); }),
                ErrorCode::invalid_argument);
  });
}

}  // namespace
}  // namespace hamlyn::test
