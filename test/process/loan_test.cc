// Loans: what each side can do with them and to the other, and what not. (How they end: loan_ends_test.cc.)
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "protocols/loan_wire.h"
#include "test/process/loans.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using protocols::LoanAnswer;
using protocols::LoanOpen;
using protocols::LoanWord;

TEST_F(Loans, are_read_where_they_were_written) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{100000, 2}}};
    LoanReceiver receiver{both.receiver};
    const auto sender = opened(pool, receiver);
    EXPECT_EQ(receiver.sender(), both.sender.interface().id());
    Loan loan;
    ASSERT_EQ(pool.take(100000, loan), Status::ok);
    const std::string text = noise(100000, 1);
    fill(loan, text);
    ASSERT_EQ(sender->send(loan), Status::ok);
    Borrowed borrowed;
    ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    EXPECT_EQ(lent(borrowed), text);
    EXPECT_TRUE(borrowed.current());
    loan.bytes()[7] = std::byte{'!'};
    EXPECT_EQ(borrowed.bytes()[7], std::byte{'!'}) << "there is only one of it";
    EXPECT_EQ(receiver.receive(borrowed, 0ns), Status::timed_out);
    EXPECT_FALSE(borrowed) << "receiving gives back what was borrowed before";
    EXPECT_EQ(loan.holders(), 0u);
  });
}

TEST_F(Loans, come_back_when_the_last_has_given_them_back) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver first{both.receiver}, second{both.receiver};
    const auto to_first = opened(pool, first), to_second = opened(pool, second);
    Loan loan, none;
    ASSERT_EQ(pool.take(10, loan), Status::ok);
    fill(loan, "0123456789");
    ASSERT_EQ(to_first->send(loan, 4), Status::ok);
    ASSERT_EQ(to_second->send(loan), Status::ok);
    EXPECT_EQ(loan.holders(), 2u);
    loan = Loan();
    Borrowed here, there;
    ASSERT_EQ(first.receive(here, kPatience), Status::ok);
    ASSERT_EQ(second.receive(there, kPatience), Status::ok);
    EXPECT_EQ(lent(here), "0123");
    EXPECT_EQ(lent(there), "0123456789");
    here.give_back();
    here.give_back();
    EXPECT_EQ(pool.take(1, none), Status::no_buffer);
    EXPECT_EQ(pool.free_buffers(), 0u);
    there.give_back();
    EXPECT_EQ(pool.free_buffers(), 1u);
    EXPECT_EQ(pool.take(1, none), Status::ok);
  });
}

TEST_F(Loans, are_as_large_as_asked_for) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{1000, 1}, {100, 2}}};
    Loan a, b, c, d;
    EXPECT_EQ(pool.take(1001, a), Status::too_long);
    EXPECT_EQ(pool.take(10, a), Status::ok);
    EXPECT_EQ(pool.take(100, b), Status::ok);
    EXPECT_EQ(pool.free_buffers(), 1u) << "small ones first";
    EXPECT_EQ(pool.take(100, c), Status::ok);
    EXPECT_EQ(c.bytes().size(), 100u);
    EXPECT_EQ(pool.take(1, d), Status::no_buffer);
    EXPECT_EQ(pool.take(1, d, 1ms), Status::timed_out);
    c.let_go();
    EXPECT_EQ(pool.take(101, d), Status::ok);
    LoanReceiver receiver{both.receiver};
    const auto sender = opened(pool, receiver);
    EXPECT_EQ(sender->send(d, 102), Status::too_long);
    EXPECT_EQ(sender->send(Loan()), Status::invalid);
    LoanPool other{both.sender, {{100, 1}}};
    Loan of_other;
    ASSERT_EQ(other.take(1, of_other), Status::ok);
    EXPECT_EQ(sender->send(of_other), Status::invalid);
    EXPECT_EQ(sender->held(), 0u);
    for (const std::vector<LoanClass>& bad : {std::vector<LoanClass>{},
                                              {{0, 1}},
                                              {{1, 0}},
                                              {{1, 1025}},
                                              {{(1u << 30) + 1, 1}},
                                              std::vector<LoanClass>(9, {1, 1})})
      EXPECT_EQ(thrown_by([&] { LoanPool(both.sender, bad); }), ErrorCode::invalid_argument);
  });
}

TEST_F(Loans, wake_who_waits_for_a_buffer) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver receiver{both.receiver};
    const auto sender = opened(pool, receiver);
    for (int i = 0; i < 20; ++i) {
      Loan loan;
      ASSERT_EQ(pool.take(1, loan), Status::ok);
      ASSERT_EQ(sender->send(loan), Status::ok);
      loan.let_go();
      Borrowed borrowed;
      ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
      Status status = Status::pending;
      std::thread waits([&] { status = pool.take(1, loan, kPatience); });
      EXPECT_TRUE(comes_true([&] { return waiting_in(both.sender); }));
      borrowed.give_back();
      waits.join();
      ASSERT_EQ(status, Status::ok);
    }
    Loan loan, none;
    ASSERT_EQ(pool.take(1, loan), Status::ok);
    Status status = Status::pending;
    std::thread waits([&] { status = pool.take(1, none, kPatience); });
    EXPECT_TRUE(comes_true([&] { return waiting_in(both.sender); }));
    both.sender.cancel();
    waits.join();
    EXPECT_EQ(status, Status::cancelled);
  });
}

TEST_F(Loans, are_told_to_each_receiver_once_and_no_more_than_it_may_have) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 4}}};
    LoanReceiver receiver{both.receiver};
    const auto sender = opened(pool, receiver, {.most = 2});
    Loan a, b, c;
    ASSERT_EQ(pool.take(1, a), Status::ok);
    ASSERT_EQ(pool.take(1, b), Status::ok);
    ASSERT_EQ(pool.take(1, c), Status::ok);
    ASSERT_EQ(sender->send(a), Status::ok);
    EXPECT_EQ(sender->send(a), Status::invalid);
    ASSERT_EQ(sender->send(b), Status::ok);
    EXPECT_EQ(sender->send(c), Status::no_buffer);
    EXPECT_EQ(sender->send(c, 1, 1ms), Status::timed_out);
    Borrowed first, second;
    ASSERT_EQ(receiver.receive(first, kPatience), Status::ok);
    ASSERT_EQ(receiver.receive(second, kPatience), Status::ok);
    Status status = Status::pending;
    std::thread waits([&] { status = sender->send(c, 1, kPatience); });
    EXPECT_TRUE(comes_true([&] { return waiting_in(both.sender); }));
    first.give_back();
    waits.join();
    EXPECT_EQ(status, Status::ok);
    EXPECT_EQ(sender->held(), 2u);
    EXPECT_EQ(sender->send(a), Status::invalid) << "it has had this one";
  });
}

TEST_F(Loans, are_for_receivers_that_may_have_any) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver receiver{both.receiver};
    EXPECT_EQ(thrown_by([&] { LoanSender(pool, receiver.make_seed(), {.most = 0}); }),
              ErrorCode::invalid_argument);
  });
}

TEST_F(Loans, that_nobody_receives_hold_up_their_sender_alone) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 40}}};
    LoanReceiver sleeps{both.receiver, {.places = 4}}, looks{both.receiver};
    const auto to_sleeper = opened(pool, sleeps), to_other = opened(pool, looks);
    std::vector<Loan> loans(40);
    Status status = Status::ok;
    std::size_t sent = 0;
    Borrowed borrowed;
    for (Loan& loan : loans) {
      ASSERT_EQ(pool.take(1, loan), Status::ok);
      if (status == Status::ok) status = to_sleeper->send(loan);
      if (status == Status::ok) ++sent;
      ASSERT_EQ(to_other->send(loan, 1, kPatience), Status::ok);
      ASSERT_EQ(looks.receive(borrowed, kPatience), Status::ok);
    }
    EXPECT_EQ(status, Status::no_place);
    EXPECT_GE(sent, 4u);
    EXPECT_EQ(to_sleeper->send(loans.back(), 1, 1ms), Status::timed_out);
  });
}

TEST_F(Loans, can_be_taken_back_by_force) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver first{both.receiver}, second{both.receiver};
    const auto to_first = opened(pool, first), to_second = opened(pool, second);
    Loan loan;
    ASSERT_EQ(pool.take(3, loan), Status::ok);
    fill(loan, "one");
    ASSERT_EQ(to_first->send(loan), Status::ok);
    ASSERT_EQ(to_second->send(loan), Status::ok);
    Borrowed late, fresh;
    ASSERT_EQ(first.receive(late, kPatience), Status::ok);
    EXPECT_TRUE(late.current());
    loan.withdraw();
    EXPECT_EQ(loan.holders(), 0u);
    EXPECT_FALSE(late.current());
    fill(loan, "two");
    ASSERT_EQ(to_first->send(loan), Status::ok) << "it is a new loan";
    ASSERT_EQ(to_second->send(loan), Status::ok);
    ASSERT_EQ(second.receive(fresh, kPatience), Status::ok);
    EXPECT_FALSE(fresh.current()) << "the one before: it was withdrawn unread";
    ASSERT_EQ(second.receive(fresh, kPatience), Status::ok);
    EXPECT_EQ(lent(fresh), "two");
    EXPECT_TRUE(fresh.current());
    EXPECT_EQ(loan.holders(), 2u);
    late.give_back();
    EXPECT_EQ(loan.holders(), 2u) << "what it gives back is not what it has now";
    to_first->withdraw();
    EXPECT_EQ(loan.holders(), 1u);
    loan.let_go();
    fresh.give_back();
    ASSERT_EQ(pool.take(5, loan), Status::ok);
    ASSERT_EQ(first.receive(late, kPatience), Status::ok);
    EXPECT_FALSE(late.current());
    late.give_back();
    ASSERT_EQ(to_first->send(loan), Status::ok);
    EXPECT_EQ(loan.holders(), 1u);
  });
}

TEST_F(Loans, of_a_revoked_pool_are_seen_as_they_were) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 2}}};
    LoanReceiver receiver{both.receiver};
    auto sender = opened(pool, receiver);
    Loan loan;
    ASSERT_EQ(pool.take(3, loan), Status::ok);
    fill(loan, "one");
    ASSERT_EQ(sender->send(loan), Status::ok);
    Borrowed borrowed;
    ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    pool.revoke();
    EXPECT_FALSE(borrowed.current());
    EXPECT_EQ(text_of(loan.bytes()), "one");
    fill(loan, "two");
    EXPECT_EQ(lent(borrowed), "one");
    EXPECT_EQ(sender->end(), Status::closed);
    EXPECT_EQ(sender->send(loan), Status::closed);
    Borrowed none;
    EXPECT_EQ(receiver.receive(none, kPatience), Status::closed);
    borrowed.give_back();
    sender.reset();
    loan.let_go();
    EXPECT_EQ(pool.free_buffers(), 2u);
    sender = opened(pool, receiver);
    ASSERT_EQ(pool.take(3, loan), Status::ok);
    fill(loan, "two");
    ASSERT_EQ(sender->send(loan), Status::ok);
    ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    EXPECT_EQ(lent(borrowed), "two");
  });
}

TEST_F(Loans, need_a_seed_that_is_good_and_new) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver receiver{both.receiver};
    const auto error_of = [&](const Seed& seed) {
      const Looking looking(receiver);
      return thrown_by([&] { LoanSender(pool, seed, {.timeout = kPatience}); });
    };
    const Seed first = receiver.make_seed();
    EXPECT_EQ(error_of(first), std::nullopt);
    EXPECT_EQ(error_of(first), ErrorCode::seed_used);
    const Seed second = receiver.make_seed();
    EXPECT_EQ(error_of(first), ErrorCode::seed_forged) << "of before";
    Seed forged = second;
    forged.ticket.key ^= 1;
    EXPECT_EQ(error_of(forged), ErrorCode::seed_forged);
    EXPECT_EQ(error_of(second), std::nullopt) << "as good as before";
    const Seed stale = LoanReceiver(both.receiver).make_seed();
    EXPECT_EQ(error_of(stale), ErrorCode::seed_stale);
    EXPECT_EQ(error_of(DatagramReceiver(both.receiver, 100).make_seed()), ErrorCode::seed_wrong_kind);
    EXPECT_EQ(error_of(Seed()), ErrorCode::seed_invalid);
    LoanReceiver asleep{both.receiver};
    EXPECT_EQ(thrown_by([&] { LoanSender(pool, asleep.make_seed(), {.timeout = 1ms}); }),
              ErrorCode::timed_out);
    EXPECT_EQ(pool.free_buffers(), 1u);
  });
}

// Inside process_arrival nobody is answered, as that takes a while: it goes on knocking.
TEST_F(Loans, are_not_answered_inside_process_arrival) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver receiver{both.receiver};
    Status answer = Status::pending;
    bool never_waits = true;
    OwnReceiver peeps{both.receiver, [&](const Notification&) {
                        Borrowed borrowed;
                        never_waits &= receiver.receive(borrowed, 1ms) == Status::invalid;
                        answer = receiver.receive(borrowed, 0ns);
                      }};
    std::unique_ptr<LoanSender> sender;
    std::atomic<bool> done = false;
    Terminus terminus(both.sender.interface());
    const auto peep_while = [&](Status said) {
      while (answer == said) {
        static_cast<void>(terminus.send_fast(peeps.ticket(), {}));
        both.receiver.poll();
      }
    };
    peep_while(Status::pending);
    EXPECT_EQ(answer, Status::timed_out);
    EXPECT_TRUE(never_waits);
    std::thread opens([&, seed = receiver.make_seed()] {
      sender = std::make_unique<LoanSender>(pool, seed, LoanSenderOptions{.timeout = kPatience});
      done = true;
    });
    peep_while(Status::timed_out);
    EXPECT_EQ(answer, Status::invalid);
    Borrowed borrowed;
    while (!done) static_cast<void>(receiver.receive(borrowed, 1ms));
    opens.join();
    EXPECT_EQ(sender->end(), Status::ok);
  });
}

TEST_F(Loans, stay_lent_while_nothing_else_happens) {
  in_child([&] {
    Interface::Options quick = options();
    quick.stall = 600ms;  // of work that is pending, and none is
    Managers both{quick, quick};
    LoanPool pool{both.sender, {{64, 1}}};
    LoanReceiver receiver{both.receiver};
    const auto sender = opened(pool, receiver);
    Loan loan;
    ASSERT_EQ(pool.take(1, loan), Status::ok);
    ASSERT_EQ(sender->send(loan), Status::ok);
    Borrowed borrowed, none;
    ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    EXPECT_EQ(receiver.receive(none, 1300ms), Status::timed_out) << "two looks for stalls pass";
    both.sender.poll();
    EXPECT_EQ(sender->end(), Status::ok);
    EXPECT_EQ(loan.holders(), 1u);
  });
}

TEST_F(Loans, are_told_of_by_a_descriptor) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 4}}};
    LoanReceiver receiver{both.receiver};
    const auto sender = opened(pool, receiver);
    pollfd waiting{receiver.descriptor(), POLLIN, 0};
    Borrowed borrowed;
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(receiver.receive(borrowed, 0ns), Status::timed_out);
      Loan loan;
      ASSERT_EQ(pool.take(1, loan), Status::ok);
      ASSERT_EQ(sender->send(loan), Status::ok);
      ASSERT_EQ(poll(&waiting, 1, 30000), 1);
      ASSERT_EQ(receiver.receive(borrowed, 0ns), Status::ok);
    }
  });
}

// As the kernel says of a thread of ours.
bool asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:"))
      return line.find('S') != line.npos && line.find("(sleeping)") != line.npos;
  }
  return false;
}

TEST_F(Loans, that_are_waited_for_are_so_no_longer_when_their_receiver_goes) {
  with_both([](Managers& both) {
    for (int turn = 0; turn < 10; ++turn) {
      auto receiver = std::make_unique<LoanReceiver>(both.receiver);
      std::vector<std::thread> threads;
      std::atomic<int> cancelled = 0;
      std::array<std::atomic<pid_t>, 3> numbers{};
      for (std::atomic<pid_t>& number : numbers) {
        threads.emplace_back([&, raw = receiver.get()] {
          number = ::gettid();
          Borrowed borrowed;
          cancelled += raw->receive(borrowed, kPatience) == Status::cancelled;
        });
      }
      const auto all_wait = [&] {
        return std::ranges::all_of(numbers, [](const auto& number) { return number != 0 && asleep(number); });
      };
      EXPECT_TRUE(eventually(all_wait));
      receiver.reset();
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(cancelled, 3);
    }
  });
}

TEST_F(Loans, are_nothing_to_a_forked_child) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 2}}};
    LoanReceiver receiver{both.receiver};
    auto sender = opened(pool, receiver);
    Loan loan, none;
    ASSERT_EQ(pool.take(1, loan), Status::ok);
    ASSERT_EQ(sender->send(loan), Status::ok);
    Borrowed borrowed, nothing;
    ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    const pid_t child = fork();
    if (child == 0) {
      bool good = pool.take(1, none) == Status::forked && sender->send(loan) == Status::forked &&
                  receiver.receive(nothing, 0ns) == Status::forked && !borrowed.current() &&
                  sender->held() == 0 && pool.free_buffers() == 0;
      good = good && thrown_by([&] { static_cast<void>(receiver.make_seed()); }) == ErrorCode::forked;
      good = good && thrown_by([&] { LoanPool(both.sender, {{1, 1}}); }) == ErrorCode::forked;
      good = good && thrown_by([&] { LoanReceiver{both.receiver}; }) == ErrorCode::forked;
      borrowed.give_back();
      loan.withdraw();
      loan.let_go();
      sender.reset();
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(loan.holders(), 1u) << "nothing has changed here";
  });
}

}  // namespace
}  // namespace hamlyn::test
