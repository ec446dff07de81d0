// Loans, whole, between processes of a simulated host.
#include <algorithm>
#include <array>

#include "hamlyn/protocols/loan.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

void borrow(Hosted& all, std::string_view name, int count) {
  Manager manager;
  LoanReceiver receiver(manager);
  manager.publish(name, receiver.make_seed());
  std::vector<Borrowed> held;
  for (int i = 0;; ++i) {
    Borrowed borrowed;
    const Status status = receiver.receive(borrowed, 1s);
    if (status == Status::closed) return all.expect(i == count, "loans are lost");
    const bool never_came = status == Status::timed_out && receiver.sender() == 0;
    if (status != Status::ok)
      return all.expect(!all.alive(1) && (never_came || status != Status::timed_out),
                        "nobody tells of the death");
    const auto all_same = [&](std::byte each) { return each == static_cast<std::byte>(i); };
    all.expect(borrowed.current() && std::ranges::all_of(borrowed.bytes(), all_same), "another loan");
    held.push_back(std::move(borrowed));
    if (held.size() == 2) held.erase(held.begin());  // before the one after it
  }
}

// Three buffers, three receivers: the first process lends each of six fillings to all of them.
void lend_to_three(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{4096, 3}});
    std::vector<std::unique_ptr<LoanSender>> senders;
    for (const auto* name : {"a", "b", "c"}) {
      const std::uint64_t number = 2 + senders.size();
      const std::optional<Seed> seed = seed_of(manager, name);
      try {
        if (seed) senders.push_back(std::make_unique<LoanSender>(pool, *seed));
        all.expect(seed.has_value() || !all.alive(number), "no seed");
      } catch (const Error& error) {
        all.expect(!all.alive(2) && error.code() != ErrorCode::timed_out, "it cannot be opened");
      }
    }
    for (int i = 0; i < 6; ++i) {
      Loan loan;
      all.expect(pool.take(4096, loan, 1s) == Status::ok, "no buffer comes back");
      if (!all.alive()) return;
      std::ranges::fill(loan.bytes(), static_cast<std::byte>(i));
      for (const auto& sender : senders) {
        const Status status = sender->send(loan, 4096, 1s);
        all.expect(status == Status::ok || (!all.alive(2) && status != Status::timed_out), "it is not lent");
        all.expect(status != Status::ok || sender->send(loan) == Status::invalid || !all.alive(2),
                   "it is lent twice");
      }
    }
    senders.clear();
    Loan all_of_them[3];
    for (Loan& each : all_of_them) all.expect(pool.take(1, each, 1s) == Status::ok, "a buffer is lost");
  });
  for (const auto* name : {"a", "b", "c"}) hosted.add([=](Hosted& all) { borrow(all, name, 6); });
}
TEST(HostedLoans, are_read_by_three_and_come_back) {
  Hosted hosted;
  lend_to_three(hosted);
  hosted.run();
}
TEST(HostedLoans, come_back_from_the_dead_at_any_time) { with_a_death_at_any_time(2, lend_to_three); }
TEST(HostedLoans, tell_of_the_death_of_the_pool_at_any_time) { with_a_death_at_any_time(1, lend_to_three); }

// A pool of one buffer, which is lent.
struct LenderOfOne {
  explicit LenderOfOne(Hosted& all) {
    static_cast<void>(pool.take(8, loan));
    all.expect(sender.send(loan) == Status::ok, "it is not lent");
  }
  Manager manager;
  LoanPool pool{manager, {{64, 1}}};
  LoanSender sender{pool, manager.lookup("a", 1s)};
  Loan loan;
};

// One was taken back by force, its buffer lent anew, and both are given back, the later one first.
TEST(HostedLoans, come_back_though_the_same_buffer_was_borrowed_twice) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    LenderOfOne lender(all);
    all.host.pause(1'000'000);
    lender.loan.withdraw();
    all.expect(lender.sender.send(lender.loan) == Status::ok, "it is not lent anew");
    lender.loan.let_go();
    all.expect(lender.pool.take(8, lender.loan, 1s) == Status::ok, "the buffer is lost");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanReceiver receiver(manager);
    manager.publish("a", receiver.make_seed());
    Borrowed first, second;
    all.expect(receiver.receive(first, 1s) == Status::ok && first.current(), "no loan");
    all.expect(receiver.receive(second, 1s) == Status::ok && second.current(), "no second loan");
    all.expect(!first.current(), "what was taken back is current");
    second.give_back();
    first.give_back();
    all.host.pause(1'000'000'000);
  });
  hosted.run();
}

// The one place at the receiver is taken: the last word waits for it.
TEST(HostedLoans, end_in_good_order_though_their_manager_goes_at_once) {
  Hosted hosted;
  hosted.add([](Hosted& all) { LenderOfOne lender(all); });
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanReceiver receiver(manager, {.places = 1});
    manager.publish("a", receiver.make_seed());
    Borrowed borrowed;
    while (receiver.sender() == 0) {
      all.expect(receiver.receive(borrowed, 0s) == Status::timed_out, "a loan came with the opening");
      all.host.pause(1000);
    }
    all.host.pause(1'000'000);
    all.expect(receiver.receive(borrowed, 1s) == Status::ok, "no loan");
    all.expect(receiver.receive(borrowed, 1s) == Status::closed, "a good end is taken for a death");
  });
  hosted.run();
}

TEST(HostedLoans, are_shown_to_nobody_any_more_once_their_pool_was_revoked) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{64, 2}});
    const Seed seed = manager.lookup("a", 1s);
    LoanSender sender(pool, seed);
    all.expect(code_of([&] { LoanSender(pool, seed, {.timeout = 1ms}); }) == ErrorCode::seed_used,
               "a seed serves twice");
    Loan loan;
    static_cast<void>(pool.take(8, loan));
    loan.bytes()[0] = std::byte{1};
    all.expect(sender.send(loan) == Status::ok, "it is not lent");
    all.host.pause(1'000'000);
    pool.revoke();
    loan.bytes()[0] = std::byte{2};
    all.expect(sender.send(loan) == Status::closed, "it can be lent still");
    loan.let_go();
    all.expect(pool.free_buffers() == 2, "not all came back");
    all.host.pause(3'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanReceiver receiver(manager);
    manager.publish("a", receiver.make_seed());
    Borrowed borrowed, next;
    all.expect(receiver.receive(borrowed, 1s) == Status::ok, "no loan");
    all.expect(receiver.receive(next, 1s) == Status::closed, "it is not told");
    all.expect(!borrowed.current() && borrowed.bytes()[0] == std::byte{1}, "the old page was written");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
