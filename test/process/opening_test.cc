// Senders that are begun: while they open, their program does other work. Whatever the other side does, looks
// late or never, refuses, stops or dies, a sender says so, and goes without leaving anything behind.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "hamlyn/protocols/coroutine.h"
#include "test/process/loans.h"
#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Openings : public WithManagers {};

// A receiver that wants nobody.
template <class Kind>
class Refusing final : public Kind {
 public:
  using Kind::Kind;
  ~Refusing() override { this->retire(); }

 private:
  bool admit(std::uint64_t) noexcept override { return false; }
};
using Unwilling = Refusing<StreamReceiver>;
using UnwillingBorrower = Refusing<LoanReceiver>;

// The receiving program, in a thread of its own, from when it looks until it goes.
template <class Look>
class Looks {
 public:
  explicit Looks(Look look)
      : thread_([this, look] {
          while (!enough_) look();
        }) {}
  ~Looks() {
    enough_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> enough_ = false;
  std::thread thread_;
};

// Lets in whoever wants to lend, and runs the manager for all that is not of loans.
void look_at(LoanReceiver& receiver, Manager& manager) {
  Borrowed borrowed;
  static_cast<void>(receiver.receive(borrowed, 0ns));  // whatever it answers
  static_cast<void>(manager.wait(1ms));
}

TEST_F(Openings, of_streams_go_on_until_the_receiver_looks) {
  NEEDS_TWO("whoever asks looks");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    StreamSender sender{both.sender, receiver.make_seed(), kBegin};
    for (int i = 0; i != 20; ++i) EXPECT_EQ(sender.opened(0ns), Status::timed_out);
    EXPECT_EQ(sender.opened(5ms), Status::timed_out);
    EXPECT_EQ(thrown_by([&] { sender.open(1ms); }), ErrorCode::timed_out);
    // Sends fail meanwhile, and wait no longer than they may.
    EXPECT_EQ(sender.send(bytes_of("early"), 0ns), Status::connecting);
    EXPECT_EQ(sender.send(bytes_of("early"), 1ms), Status::connecting);
    EXPECT_EQ(sender.flush(1ms), Status::connecting);
    EXPECT_EQ(sender.close(1ms), Status::connecting);
    EXPECT_EQ(sender.end(), Status::ok);
    const Looks looks([&] { static_cast<void>(both.receiver.wait(1ms)); });
    EXPECT_EQ(sender.opened(kPatience), Status::ok);
    EXPECT_NO_THROW(sender.open(0ns));
    EXPECT_EQ(sender.send(bytes_of("in time"), kPatience), Status::ok);
    EXPECT_EQ(sender.flush(kPatience), Status::ok);
    Record record;
    EXPECT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "in time");
    EXPECT_EQ(sender.close(kPatience), Status::ok);
  });
}

TEST_F(Openings, of_loans_go_on_until_the_receiver_looks) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 2}}};
    LoanReceiver receiver{both.receiver};
    LoanSender sender{pool, receiver.make_seed(), kBegin};
    Loan loan;
    ASSERT_EQ(pool.take(64, loan), Status::ok);
    for (int i = 0; i != 20; ++i) EXPECT_EQ(sender.opened(0ns), Status::timed_out);
    EXPECT_EQ(thrown_by([&] { sender.open(1ms); }), ErrorCode::timed_out);
    EXPECT_EQ(sender.send(loan), Status::connecting);
    EXPECT_EQ(sender.send(loan, 64, 1ms), Status::timed_out);
    EXPECT_EQ(sender.end(), Status::ok);
    EXPECT_EQ(sender.held(), 0u);
    std::optional<Looks<std::function<void()>>> looks([&] { look_at(receiver, both.receiver); });
    EXPECT_EQ(sender.opened(kPatience), Status::ok);
    looks.reset();
    EXPECT_EQ(sender.send(loan), Status::ok);
    Borrowed borrowed;
    EXPECT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    EXPECT_EQ(borrowed.bytes().size(), 64u);
  });
}

// The receiver's library grants places by itself.
TEST_F(Openings, of_tagged_writes_need_no_look) {
  with_both([](Managers& both) {
    TaggedReceiver receiver{both.receiver, 4096};
    TaggedSender sender{both.sender, receiver.make_seed(), kBegin};
    EXPECT_EQ(sender.opened(kPatience), Status::ok);
    EXPECT_EQ(sender.send(bytes_of("there"), 8, 7), Status::ok);
    Tagged tagged;
    EXPECT_EQ(receiver.get_tag(tagged, kPatience), Status::ok);
    EXPECT_EQ(tagged.tag, 7u);
  });
}

// A send that waits carries the opening, too.
TEST_F(Openings, are_waited_for_by_what_is_sent) {
  with_both([](Managers& both) {
    StreamReceiver records{both.receiver};
    LoanPool pool{both.sender, {{64, 2}}};
    LoanReceiver loans{both.receiver};
    TaggedReceiver tags{both.receiver, 4096};
    StreamSender stream{both.sender, records.make_seed(), kBegin};
    LoanSender lends{pool, loans.make_seed(), kBegin};
    TaggedSender writes{both.sender, tags.make_seed(), kBegin};
    const Looks looks([&] { look_at(loans, both.receiver); });
    EXPECT_EQ(writes.send(bytes_of("first"), 0, 1, kPatience), Status::ok);
    Loan loan;
    ASSERT_EQ(pool.take(64, loan), Status::ok);
    EXPECT_EQ(lends.send(loan, 64, kPatience), Status::ok);
    const std::string long_text(200000, 'x');
    std::thread reads([&] {
      std::vector<std::byte> all(long_text.size());
      std::size_t have = 0, count = 0;
      while (have != all.size() && records.read(std::span{all}.subspan(have), count, kPatience) == Status::ok)
        have += count;
      EXPECT_EQ(have, all.size());
    });
    EXPECT_EQ(stream.write(bytes_of(long_text)), Status::ok);
    EXPECT_EQ(stream.flush(kPatience), Status::ok);
    reads.join();
  });
}

// One receiver is of a program that never looks; the others open all the same, in one thread that waits for
// whatever happens.
TEST_F(Openings, of_fifty_at_once_are_held_up_by_none_that_never_looks) {
  NEEDS_TWO("whoever asks looks");
  with_both([](Managers& both) {
    constexpr std::size_t kLooking = 49;
    Manager asleep{{.interface = both.sender_options}};
    LoanPool pool{both.sender, {{64, 2}}};
    std::vector<std::unique_ptr<StreamReceiver>> receivers;
    std::vector<std::unique_ptr<LoanReceiver>> borrowers;
    std::vector<std::unique_ptr<StreamSender>> streams;
    std::vector<std::unique_ptr<LoanSender>> loans;
    StreamReceiver never{asleep};
    LoanReceiver never_borrows{asleep};
    for (std::size_t i = 0; i <= kLooking; ++i) {
      if (i == kLooking / 2) {
        streams.push_back(std::make_unique<StreamSender>(both.sender, never.make_seed(), kBegin));
        loans.push_back(std::make_unique<LoanSender>(pool, never_borrows.make_seed(), kBegin));
        continue;
      }
      receivers.push_back(std::make_unique<StreamReceiver>(
          both.receiver, StreamOptions{.first = 1024, .most = 1024, .parcels = 4}));
      borrowers.push_back(std::make_unique<LoanReceiver>(both.receiver, LoanReceiver::Options{.places = 4}));
      streams.push_back(std::make_unique<StreamSender>(both.sender, receivers.back()->make_seed(), kBegin));
      loans.push_back(std::make_unique<LoanSender>(pool, borrowers.back()->make_seed(), kBegin));
    }
    const Looks looks([&] {
      for (const auto& each : borrowers) {
        Borrowed borrowed;
        static_cast<void>(each->receive(borrowed, 0ns));  // whatever it answers
      }
      static_cast<void>(both.receiver.wait(1ms));
    });
    std::size_t open = 0;
    Status waited = Status::ok;
    while (open != 2 * kLooking && waited == Status::ok) {
      const std::uint64_t known = both.sender.happened();
      open = 0;
      for (const auto& each : streams) open += each->opened(0ns) == Status::ok;
      for (const auto& each : loans) open += each->opened(0ns) == Status::ok;
      if (open != 2 * kLooking) waited = both.sender.wait_beyond(known, kPatience);
    }
    EXPECT_EQ(open, 2 * kLooking);
    EXPECT_EQ(streams[kLooking / 2]->opened(0ns), Status::timed_out);
    EXPECT_EQ(loans[kLooking / 2]->opened(0ns), Status::timed_out);
  });
}

TEST_F(Openings, that_are_refused_say_why) {
  with_both([](Managers& both) {
    Unwilling unwilling{both.receiver};
    UnwillingBorrower unwilling_too{both.receiver};
    LoanPool pool{both.sender, {{64, 1}}};
    StreamSender stream{both.sender, unwilling.make_seed(), kBegin};
    LoanSender lends{pool, unwilling_too.make_seed(), kBegin};
    {
      const Looks looks([&] { look_at(unwilling_too, both.receiver); });
      EXPECT_EQ(stream.opened(kPatience), Status::refused);
      EXPECT_EQ(lends.opened(kPatience), Status::refused);
    }
    for (int i = 0; i != 2; ++i) {  // for good
      EXPECT_EQ(stream.opened(0ns), Status::refused);
      EXPECT_EQ(lends.opened(0ns), Status::refused);
      EXPECT_EQ(thrown_by([&] { stream.open(0ns); }), ErrorCode::peer_refused);
      EXPECT_EQ(thrown_by([&] { lends.open(0ns); }), ErrorCode::peer_refused);
    }
    Loan loan;
    ASSERT_EQ(pool.take(64, loan), Status::ok);
    EXPECT_EQ(stream.send(bytes_of("in vain"), kPatience), Status::refused);
    EXPECT_EQ(lends.send(loan, 64, kPatience), Status::refused);

    std::optional<StreamReceiver> goes(both.receiver);
    std::optional<LoanReceiver> goes_too(both.receiver);
    std::optional<TaggedReceiver> goes_as_well(std::in_place, both.receiver, std::size_t{64});
    const Seed stale = goes->make_seed(), stale_loan = goes_too->make_seed();
    const Seed stale_tag = goes_as_well->make_seed();
    goes.reset(), goes_too.reset(), goes_as_well.reset();
    StreamSender late{both.sender, stale, kBegin};
    LoanSender late_loan{pool, stale_loan, kBegin};
    TaggedSender late_tag{both.sender, stale_tag, kBegin};
    EXPECT_EQ(late.opened(kPatience), Status::refused);
    EXPECT_EQ(late_loan.opened(kPatience), Status::refused);
    EXPECT_EQ(late_tag.opened(kPatience), Status::refused);
    EXPECT_EQ(thrown_by([&] { late.open(0ns); }), ErrorCode::seed_stale);
    EXPECT_EQ(thrown_by([&] { late_loan.open(0ns); }), ErrorCode::seed_stale);
    EXPECT_EQ(thrown_by([&] { late_tag.open(0ns); }), ErrorCode::seed_stale);
    EXPECT_EQ(thrown_by([&] { StreamSender(both.sender, stale_loan, kBegin); }), ErrorCode::seed_wrong_kind);
    EXPECT_EQ(thrown_by([&] { TaggedSender(both.sender, stale, kBegin); }), ErrorCode::seed_wrong_kind);
  });
}

// A sender that gives up leaves nobody waiting: a receiver that agrees later is told, and offers itself
// again.
TEST_F(Openings, that_are_given_up_leave_the_receiver_free) {
  NEEDS_TWO("whoever asks looks");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    LoanReceiver borrower{both.receiver};
    LoanPool pool{both.sender, {{64, 1}}};
    for (int i = 0; i != 10; ++i) {
      {
        StreamSender stream{both.sender, receiver.make_seed(), kBegin};
        LoanSender lends{pool, borrower.make_seed(), kBegin};
        if (i % 2 == 1) {  // their openings have arrived
          EXPECT_EQ(stream.opened(1ms), Status::timed_out);
          EXPECT_EQ(lends.opened(1ms), Status::timed_out);
        }
      }
      Record record;
      Borrowed borrowed;
      static_cast<void>(receiver.receive(record, 2ms));
      static_cast<void>(borrower.receive(borrowed, 2ms));
      if (receiver.sender() != 0) {
        EXPECT_EQ(receiver.receive(record, kPatience), Status::abandoned);
      }
      if (borrower.sender() != 0) {
        EXPECT_EQ(borrower.receive(borrowed, kPatience), Status::closed);
      }
    }
    EXPECT_EQ(pool.free_buffers(), 1u);
    StreamSender stream{both.sender, receiver.make_seed(), kBegin};
    LoanSender lends{pool, borrower.make_seed(), kBegin};
    const Looks looks([&] { look_at(borrower, both.receiver); });
    EXPECT_EQ(stream.opened(kPatience), Status::ok);
    EXPECT_EQ(lends.opened(kPatience), Status::ok);
  });
}

// A receiver that never answers cannot have a manager keep ever more of those who gave up.
TEST_F(Openings, that_are_given_up_and_never_answered_are_kept_64_times) {
  NEEDS_TWO("whoever asks looks");
  with_both([](Managers& both) {
    const auto leaving = [&] {
      const protocols::Dispatcher::Guard guard(both.sender.inside());
      return both.sender.inside().leaving();
    };
    std::vector<std::unique_ptr<StreamReceiver>> receivers;
    // One that was given up before it could ask is not kept.
    for (int full = 0; full != 20;) {
      receivers.push_back(std::make_unique<StreamReceiver>(both.receiver));
      {
        StreamSender sender{both.sender, receivers.back()->make_seed(), kBegin};
        EXPECT_EQ(sender.opened(1ms), Status::timed_out);
      }
      ASSERT_LE(leaving(), 64u);
      full += leaving() == 64;
    }
    // Receivers that look answer them, and then the waits of the program's let them go.
    const Looks looks([&] { static_cast<void>(both.receiver.wait(1ms)); });
    EXPECT_TRUE(comes_true([&] {
      static_cast<void>(both.sender.wait(1ms));
      return leaving() == 0;
    }));
  });
}

// Cancelled while a thread waits for them: the wait ends, and nothing is used afterwards.
TEST_F(Openings, end_for_who_waits_when_they_are_cancelled) {
  NEEDS_TWO("whoever asks looks");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    LoanReceiver borrower{both.receiver};
    LoanPool pool{both.sender, {{64, 1}}};
    StreamSender stream{both.sender, receiver.make_seed(), kBegin};
    LoanSender lends{pool, borrower.make_seed(), kBegin};
    std::array<std::function<Status()>, 3> waits{[&] { return stream.opened(kPatience); },
                                                 [&] { return lends.opened(kPatience); },
                                                 [&] { return stream.send(bytes_of("x"), kPatience); }};
    for (const auto& wait : waits) {
      Status status = Status::pending;
      std::atomic<bool> over = false;
      std::thread waiting([&] {
        status = wait();
        over = true;
      });
      while (!over) {  // it may not wait yet
        both.sender.cancel();
        std::this_thread::yield();
      }
      waiting.join();
      EXPECT_EQ(status, Status::cancelled);
    }
    EXPECT_EQ(stream.opened(0ns), Status::timed_out) << "it goes on";
    const Looks looks([&] { look_at(borrower, both.receiver); });
    EXPECT_EQ(stream.opened(kPatience), Status::ok);
    EXPECT_EQ(lends.opened(kPatience), Status::ok);
  });
}

TEST_F(Openings, may_begin_where_nothing_may_wait) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    LoanReceiver borrower{both.receiver};
    TaggedReceiver tags{both.receiver, 64};
    LoanPool pool{both.sender, {{64, 1}}};
    const Seed seed = receiver.make_seed(), loan_seed = borrower.make_seed(), tag_seed = tags.make_seed();
    std::optional<StreamSender> stream;
    std::optional<LoanSender> lends;
    std::optional<TaggedSender> writes;
    std::vector<Status> said;
    std::vector<std::optional<ErrorCode>> thrown;
    OwnReceiver own(both.sender, [&](const Notification&) {
      stream.emplace(both.sender, seed, kBegin);
      lends.emplace(pool, loan_seed, kBegin);
      writes.emplace(both.sender, tag_seed, kBegin);
      said = {stream->opened(0ns), stream->opened(1s), lends->opened(0ns), lends->opened(1s)};
      thrown = {thrown_by([&] { stream->open(1s); }), thrown_by([&] { lends->open(1s); }),
                thrown_by([&] { LoanSender gone(pool, loan_seed, kBegin); })};
    });
    Terminus terminus(both.receiver.interface());
    ASSERT_EQ(terminus.send_fast_waiting(own.ticket(), {}, 1, 0, kPatience), Status::ok);
    while (said.empty()) ASSERT_EQ(both.sender.wait(kPatience), Status::ok);
    EXPECT_EQ(said, (std::vector{Status::timed_out, Status::invalid, Status::timed_out, Status::invalid}));
    EXPECT_EQ(thrown[0], ErrorCode::invalid_argument);
    EXPECT_EQ(thrown[1], ErrorCode::invalid_argument);
    EXPECT_EQ(thrown[2], std::nullopt);
    const Looks looks([&] { look_at(borrower, both.receiver); });
    EXPECT_EQ(stream->opened(kPatience), Status::ok);
    EXPECT_EQ(writes->opened(kPatience), Status::ok);
  });
}

// --- peers that stop, and die

struct Seeds {
  Seed stream, loan, tagged;
};

// Shows its seeds, and then takes what comes, if it is told to.
Actor shows_seeds(const Interface::Options& options) {
  return Actor([=](Line& line) {
    Manager manager({.interface = options});
    StreamReceiver receiver{manager};
    LoanReceiver borrower{manager};
    TaggedReceiver tags{manager, 64};
    line.put(Seeds{receiver.make_seed(), borrower.make_seed(), tags.make_seed()});
    while (line.take<char>()) {
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while ((receiver.sender() == 0 || borrower.sender() == 0) && std::chrono::steady_clock::now() < end)
        look_at(borrower, manager);
      line.put(receiver.sender() != 0 && borrower.sender() != 0);
    }
    return 0;
  });
}

// The thread that goes on with an opening is the one that serves the interface while its program is busy.
TEST_F(Openings, leave_the_interface_served_while_process_arrival_takes_long) {
  NEEDS_TWO("one is inside process_arrival while the other asks");
  with_both([](Managers& both) {
    Manager third({.interface = both.sender_options});
    StreamReceiver never{third};
    std::atomic<bool> inside = false, over = false;
    OwnReceiver slow{both.receiver, [&](const Notification&) {
                       inside = true;
                       while (!over) std::this_thread::yield();
                     }};
    OwnReceiver other{both.receiver, [](const Notification&) {}};
    Terminus by{both.sender.interface()};
    ASSERT_EQ(by.wait_for_place(slow.ticket(), kPatience), Status::ok);
    const Seed seed = never.make_seed();
    const base::RunLockGuard nobody_takes(third.interface().engine().lock());
    const StreamSender opens{both.receiver, seed, kBegin};  // is not acknowledged, and goes on
    ASSERT_EQ(by.send_fast(slow.ticket(), {}), Status::ok);
    Status asked = Status::invalid;
    std::thread asks([&] {
      while (!inside) std::this_thread::yield();
      asked = by.wait_for_place(other.ticket(), kPatience);
      over = true;
    });
    while (!inside) both.receiver.poll();  // by the thread that came first
    asks.join();
    EXPECT_EQ(asked, Status::ok);
  });
}

TEST_F(Openings, wait_for_a_program_that_was_stopped_and_goes_on) {
  Actor sleeper = shows_seeds(options());
  Actor sender([&](Line& line) {
    Manager manager({.interface = options()});
    LoanPool pool{manager, {{64, 1}}};
    const auto seeds = line.take<Seeds>();
    if (!seeds) return 1;
    for (int i = 0; i != 3; ++i) {  // such as are given up
      const StreamSender stream{manager, seeds->stream, kBegin};
      const LoanSender lends{pool, seeds->loan, kBegin};
      const TaggedSender writes{manager, seeds->tagged, kBegin};
    }
    StreamSender stream{manager, seeds->stream, kBegin};
    LoanSender lends{pool, seeds->loan, kBegin};
    TaggedSender writes{manager, seeds->tagged, kBegin};
    if (stream.opened(10ms) != Status::timed_out || lends.opened(0ns) != Status::timed_out) return 2;
    if (stream.send(bytes_of("x"), 0ns) != Status::connecting) return 3;
    if (writes.send(bytes_of("x"), 0, 1) != Status::connecting) return 4;
    line.put('s');
    line.take<char>();
    if (stream.opened(kPatience) != Status::ok || lends.opened(kPatience) != Status::ok) return 5;
    return writes.opened(kPatience) == Status::ok ? 0 : 6;
  });
  const auto seeds = sleeper.line().take<Seeds>();
  ASSERT_TRUE(seeds);
  sleeper.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return sleeper.stopped(); }));
  sender.line().put(*seeds);
  ASSERT_TRUE(sender.line().take<char>());
  sleeper.signal(SIGCONT);
  sleeper.line().put('l');
  sender.line().put('g');
  EXPECT_EQ(sender.wait(), 0);
  EXPECT_EQ(sleeper.line().take<bool>(), true);
}

// Killed before the opening, while it stands unanswered, or stopped and then killed.
TEST_F(Openings, say_that_the_program_was_killed) {
  for (const int when : {0, 1, 2}) {
    SCOPED_TRACE(when);
    Actor victim = shows_seeds(options());
    Actor sender([&](Line& line) {
      Manager manager({.interface = options()});
      LoanPool pool{manager, {{64, 1}}};
      const auto seeds = line.take<Seeds>();
      if (!seeds) return 1;
      StreamSender stream{manager, seeds->stream, kBegin};
      LoanSender lends{pool, seeds->loan, kBegin};
      TaggedSender writes{manager, seeds->tagged, kBegin};
      if (when == 1 && writes.opened(kPatience) != Status::ok) return 2;
      line.put('b');
      if (stream.opened(kPatience) != Status::link_ended) return 3;
      if (lends.opened(kPatience) != Status::link_ended) return 4;
      if (when != 1 && writes.opened(kPatience) != Status::link_ended) return 5;
      if (thrown_by([&] { stream.open(0ns); }) != ErrorCode::peer_died) return 6;
      if (thrown_by([&] { lends.open(0ns); }) != ErrorCode::peer_died) return 7;
      if (stream.send(bytes_of("x"), kPatience) != Status::link_ended) return 8;
      return pool.free_buffers() == 1 ? 0 : 9;
    });
    const auto seeds = victim.line().take<Seeds>();
    ASSERT_TRUE(seeds);
    if (when == 0) {
      victim.signal(SIGKILL);
      victim.wait();
    }
    if (when == 2) {
      victim.signal(SIGSTOP);
      ASSERT_TRUE(eventually([&] { return victim.stopped(); }));
    }
    sender.line().put(*seeds);
    ASSERT_TRUE(sender.line().take<char>());
    if (when != 0) victim.signal(SIGKILL);
    EXPECT_EQ(sender.wait(), 0);
  }
}

// --- as coroutines

template <class Sender>
Task opens(Loop& loop, Sender& sender, Status& status) {
  status = co_await loop.open(sender);
}

Task sends_at_once(Loop& loop, StreamSender& sender, std::array<Status, 3>& said) {
  said[0] = co_await loop.send(sender, bytes_of("first"));
  said[1] = co_await loop.flush(sender);
  said[2] = co_await loop.close(sender);
}

// A task that sends before its sender is open waits, as a thread would.
TEST_F(Openings, are_awaited_by_tasks_that_send) {
  NEEDS_TWO("whoever asks looks");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    Unwilling unwilling{both.receiver};
    StreamSender stream{both.sender, receiver.make_seed(), kBegin};
    StreamSender in_vain{both.sender, unwilling.make_seed(), kBegin};
    std::array<Status, 3> said{}, said_in_vain{};
    std::thread looks([&] {
      Record record;
      EXPECT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(record.text(), "first");
      EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
    });
    Loop loop{both.sender};
    loop.start(sends_at_once(loop, stream, said));
    loop.start(sends_at_once(loop, in_vain, said_in_vain));
    loop.run();
    looks.join();
    EXPECT_EQ(said, (std::array{Status::ok, Status::ok, Status::ok}));
    EXPECT_EQ(said_in_vain, (std::array{Status::refused, Status::refused, Status::refused}));
  });
}

TEST_F(Openings, are_awaited_many_in_one_thread) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    LoanReceiver borrower{both.receiver};
    TaggedReceiver tags{both.receiver, 64};
    Unwilling unwilling{both.receiver};
    LoanPool pool{both.sender, {{64, 1}}};
    StreamSender stream{both.sender, receiver.make_seed(), kBegin};
    StreamSender in_vain{both.sender, unwilling.make_seed(), kBegin};
    LoanSender lends{pool, borrower.make_seed(), kBegin};
    TaggedSender writes{both.sender, tags.make_seed(), kBegin};
    std::array<Status, 4> said{};
    const Looks looks([&] { look_at(borrower, both.receiver); });
    Loop loop{both.sender};
    loop.start(opens(loop, stream, said[0]));
    loop.start(opens(loop, in_vain, said[1]));
    loop.start(opens(loop, lends, said[2]));
    loop.start(opens(loop, writes, said[3]));
    loop.run();
    EXPECT_EQ(said, (std::array{Status::ok, Status::refused, Status::ok, Status::ok}));
  });
}

}  // namespace
}  // namespace hamlyn::test
