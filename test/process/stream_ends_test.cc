// How streams end: by a word, without one, and by the death of either side at any instant.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "test/process/streams.h"

namespace hamlyn::test {
namespace {

class StreamsLeft : public Streams {
 protected:
  void flush_and_go(std::size_t together);
};

TEST_F(Streams, a_receiver_closes_and_the_sender_is_told) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed());
    std::atomic<bool> over = false;
    std::thread sends([&] {
      Status status = Status::ok;
      while (status == Status::ok) status = sender->send(std::string(1500, 'x'));
      EXPECT_EQ(status, Status::closed);
      over = true;
    });
    Record record;
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(receiver.release(record), Status::ok);
    }
    EXPECT_EQ(receiver.close(kPatience), Status::ok);
    EXPECT_EQ(receiver.receive(record, 0ns), Status::closed);
    sends.join();
    EXPECT_EQ(sender->close(), Status::closed) << "the receiver may not have had everything";
  });
}

// What the sender has to say then finds no room, and whoever has flushed or closed may never call us again.
TEST_F(Streams, a_receiver_that_closes_hears_the_end_though_its_sender_only_flushes) {
  NEEDS_TWO("the sender goes on while the receiver is held");
  for (const bool closes : {false, true}) {
    with_both([closes](Managers& both) {
      StreamReceiver receiver{both.receiver};
      const auto sender = grow(both, receiver.make_seed(), {.linger = StreamSender::kOnlyOnFlush});
      MessageArea area{both.receiver.interface(), std::size_t{4} << 20};
      NotificationQueue queue{both.receiver.interface()};
      Slot other{area, queue, {.entries = 1}};
      Terminus fills{both.sender.interface()};
      const std::vector<std::byte> long_one(area.bytes().size());
      const Ticket there = other.ticket(0);  // not under the lock, which it takes itself
      SendHandle handle;
      ASSERT_EQ(sender->send("never taken"), Status::ok);
      EXPECT_EQ(receiver.close(0ns), Status::timed_out) << "its sender has not heard of it";
      {
        const base::RunLockGuard nobody_takes(both.receiver.interface().engine().lock());
        ASSERT_EQ(fills.send(there, long_one, {}, &handle), Status::pending);
        EXPECT_EQ(closes ? sender->close(kPatience) : sender->flush(kPatience), Status::closed);
      }
      EXPECT_EQ(receiver.close(kPatience), Status::ok);
      EXPECT_EQ(fills.wait(handle, kPatience), Status::ok);
    });
  }
}

TEST_F(Streams, a_send_that_is_cancelled_in_the_middle_of_a_record_ends_the_stream) {
  NEEDS_TWO("the sender goes on while the receiver is held");
  with_both([](Managers& both) {
    // More than a link between hosts takes before its other side has looked.
    const std::vector<std::byte> long_one(std::size_t{16} << 20);
    StreamReceiver receiver{both.receiver, {.first = long_one.size(), .most = long_one.size()}};
    const auto sender = grow(both, receiver.make_seed());
    {
      const base::RunLockGuard nobody_takes(both.receiver.interface().engine().lock());
      std::atomic<bool> over = false;
      std::thread cancels([&] {
        while (!over) {
          both.sender.cancel();
          std::this_thread::yield();
        }
      });
      EXPECT_EQ(sender->send(long_one), Status::cancelled);
      over = true;
      cancels.join();
    }
    EXPECT_EQ(sender->end(), Status::abandoned);
    EXPECT_EQ(sender->send("more"), Status::abandoned);
    Record record;
    EXPECT_EQ(receiver.receive(record, kPatience), Status::abandoned);
  });
}

// Pieces of an area that the receiving side has been shown, and that it does not copy.
class StreamsLent : public Streams {
 protected:
  static constexpr std::size_t kPiece = 65536;
  static constexpr StreamOptions kRoom{.first = 16 * kPiece};

  static void show(Managers& both, StreamReceiver& receiver, StreamSender& sender) {
    const std::uint64_t peer = both.receiver.interface().id();
    ASSERT_TRUE(eventually([&] {
      SendHandle handle;
      EXPECT_EQ(sender.send(Piece{0, 0, kPiece}, handle), Status::ok);
      Record record;
      EXPECT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(receiver.release(record), Status::ok);
      EXPECT_EQ(sender.wait(handle, kPatience), Status::ok);
      const base::RunLockGuard guard(both.sender.interface().engine().lock());
      return both.sender.interface().engine().core().find_link(peer)->areas_shown != 0;
    }));
  }
  // What the receiver hears in the end, whatever comes before it.
  static Status end_at(StreamReceiver& receiver) {
    Record record;
    Status status;
    while ((status = receiver.receive(record, kPatience)) == Status::ok)
      EXPECT_EQ(receiver.release(record), Status::ok);
    return status;
  }
};

TEST_F(StreamsLent, bytes_are_not_free_before_they_were_copied) {
  NEEDS_TWO("the sender goes on while the receiver is held");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, kRoom};
    SendBufferArea area{both.sender.interface(), kPiece};
    const auto sender = grow(both, receiver.make_seed());
    ASSERT_EQ(sender->bind(0, area), Status::ok);
    show(both, receiver, *sender);
    SendHandle first, handle;
    {
      const base::RunLockGuard nobody_copies(both.receiver.interface().engine().lock());
      ASSERT_EQ(sender->send(Piece{0, 0, kPiece}, first), Status::ok);
      for (int i = 1; i < 7; ++i) ASSERT_EQ(sender->send(Piece{0, 0, kPiece}, handle), Status::ok);
      EXPECT_EQ(sender->send(Piece{0, 0, kPiece}, handle, 0ns), Status::timed_out)
          << "as many as may be lent";
      EXPECT_EQ(handle.sequence, 0u);
      EXPECT_EQ(sender->wait(first, 0ns), Status::timed_out);
      EXPECT_EQ(sender->flush(1ms), Status::timed_out);
      std::atomic<bool> over = false;
      std::thread cancels([&] {
        while (!over) both.sender.cancel();
      });
      EXPECT_EQ(sender->wait(first), Status::cancelled);
      EXPECT_EQ(sender->flush(), Status::cancelled);
      over = true;
      cancels.join();
    }
    EXPECT_EQ(sender->flush(kPatience), Status::ok);
    EXPECT_EQ(sender->wait(first, 0ns), Status::ok);
    EXPECT_EQ(close(both, *sender), Status::ok);
    EXPECT_EQ(end_at(receiver), Status::closed);
  });
}

TEST_F(StreamsLent, what_was_put_together_leaves_before_its_sender_waits_for_a_piece) {
  NEEDS_TWO("the sender goes on while the receiver is held");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, kRoom};
    SendBufferArea area{both.sender.interface(), kPiece};
    const auto sender = grow(both, receiver.make_seed());
    ASSERT_EQ(sender->bind(0, area), Status::ok);
    show(both, receiver, *sender);
    {
      const base::RunLockGuard nobody_copies(both.receiver.interface().engine().lock());
      SendHandle handle;
      ASSERT_EQ(sender->send(Piece{0, 0, kPiece}, handle), Status::ok);
      ASSERT_EQ(sender->send("put together"), Status::ok);
      EXPECT_EQ(sender->wait(handle, 0ns), Status::timed_out);
    }
    Record record;
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "put together");
  });
}

// Whether what was lent is read after that nobody knows; both sides hear an end.
TEST_F(StreamsLent, an_area_or_a_sender_that_goes_too_early_ends_the_stream) {
  NEEDS_TWO("the sender goes on while the receiver is held");
  for (const bool area_goes : {false, true}) {
    with_both([area_goes](Managers& both) {
      StreamReceiver receiver{both.receiver, kRoom};
      auto area = std::make_unique<SendBufferArea>(both.sender.interface(), kPiece);
      auto sender = grow(both, receiver.make_seed());
      ASSERT_EQ(sender->bind(0, *area), Status::ok);
      show(both, receiver, *sender);
      {
        const base::RunLockGuard nobody_copies(both.receiver.interface().engine().lock());
        SendHandle handle;
        for (int i = 0; i < 3; ++i) ASSERT_EQ(sender->send(Piece{0, 0, kPiece}, handle), Status::ok);
        if (!area_goes) sender.reset();
        area.reset();
        if (area_goes) {
          EXPECT_EQ(sender->wait(handle), Status::abandoned);
          EXPECT_EQ(sender->send("more"), Status::abandoned);
          EXPECT_EQ(sender->flush(), Status::abandoned);
        }
      }
      EXPECT_EQ(end_at(receiver), Status::abandoned);
    });
  }
}

TEST_F(Streams, either_sides_object_may_go_without_a_word) {
  with_both([](Managers& both) {
    std::optional<StreamReceiver> receiver{std::in_place, both.receiver};
    auto sender = grow(both, receiver->make_seed());
    ASSERT_EQ(sender->send("flushed"), Status::ok);
    ASSERT_EQ(sender->flush(), Status::ok);
    ASSERT_EQ(sender->send("not flushed"), Status::ok);
    sender.reset();
    Record record;
    ASSERT_EQ(receiver->receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "flushed");
    Status end = receiver->receive(record, kPatience);
    if (end ==
        Status::ok) {  // it has left before: the flush has found the way full, and somebody was asked to help
      EXPECT_EQ(record.text(), "not flushed");
      end = receiver->receive(record, kPatience);
    }
    EXPECT_EQ(end, Status::abandoned);

    sender = grow(both, receiver->make_seed());
    ASSERT_EQ(sender->send(std::string(2000, 'x')), Status::ok);
    receiver.reset();
    Status status = Status::ok;
    for (int i = 0; i < 10000 && (status == Status::ok || status == Status::timed_out); ++i)
      status = sender->send(bytes_of("x"), 1ms);
    EXPECT_TRUE(status == Status::closed || status == Status::abandoned) << name(status);
  });
}

TEST_F(Streams, a_wait_ends_when_its_object_goes) {
  with_both([](Managers& both) {
    auto receiver = std::make_unique<StreamReceiver>(both.receiver);
    Status status = Status::ok;
    std::thread waits([&, raw = receiver.get()] {
      Record record;
      status = raw->receive(record, kPatience);
    });
    while (!waiting_in(both.receiver)) std::this_thread::yield();
    receiver.reset();
    waits.join();
    EXPECT_EQ(status, Status::cancelled);
  });
}

// Everything that had come whole is received first.
TEST_F(Streams, the_death_of_a_sender_is_told_after_its_last_record) {
  Actor dies([&](Line& line) {
    Manager manager({.interface = other_options()});
    const auto seed = line.take<Seed>();
    StreamSender sender{manager, *seed};
    for (unsigned i = 0; i < 100; ++i) {
      if (sender.send(std::to_string(i)) != Status::ok) return 91;
    }
    if (sender.flush() != Status::ok) return 92;
    line.put('.');
    line.take<char>();
    return 0;
  });
  in_child([&] {
    Manager manager({.interface = options()});
    StreamReceiver receiver{manager};
    dies.line().put(receiver.make_seed());
    Record record;
    for (unsigned i = 0; i < 100; ++i) {
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(record.text(), std::to_string(i));
      if (i == 0) {
        ASSERT_TRUE(dies.line().take<char>());
        kill(dies.pid(), SIGKILL);
      }
    }
    EXPECT_EQ(receiver.receive(record, kPatience), Status::link_ended);
    EXPECT_EQ(thrown_by([&] {
                for (const Record& each : receiver) (void)each;
              }),
              ErrorCode::peer_died);
  });
}

// Who gathers `together` bytes, and goes without closing while its receiver is behind.
void StreamsLeft::flush_and_go(std::size_t together) {
  Actor receives([&](Line& line) {
    Manager manager({.interface = other_options()});
    StreamReceiver receiver{manager};
    line.put(receiver.make_seed());
    unsigned count = 0;
    Record record;
    Status status;
    while ((status = receiver.receive(record, kPatience)) == Status::ok) {
      if (record.text() != text_of_record(count, 1000)) return 1;
      EXPECT_EQ(receiver.release(record), Status::ok);
      ++count;
    }
    line.put(count);
    return status == Status::abandoned ? 0 : 2;
  });
  const auto seed = receives.line().take<Seed>();
  ASSERT_TRUE(seed);
  in_child([&] {
    Manager manager({.interface = options()});
    std::optional<StreamSender> sender{std::in_place, manager, *seed,
                                       StreamSender::Options{.together = together}};
    receives.signal(SIGSTOP);
    unsigned sent = 0, flushed = 0;
    do {
      flushed = sent;
      for (std::size_t bytes = 0; bytes < together; bytes += 1000, ++sent)
        if (sender->send(bytes_of(text_of_record(sent, 1000)), 0ns) != Status::ok) break;
    } while (sender->flush(0ns) == Status::ok);
    sender.reset();
    receives.signal(SIGCONT);
    const auto count = receives.line().take<unsigned>();
    ASSERT_TRUE(count);
    EXPECT_GE(*count, flushed);
  });
}

TEST_F(StreamsLeft, bring_what_was_flushed_though_nobody_can_be_told_what_was_released) {
  flush_and_go(8192);
}

// Whoever flushes is told ok when nothing is left on its own side.
TEST_F(StreamsLeft, bring_what_was_flushed_though_the_link_was_full) { flush_and_go(65536); }

TEST_F(Streams, the_death_of_a_receiver_is_told) {
  Actor dies([&](Line& line) {
    Manager manager({.interface = other_options()});
    StreamReceiver receiver{manager};
    line.put(receiver.make_seed());
    Record record;
    static_cast<void>(receiver.receive(record, kPatience));
    raise(SIGKILL);
    return 0;
  });
  const auto seed = dies.line().take<Seed>();
  ASSERT_TRUE(seed);
  in_child([&] {
    Manager manager({.interface = options()});
    StreamSender sender{manager, *seed};
    Status status = Status::ok;
    while (status == Status::ok) status = sender.send(bytes_of(std::string(1500, 'x')), kPatience);
    EXPECT_EQ(status, Status::link_ended);
    EXPECT_EQ(sender.close(), Status::link_ended);
  });
}

// Record `number` of an endless stream: its number, over and over.
std::string endless(std::uint64_t number) {
  const std::vector<std::uint64_t> words(1 + number * 7 % 300 + (number % 50 == 0 ? 4000 : 0), number);
  return text_of(std::as_bytes(std::span{words}));
}

// A sender is killed at a random instant, over and over: its records come whole, in order, and then the end.
// Its receiver learns of both at once, and must not owe the dead one an answer before it takes the next.
TEST_F(Streams, a_sender_that_is_dead_when_its_opening_is_seen_holds_up_nobody) {
  const auto opens = [&](Line& line) {
    const auto seed = line.take<Seed>();
    if (!seed) return 1;
    Manager manager({.interface = other_options()});
    StreamSender sender{manager, *seed};
    return sender.send(bytes_of("here")) == Status::ok && sender.close(kPatience) == Status::ok ? 0 : 2;
  };
  Actor dies(opens), comes(opens);
  in_child([&] {
    Manager manager({.interface = options()});
    StreamReceiver receiver{manager};
    // The interface thread takes what comes; nobody runs the manager meanwhile.
    const auto wait_for = [&](const auto& done) {
      library::Engine& engine = manager.interface().engine();
      const auto until = std::chrono::steady_clock::now() + kPatience;
      for (bool now = false; !now;) {
        ASSERT_LT(std::chrono::steady_clock::now(), until);
        std::this_thread::yield();
        const base::RunLockGuard guard(engine.lock());
        now = done(engine.core());
      }
    };
    dies.line().put(receiver.make_seed());
    wait_for([&](interface::Core&) { return !manager.queue().inside().empty(); });
    kill(dies.pid(), SIGKILL);
    wait_for([](interface::Core& core) { return core.links().empty(); });
    Record record;
    EXPECT_EQ(receiver.receive(record, 0ns), Status::timed_out);
    comes.line().put(receiver.make_seed());
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "here");
    EXPECT_EQ(receiver.release(record), Status::ok);
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
  });
  EXPECT_EQ(comes.wait(), 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kDeaths = 60;  // a sanitized process takes longer to come and to go
#else
constexpr unsigned kDeaths = 200;
#endif

TEST_F(Streams, a_sender_may_die_at_any_instant) {
  const unsigned deaths = nodes == nullptr ? kDeaths : 20;  // each takes a while there
  std::vector<std::unique_ptr<Actor>> senders;              // forked before there is a thread
  for (unsigned i = 0; i < deaths; ++i) {
    senders.push_back(std::make_unique<Actor>([&](Line& line) {
      const auto seed = line.take<Seed>();
      if (!seed) return 1;
      Manager manager({.interface = other_options()});
      StreamSender sender{manager, *seed};
      Status status = Status::ok;
      for (std::uint64_t next = 0; status == Status::ok; ++next) {
        status = sender.send(endless(next));
        if (next % 5 == 0) static_cast<void>(sender.flush());
      }
      return 1;
    }));
  }
  in_child([&] {
    Manager manager({.interface = options()});
    StreamReceiver receiver{manager};
    std::uint64_t records = 0;
    for (unsigned turn = 0; turn < deaths && !HasFailure(); ++turn) {
      std::uint64_t next = 0;
      Record record;
      const auto check = [&] {
        ASSERT_TRUE(record.text() == endless(next)) << next;
        ++next;
        EXPECT_EQ(receiver.release(record), Status::ok);
      };
      // The one before was killed without an answer, and may have opened the stream after we had looked last:
      // then there is no seed before its end was told.
      std::optional<Seed> seed;
      const auto patience = std::chrono::steady_clock::now() + kPatience;
      while (!seed) {
        try {
          seed = receiver.make_seed();
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::invalid_argument);
          ASSERT_LT(std::chrono::steady_clock::now(), patience);
          if (receiver.receive(record, 1ms) == Status::ok) static_cast<void>(receiver.release(record));
        }
      }
      senders[turn]->line().put(*seed);
      // From before it has opened anything to well into its records.
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{turn * 137 % 10000};
      const auto now = [] { return std::chrono::steady_clock::now(); };
      while ((turn % 2 == 0 ? now() < until : next < turn % 40 && now() < until + kPatience) &&
             !HasFailure()) {
        if (receiver.receive(record, 1ms) == Status::ok) check();
      }
      kill(senders[turn]->pid(), SIGKILL);
      Status status = Status::ok;
      while (status == Status::ok && !HasFailure()) {
        status = receiver.receive(record, receiver.sender() == 0 ? 2ms : kPatience);
        if (status == Status::ok) check();
      }
      records += next;
      ASSERT_TRUE(status == Status::link_ended || (status == Status::timed_out && next == 0)) << name(status);
    }
    EXPECT_GT(records, deaths * 5 / 2);
  });
}

// The process of the sender before goes while the receiver waits for the next one.
TEST_F(Streams, the_end_of_an_earlier_sender_is_not_that_of_the_next) {
  const auto part = [&](Line& line) {
    const auto seed = line.take<Seed>();
    if (!seed) return 1;
    Manager manager({.interface = other_options()});
    StreamSender sender{manager, *seed, {.timeout = kPatience}};
    if (sender.send("one") != Status::ok || sender.close(kPatience) != Status::ok) return 2;
    return line.take<char>() ? 0 : 3;  // and its link ends
  };
  Actor first(part), second(part);
  in_child([&] {
    Manager manager({.interface = options()});
    StreamReceiver receiver{manager};
    Record record;
    for (Actor* actor : {&first, &second}) {
      actor->line().put(receiver.make_seed());
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(record.text(), "one");
      EXPECT_EQ(receiver.release(record), Status::ok);
      EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
      if (actor == &second) break;
      const Seed seed = receiver.make_seed();
      const std::uint64_t ended = manager.happened();
      actor->line().put('.');
      // Until the manager has heard of it, which it does within milliseconds; with the watch gone it hears
      // nothing.
      static_cast<void>(manager.wait_beyond(ended, 50ms));
      EXPECT_EQ(receiver.receive(record, 0ms), Status::timed_out);
      (void)seed;
    }
    second.line().put('.');
  });
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(second.wait(), 0);
}

// What it has to say finds no room at first: nobody has asked for places in the ring yet. And nobody runs its
// manager any more.
TEST_F(Streams, who_goes_at_once_is_said_to_have_gone) {
  with_both([](Managers& both) {
    for (int i = 0; i < 20; ++i) {
      StreamReceiver receiver{both.receiver};
      std::thread sender([&both, seed = receiver.make_seed()] { StreamSender{both.sender, seed}; });
      Record record;
      EXPECT_EQ(receiver.receive(record, kPatience), Status::abandoned);
      sender.join();
    }
  });
}

// The receiver agrees when the sender's time is over: what it says is heard by nobody any more, and yet it is
// not left waiting for records.
TEST_F(Streams, who_gives_up_while_it_is_let_in_is_said_to_have_gone) {
  NEEDS_TWO("whoever opens looks");
  with_both([](Managers& both) {
    constexpr std::chrono::milliseconds kTime{50};
    StreamReceiver receiver{both.receiver};
    std::optional<ErrorCode> thrown;
    const auto over = std::chrono::steady_clock::now() + kTime;
    std::thread opens([&, seed = receiver.make_seed()] {
      thrown = thrown_by([&] { StreamSender(both.sender, seed, {.timeout = kTime}); });
    });
    while (!waiting_in(both.sender) && std::chrono::steady_clock::now() < over) std::this_thread::yield();
    Deafened deafened(both.sender, both.receiver);
    Record record;
    while (std::chrono::steady_clock::now() < over + kTime)
      ASSERT_NE(receiver.receive(record, 1ms), Status::ok);
    deafened.hear();
    opens.join();
    EXPECT_EQ(thrown, ErrorCode::timed_out);
    if (receiver.sender() == 0) return;  // its time was over before it had a link
    EXPECT_EQ(receiver.receive(record, kPatience), Status::abandoned);
  });
}

// The same of receivers: nobody is left waiting.
TEST_F(Streams, a_receiver_may_die_at_any_instant) {
  const unsigned deaths = nodes == nullptr ? 100 : 20;
  std::vector<std::unique_ptr<Actor>> receivers;
  for (unsigned i = 0; i < deaths; ++i) {
    receivers.push_back(std::make_unique<Actor>([&](Line& line) {
      if (!line.take<char>()) return 1;
      Manager manager({.interface = other_options()});
      StreamReceiver receiver{manager};
      line.put(receiver.make_seed());
      for (const Record& record : receiver) (void)record;
      return 1;
    }));
  }
  in_child([&] {
    Manager manager({.interface = options()});
    for (unsigned turn = 0; turn < deaths && !HasFailure(); ++turn) {
      Line& line = receivers[turn]->line();
      line.put('.');
      const auto seed = line.take<Seed>();
      ASSERT_TRUE(seed);
      std::thread kills([&] {
        std::this_thread::sleep_for(std::chrono::microseconds{turn * 37 % 3000});
        kill(receivers[turn]->pid(), SIGKILL);
      });
      try {
        StreamSender sender{manager, *seed, {.timeout = kPatience}};
        Status status = Status::ok;
        for (std::uint64_t next = 0; status == Status::ok; ++next)
          status = sender.send(bytes_of(endless(next)), kPatience);
        EXPECT_EQ(status, Status::link_ended) << name(status);
      } catch (const Error& error) {
        // It was dead before it had agreed, or before there was a link.
        EXPECT_TRUE(error.code() == ErrorCode::peer_died || error.code() == ErrorCode::peer_refused)
            << error.what();
      }
      kills.join();
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
