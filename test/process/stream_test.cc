// Streams: between two managers, between threads, and between processes of which one dies.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Streams : public WithManagers {
 protected:
  // Opens a stream from another thread, while this one runs the receiver's manager.
  static std::unique_ptr<StreamSender> grow(Managers& both, const Seed& seed) {
    std::unique_ptr<StreamSender> sender;
    std::exception_ptr thrown;
    std::atomic<bool> done = false;
    std::thread opens([&] {
      try {
        sender = std::make_unique<StreamSender>(both.sender, seed);
      } catch (...) {
        thrown = std::current_exception();
      }
      done = true;
    });
    while (!done) both.receiver.wait(1ms);
    opens.join();
    if (thrown) std::rethrow_exception(thrown);
    return sender;
  }
  static std::optional<ErrorCode> refused(Managers& both, const Seed& seed) {
    return thrown_by([&] { grow(both, seed); });
  }
  // In another thread: closes, with the receiver's manager running here.
  static Status close(Managers& both, StreamSender& sender) {
    std::atomic<bool> done = false;
    Status status = Status::pending;
    std::thread closes([&] {
      status = sender.close(kPatience);
      done = true;
    });
    while (!done) both.receiver.wait(1ms);
    closes.join();
    return status;
  }
};

std::string text_of_record(unsigned number, std::size_t bytes) { return noise(bytes, number); }

// --- as it should be

TEST_F(Streams, records_come_in_order_and_the_end_is_told) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed());
    EXPECT_EQ(receiver.sender(), both.sender.interface().id());
    EXPECT_EQ(sender->send("one"), Status::ok);
    EXPECT_EQ(sender->send(""), Status::ok);
    EXPECT_EQ(sender->send("three"), Status::ok);
    Record record;
    EXPECT_EQ(receiver.receive(record, 0ns), Status::timed_out) << "nothing was flushed";
    EXPECT_EQ(sender->flush(), Status::ok);
    std::vector<std::string> all;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(record.number(), static_cast<std::uint64_t>(i + 1));
      all.emplace_back(record.text());
    }
    EXPECT_EQ(all, (std::vector<std::string>{"one", "", "three"}));
    EXPECT_EQ(receiver.release(record), Status::ok);
    EXPECT_EQ(receiver.release(Record({}, 4)), Status::invalid) << "nobody was given that";
    EXPECT_EQ(close(both, *sender), Status::ok);
    EXPECT_EQ(sender->close(), Status::ok) << "once more";
    EXPECT_EQ(sender->send("late"), Status::closed);
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
  });
}

// Every length around the borders of what is put together, of a packet, and of the rings.
TEST_F(Streams, records_of_every_length_arrive_whole) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 4096, .most = 1 << 20}};
    const auto sender = grow(both, receiver.make_seed());
    std::vector<std::size_t> lengths;
    for (const std::size_t around : {0u, 64u, 1024u, 4096u, 8192u, 65536u, 300000u, 1048576u}) {
      for (std::size_t bytes = around < 3 ? 0 : around - 3; bytes <= around + 3; ++bytes) {
        if (bytes <= 1048576) lengths.push_back(bytes);
      }
    }
    std::thread sends([&] {
      for (unsigned i = 0; i < lengths.size(); ++i)
        ASSERT_EQ(sender->send(text_of_record(i, lengths[i])), Status::ok);
      EXPECT_EQ(sender->send(std::string(1048577, 'x')), Status::too_long);
      EXPECT_EQ(sender->close(kPatience), Status::ok);
    });
    for (unsigned i = 0; i < lengths.size(); ++i) {
      Record record;
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      ASSERT_EQ(record.bytes().size(), lengths[i]);
      EXPECT_TRUE(record.text() == text_of_record(i, lengths[i])) << lengths[i];
      ASSERT_EQ(receiver.release(record), Status::ok);
    }
    Record record;
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
    sends.join();
  });
}

// Also of those that are put together before anybody looks where they go.
TEST_F(Streams, no_record_is_longer_than_the_receiver_takes) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 512, .most = 512}};
    const auto sender = grow(both, receiver.make_seed());
    EXPECT_EQ(sender->send(text_of_record(0, 512)), Status::ok);
    EXPECT_EQ(sender->send(text_of_record(1, 513)), Status::too_long);
    EXPECT_EQ(sender->send(text_of_record(1, 511)), Status::ok);
    EXPECT_EQ(sender->flush(), Status::ok);
    for (unsigned i = 0; i < 2; ++i) {
      Record record;
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_TRUE(record.text() == text_of_record(i, 512 - i));
      EXPECT_EQ(receiver.release(record), Status::ok);
    }
    EXPECT_EQ(close(both, *sender), Status::ok);
  });
}

TEST_F(Streams, what_is_not_released_stays_and_holds_the_sender_back) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 4096, .most = 8192, .parcels = 8}};
    const auto sender = grow(both, receiver.make_seed());
    const std::string text = text_of_record(1, 2000);
    std::vector<Record> held;
    std::size_t sent = 0;
    Record record;
    for (int quiet = 0; quiet < 50; ++quiet) {
      if (sender->send(bytes_of(text), 1ms) == Status::ok) {
        ++sent;
        quiet = 0;
      }
      while (receiver.receive(record, 0ns) == Status::ok) held.push_back(record);
    }
    EXPECT_EQ(sent, 6u) << "two in the first buffer, four in the second";
    EXPECT_EQ(held.size(), sent);
    for (const Record& each : held) EXPECT_TRUE(each.text() == text);
    EXPECT_EQ(receiver.release(held[2]), Status::ok);
    Status status = Status::timed_out;
    for (int i = 0; i < 1000 && status == Status::timed_out; ++i) {
      both.receiver.poll();
      status = sender->send(bytes_of(text), 1ms);
    }
    EXPECT_EQ(status, Status::ok);
    for (std::size_t i = 3; i < held.size(); ++i) EXPECT_TRUE(held[i].text() == text);
  });
}

TEST_F(Streams, are_bytes_for_who_wants_bytes) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed());
    const std::string all = noise(700000, 5);
    std::thread writes([&] {
      std::size_t at = 0;
      for (std::size_t part = 1; at < all.size(); at += part, part = part * 3 % 90001 + 1) {
        part = std::min(part, all.size() - at);
        ASSERT_EQ(sender->write(bytes_of(std::string_view(all).substr(at, part))), Status::ok);
      }
      EXPECT_EQ(sender->close(kPatience), Status::ok);
    });
    std::string found;
    for (std::size_t want = 1;; want = want * 5 % 70001 + 1) {
      std::vector<std::byte> buffer(want);
      std::size_t count = 0;
      const Status status = receiver.read(buffer, count, kPatience);
      if (status != Status::ok) {
        EXPECT_EQ(status, Status::closed);
        EXPECT_EQ(count, 0u);
        break;
      }
      found += text_of(std::span(buffer).first(count));
    }
    EXPECT_TRUE(found == all);
    writes.join();
  });
}

TEST_F(Streams, a_receiver_takes_one_stream_after_another) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    for (int i = 0; i < 20; ++i) {
      const auto sender = grow(both, receiver.make_seed());
      EXPECT_EQ(thrown_by([&] { receiver.make_seed(); }), ErrorCode::invalid_argument);
      ASSERT_EQ(sender->send(std::to_string(i)), Status::ok);
      ASSERT_EQ(close(both, *sender), Status::ok);
      int found = 0;
      for (const Record& record : receiver) found += record.text() == std::to_string(i);
      EXPECT_EQ(found, 1);
    }
  });
}

TEST_F(Streams, what_was_put_together_leaves_before_its_sender_waits) {
  with_both([](Managers& both) {
    StreamReceiver there{both.receiver}, here{both.sender};
    const auto to = grow(both, there.make_seed());
    std::thread answers([&, seed = here.make_seed()] {
      StreamSender back{both.receiver, seed};
      for (const Record& record : there) back.send(record.text());
      EXPECT_EQ(back.close(kPatience), Status::ok);
    });
    for (int i = 0; i < 100; ++i) {
      Record record;
      ASSERT_EQ(to->send(std::to_string(i)), Status::ok);
      ASSERT_EQ(here.receive(record, kPatience), Status::ok) << "nobody has flushed";
      EXPECT_EQ(record.text(), std::to_string(i));
      here.release(record);
    }
    EXPECT_EQ(to->close(kPatience), Status::ok);
    Record record;
    EXPECT_EQ(here.receive(record, kPatience), Status::closed);
    answers.join();
  });
}

// --- seeds

TEST_F(Streams, a_seed_grows_one_sender) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    const auto sender = grow(both, seed);
    EXPECT_EQ(refused(both, seed), ErrorCode::seed_used);
    ASSERT_EQ(sender->send("still good"), Status::ok);
    ASSERT_EQ(close(both, *sender), Status::ok);
    Record record;
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "still good");
  });
}

TEST_F(Streams, seeds_that_are_stale_or_forged_are_told_by_name) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed old = receiver.make_seed();
    Seed seed = receiver.make_seed();
    EXPECT_EQ(refused(both, old), ErrorCode::seed_forged) << "its key opens nothing any more";
    Seed forged = seed;
    forged.ticket.key += 1;
    EXPECT_EQ(refused(both, forged), ErrorCode::seed_forged);
    forged = seed;
    forged.ticket.slot = 60000;
    EXPECT_EQ(refused(both, forged), ErrorCode::seed_stale);
    forged = seed;
    forged.ticket.interface = 1u << 30;
    EXPECT_EQ(refused(both, forged), ErrorCode::peer_refused) << "the node knows no such interface";
    DatagramReceiver datagrams{both.receiver, 100};
    EXPECT_EQ(refused(both, datagrams.make_seed()), ErrorCode::seed_wrong_kind);
    EXPECT_EQ(refused(both, Seed{}), ErrorCode::seed_invalid);
    {
      StreamReceiver gone{both.receiver};
      forged = gone.make_seed();
    }
    EXPECT_EQ(refused(both, forged), ErrorCode::seed_stale);
    EXPECT_NE(grow(both, seed), nullptr) << "the good one is still good";
  });
}

class Choosy : public StreamReceiver {
 public:
  using StreamReceiver::StreamReceiver;
  ~Choosy() override { retire(); }
  std::uint64_t wanted = 0;

 protected:
  bool admit(std::uint64_t sender) noexcept override { return sender == wanted; }
};

TEST_F(Streams, a_receiver_can_refuse_a_sender_and_its_seed_stays_good) {
  with_both([](Managers& both) {
    Choosy receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(refused(both, seed), ErrorCode::peer_refused);
    receiver.wanted = both.sender.interface().id();
    EXPECT_NE(grow(both, seed), nullptr);
  });
}

TEST_F(Streams, nobody_looks_and_the_opening_ends_in_time) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    EXPECT_EQ(thrown_by([&] { StreamSender(both.sender, seed, {.timeout = 20ms}); }), ErrorCode::timed_out);
  });
}

TEST_F(Streams, options_that_cannot_be_are_refused) {
  with_both([](Managers& both) {
    for (const StreamOptions& bad :
         {StreamOptions{.first = 0}, StreamOptions{.first = 100},
          StreamOptions{.first = 1 << 20, .most = 65536}, StreamOptions{.parcels = 2},
          StreamOptions{.parcels = 65}, StreamOptions{.parcels = 8192}})
      EXPECT_EQ(thrown_by([&] { StreamReceiver(both.receiver, bad); }), ErrorCode::invalid_argument);
  });
}

// --- ends

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
      receiver.release(record);
    }
    EXPECT_EQ(receiver.close(kPatience), Status::ok);
    EXPECT_EQ(receiver.receive(record, 0ns), Status::closed);
    sends.join();
    EXPECT_EQ(sender->close(), Status::closed) << "the receiver may not have had everything";
  });
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
    EXPECT_EQ(receiver->receive(record, kPatience), Status::abandoned);

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
    for (unsigned i = 0; i < 100; ++i) sender.send(std::to_string(i));
    sender.flush();
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

TEST_F(Streams, the_death_of_a_receiver_is_told) {
  Actor dies([&](Line& line) {
    Manager manager({.interface = other_options()});
    StreamReceiver receiver{manager};
    line.put(receiver.make_seed());
    Record record;
    receiver.receive(record, kPatience);
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
    receiver.release(record);
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
  });
  EXPECT_EQ(comes.wait(), 0);
}

TEST_F(Streams, a_sender_may_die_at_any_instant) {
  const unsigned deaths = nodes == nullptr ? 200 : 20;  // each takes a while there
  std::vector<std::unique_ptr<Actor>> senders;          // forked before there is a thread
  for (unsigned i = 0; i < deaths; ++i) {
    senders.push_back(std::make_unique<Actor>([&](Line& line) {
      const auto seed = line.take<Seed>();
      if (!seed) return 1;
      Manager manager({.interface = other_options()});
      StreamSender sender{manager, *seed};
      Status status = Status::ok;
      for (std::uint64_t next = 0; status == Status::ok; ++next) {
        status = sender.send(endless(next));
        if (next % 5 == 0) sender.flush();
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
        receiver.release(record);
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
          if (receiver.receive(record, 1ms) == Status::ok) receiver.release(record);
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
      receiver.release(record);
      EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
      if (actor == &second) break;
      const Seed seed = receiver.make_seed();
      const std::uint64_t ended = manager.happened();
      actor->line().put('.');
      // Until the manager has heard of it, which it does within milliseconds; with the watch gone it hears
      // nothing.
      manager.wait_beyond(ended, 50ms);
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
