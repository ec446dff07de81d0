// How loans end: in good order, by who gives up while it is let in, and by death.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "test/process/loans.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class ChoosyBorrower final : public LoanReceiver {
 public:
  using LoanReceiver::LoanReceiver;
  ~ChoosyBorrower() override { retire(); }
  std::atomic<std::uint64_t> wanted = 0;
  std::atomic<int> asked = 0;

 private:
  bool admit(std::uint64_t sender) noexcept override {
    ++asked;
    return sender == wanted;
  }
};

TEST_F(Loans, are_refused_from_whom_the_receiver_does_not_want_and_its_seed_stays_good) {
  with_both([](Managers& both) {
    ChoosyBorrower receiver{both.receiver};
    LoanPool pool{both.sender, {{64, 1}}};
    const Seed seed = receiver.make_seed();
    const Looking looking(receiver);
    const auto grows = [&] { LoanSender(pool, seed, {.timeout = kPatience}); };
    for (int i = 0; i < 5; ++i) EXPECT_EQ(thrown_by(grows), ErrorCode::peer_refused);
    EXPECT_EQ(said_by(grows), "the receiver does not want this sender");
    EXPECT_EQ(receiver.sender(), 0u);
    receiver.wanted = both.sender.interface().id();
    EXPECT_EQ(thrown_by(grows), std::nullopt);
    EXPECT_EQ(receiver.asked, 7) << "once for each who came";
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

// As the publisher of examples/market_data.cc lets strangers in: on a thread that serves nobody else.
TEST_F(Loans, reach_others_while_who_never_looks_is_waited_for) {
  with_both([](Managers& both) {
    constexpr int kLoans = 200;
    LoanPool pool{both.sender, {{64, 8}}};
    LoanReceiver looks{both.receiver}, never_looks{both.receiver};
    const auto sender = opened(pool, looks);
    const Seed seed = never_looks.make_seed();
    std::atomic<bool> over = false;
    std::thread opens([&] {
      EXPECT_EQ(thrown_by([&] { LoanSender(pool, seed, {.timeout = kPatience}); }), std::nullopt);
      over = true;
    });
    int served = 0;
    for (Borrowed borrowed; served != kLoans && !over; ++served) {
      Loan loan;
      ASSERT_EQ(pool.take(64, loan, kPatience), Status::ok);
      ASSERT_EQ(sender->send(loan, 64, kPatience), Status::ok);
      ASSERT_EQ(looks.receive(borrowed, kPatience), Status::ok);
    }
    EXPECT_EQ(served, kLoans);
    const Looking looking(never_looks);
    opens.join();
  });
}

// A thread that would ask what the class was ends before that has gone.
TEST_F(Loans, ask_nobody_who_has_gone) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    for (int i = 0; i < 10; ++i) {
      auto receiver = std::make_unique<ChoosyBorrower>(both.receiver);
      Status status = Status::ok;
      std::thread receives([&, raw = receiver.get()] {
        Borrowed borrowed;
        status = raw->receive(borrowed, kPatience);
      });
      EXPECT_EQ(
          thrown_by([&, seed = receiver->make_seed()] { LoanSender(pool, seed, {.timeout = kPatience}); }),
          ErrorCode::peer_refused);
      receiver.reset();  // it has asked, so it is inside
      receives.join();
      EXPECT_EQ(status, Status::cancelled);
    }
  });
}

TEST_F(Loans, end_in_good_order_from_either_side) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 2}}};
    std::optional<LoanReceiver> receiver{std::in_place, both.receiver};
    auto sender = opened(pool, *receiver);
    Loan loan;
    ASSERT_EQ(pool.take(4, loan), Status::ok);
    fill(loan, "last");
    ASSERT_EQ(sender->send(loan), Status::ok);
    loan.let_go();
    sender.reset();
    EXPECT_EQ(pool.free_buffers(), 1u);
    Borrowed borrowed, none;
    ASSERT_EQ(receiver->receive(borrowed, kPatience), Status::ok) << "what came before the end is received";
    EXPECT_EQ(lent(borrowed), "last");
    EXPECT_EQ(receiver->receive(none, kPatience), Status::closed);
    EXPECT_EQ(pool.free_buffers(), 1u) << "the sender has gone, and it is still lent";
    borrowed.give_back();
    EXPECT_EQ(pool.free_buffers(), 2u);

    sender = opened(pool, *receiver);
    ASSERT_EQ(pool.take(4, loan), Status::ok);
    fill(loan, "kept");
    ASSERT_EQ(sender->send(loan), Status::ok);
    ASSERT_EQ(receiver->receive(borrowed, kPatience), Status::ok);
    receiver.reset();
    EXPECT_TRUE(comes_true([&] {
      both.sender.poll();
      return sender->end() == Status::closed;
    }));
    EXPECT_EQ(loan.holders(), 0u);
    EXPECT_EQ(sender->send(loan), Status::closed);
    EXPECT_EQ(lent(borrowed), "kept") << "it stays readable";
  });
}

TEST_F(Loans, can_be_read_after_everything_else_has_gone) {
  with_both([](Managers& both) {
    Borrowed borrowed;
    {
      LoanReceiver receiver{both.receiver};
      {
        LoanPool pool{both.sender, {{64, 1}}};
        const auto sender = opened(pool, receiver);
        Loan loan;
        ASSERT_EQ(pool.take(4, loan), Status::ok);
        fill(loan, "kept");
        ASSERT_EQ(sender->send(loan), Status::ok);
        ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
      }
      EXPECT_EQ(lent(borrowed), "kept");
    }
    EXPECT_EQ(lent(borrowed), "kept");
    EXPECT_FALSE(borrowed.current());
  });
}

// What one of them takes out of the queue is for all.
TEST_F(Loans, that_end_are_not_waited_for_by_any_thread) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    for (int i = 0; i < 10; ++i) {
      LoanReceiver receiver{both.receiver};
      auto sender = opened(pool, receiver);
      Status statuses[3];
      std::vector<std::thread> threads;
      for (Status& status : statuses) {
        threads.emplace_back([&] {
          Borrowed borrowed;
          status = receiver.receive(borrowed, kPatience);
        });
      }
      sender.reset();
      for (std::thread& thread : threads) thread.join();
      for (const Status status : statuses) EXPECT_EQ(status, Status::closed);
    }
  });
}

// The receiver has answered when the sender's time is over: it is not left waiting for loans.
TEST_F(Loans, of_who_gives_up_while_it_is_let_in_are_not_waited_for) {
  with_both([](Managers& both) {
    constexpr std::chrono::milliseconds kTime{50};
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver receiver{both.receiver};
    std::optional<ErrorCode> thrown;
    const auto over = std::chrono::steady_clock::now() + kTime;
    std::thread opens([&, seed = receiver.make_seed()] {
      thrown = thrown_by([&] { LoanSender(pool, seed, {.timeout = kTime}); });
    });
    while (!waiting_in(both.sender) && std::chrono::steady_clock::now() < over) std::this_thread::yield();
    Deafened deafened(both.sender, both.receiver);
    Borrowed borrowed;
    Status status = Status::timed_out;
    while (status == Status::timed_out && std::chrono::steady_clock::now() < over + kTime)
      status = receiver.receive(borrowed, 1ms);
    deafened.hear();
    opens.join();
    EXPECT_EQ(thrown, ErrorCode::timed_out);
    while (receiver.sender() != 0 && status == Status::timed_out)
      status = receiver.receive(borrowed, kPatience);
    EXPECT_TRUE(status == Status::closed || receiver.sender() == 0) << name(status);
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

// Opens, receives `most` loans, says so, and stays.
int borrow(Line& line, const Interface::Options& options, int most) {
  Manager manager({.interface = options});
  LoanReceiver receiver{manager};
  line.put(receiver.make_seed());
  std::vector<Borrowed> all(static_cast<std::size_t>(most));
  for (Borrowed& each : all) {
    if (receiver.receive(each, kPatience) != Status::ok) return 1;
  }
  line.put('x');
  line.take<char>();
  return 0;
}

TEST_F(Loans, of_a_receiver_that_is_killed_come_back) {
  Actor receiver([&](Line& line) { return borrow(line, options(), 2); });
  Actor sender([&](Line& line) {
    const auto seed = line.take<Seed>();
    Manager manager({.interface = options()});
    LoanPool pool{manager, {{65536, 3}}};
    LoanSender to{pool, seed.value(), {.timeout = kPatience}};
    Loan loan;
    for (int i = 0; i < 3; ++i) {  // the third is not received
      if (pool.take(65536, loan) != Status::ok || to.send(loan) != Status::ok) return 1;
    }
    loan.let_go();
    if (pool.take(1, loan) != Status::no_buffer || to.held() != 3) return 2;
    line.put('x');
    if (pool.take(1, loan, kPatience) != Status::ok) return 3;
    if (pool.free_buffers() != 2 || to.end() != Status::link_ended) return 4;
    if (to.send(loan) != Status::link_ended || loan.holders() != 0) return 5;
    return 0;
  });
  const auto seed = receiver.line().take<Seed>();
  ASSERT_TRUE(seed);
  sender.line().put(*seed);
  EXPECT_TRUE(receiver.line().take<char>());
  EXPECT_TRUE(sender.line().take<char>());
  receiver.signal(SIGKILL);
  EXPECT_EQ(sender.wait(), 0);
}

TEST_F(Loans, of_a_sender_that_is_killed_stay_readable) {
  Actor receiver([&](Line& line) {
    Manager manager({.interface = options()});
    LoanReceiver loans{manager};
    line.put(loans.make_seed());
    Borrowed first, second, none;
    if (loans.receive(first, kPatience) != Status::ok) return 1;
    line.put('x');
    if (loans.receive(second, kPatience) != Status::ok) return 2;
    if (loans.receive(none, kPatience) != Status::link_ended) return 3;
    if (loans.receive(none, 0ns) != Status::link_ended) return 4;
    if (lent(first) != "one" || lent(second) != "two") return 5;
    first.give_back();
    return lent(second) == "two" ? 0 : 6;
  });
  Actor sender([&](Line& line) {
    const auto seed = line.take<Seed>();
    Manager manager({.interface = options()});
    LoanPool pool{manager, {{65536, 2}}};
    LoanSender to{pool, seed.value(), {.timeout = kPatience}};
    Loan one, two;
    if (pool.take(3, one) != Status::ok || pool.take(3, two) != Status::ok) return 1;
    fill(one, "one");
    fill(two, "two");
    if (to.send(one) != Status::ok || to.send(two) != Status::ok) return 2;
    line.put('x');
    line.take<char>();
    return 3;
  });
  const auto seed = receiver.line().take<Seed>();
  ASSERT_TRUE(seed);
  sender.line().put(*seed);
  EXPECT_TRUE(receiver.line().take<char>());
  EXPECT_TRUE(sender.line().take<char>());
  sender.signal(SIGKILL);
  EXPECT_EQ(receiver.wait(), 0);
}

TEST_F(Loans, survive_receivers_that_are_killed_at_any_instant) {
  Actor sender([&](Line& line) {
    Manager manager({.interface = options()});
    LoanPool pool{manager, {{4096, 8}}};
    while (const auto seed = line.take<Seed>()) {
      if (seed->ticket.interface == 0) break;
      std::optional<LoanSender> to;
      thrown_by([&] { to.emplace(pool, *seed, LoanSenderOptions{.timeout = 100ms}); });
      line.put('x');
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (to && (to->end() == Status::ok || to->held() != 0)) {
        Loan loan;
        if (pool.take(4096, loan, 10ms) == Status::ok) static_cast<void>(to->send(loan));
        if (std::chrono::steady_clock::now() > end) return 1;
      }
    }
    return comes_true([&] { return manager.poll() || pool.free_buffers() == 8; }) ? 0 : 2;
  });
  for (int i = 0; i < 10; ++i) {
    Actor receiver([&](Line& line) {
      Manager manager({.interface = options()});
      LoanReceiver loans{manager};
      line.put(loans.make_seed());
      std::vector<Borrowed> kept(3);
      for (std::size_t next = 0;; ++next) {
        if (loans.receive(kept[next % kept.size()], kPatience) != Status::ok) return 1;
      }
    });
    const auto seed = receiver.line().take<Seed>();
    ASSERT_TRUE(seed);
    sender.line().put(*seed);
    EXPECT_TRUE(sender.line().take<char>());
    std::this_thread::sleep_for(std::chrono::microseconds(i * 137));  // any instant will do
    receiver.signal(SIGKILL);
    receiver.wait();
  }
  sender.line().put(Seed());
  EXPECT_EQ(sender.wait(), 0);
}

// Bytes of packets that an interface has put for a peer.
std::uint64_t put_for(Manager& manager, std::uint64_t peer) {
  library::Engine& engine = manager.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  return engine.core().find_link(peer)->counters->bytes_out;
}

// Ends the link with `peer`, which is sent a packet that cannot be.
void end_link(Manager& manager, std::uint64_t peer) {
  library::Engine& engine = manager.interface().engine();
  const base::RunLockGuard guard(engine.lock());
  interface::Packet packet {};
  set_lead(packet, static_cast<interface::Operation>(255), 0, 0);
  EXPECT_EQ(engine.core().find_link(peer)->put(packet, nullptr, nullptr), Status::ok);
}

// While the sender does not look its receiver agrees, their link ends, and another one is made. The sender
// hears of that end, whatever it has heard of the answer.
TEST_F(Loans, are_not_lent_over_another_link_than_the_receiver_has_agreed_on) {
  NEEDS_TWO("the sender is held while the receiver goes on");
  with_both([](Managers& both) {
    const std::uint64_t sender = both.sender.interface().id(), receiver = both.receiver.interface().id();
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver borrows{both.receiver};
    OwnReceiver here{both.sender, [](const Notification&) {}},
        there{both.receiver, [](const Notification&) {}};
    Terminus to_receiver{both.sender.interface()}, to_sender{both.receiver.interface()};
    ASSERT_EQ(to_receiver.connect(there.ticket(), kPatience), Status::ok);
    Status end = Status::ok;
    std::thread opens;
    std::optional<protocols::Dispatcher::Guard> busy;
    const Seed seed = borrows.make_seed();  // by the lock that is held next
    {
      const base::RunLockGuard nobody_takes(both.receiver.interface().engine().lock());
      const std::uint64_t before = put_for(both.sender, receiver);
      opens = std::thread([&] {
        const auto thrown = thrown_by([&] {
          const LoanSender lends(pool, seed, {.timeout = kPatience});
          while (both.sender.poll()) {
          }
          end = lends.end();
        });
        if (thrown == ErrorCode::peer_died) end = Status::link_ended;
      });
      // The sender has asked to be let in, and not only for places.
      EXPECT_TRUE(
          comes_true([&] { return put_for(both.sender, receiver) >= before + sizeof(protocols::LoanOpen); }));
      busy.emplace(both.sender.inside());
    }
    Borrowed none;
    EXPECT_TRUE(
        comes_true([&] { return borrows.receive(none, 1ms) != Status::ok && borrows.sender() == sender; }));
    end_link(both.receiver, sender);
    EXPECT_EQ(borrows.receive(none, kPatience), Status::link_ended);
    EXPECT_EQ(to_sender.connect(here.ticket(), kPatience), Status::ok);
    busy.reset();
    opens.join();
    EXPECT_EQ(end, Status::link_ended);
  });
}

}  // namespace
}  // namespace hamlyn::test
