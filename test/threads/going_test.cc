// Whoever destroys an object ends the calls that wait on it in other threads.
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "test/threads/going.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Going : public WithManagers {
 protected:
  // At the other side, for everything that a terminus does.
  struct There {
    explicit There(Managers& both)
        : area(both.receiver.interface(), 4096),
          queue(both.receiver.interface()),
          slot(area, queue, {.entries = 1, .places = 1, .fetches = true, .gets = 64, .puts = true}) {}
    MessageArea area;
    NotificationQueue queue;
    Slot slot;
  };

  // Calls `call` of a terminus to a slot that does not answer, before there is a link and after, when `fill`
  // has left no room.
  template <class Call, class Fill>
  void expect_terminus_lets_go(Call call, Fill fill) {
    with_both([&](Managers& both) {
      for (const bool linked : {false, true}) {
        const There there(both);
        const Ticket ticket = there.slot.ticket();
        auto terminus = std::make_unique<Terminus>(both.sender.interface());
        if (linked) {
          ASSERT_EQ(terminus->connect(ticket, kPatience), Status::ok);
        }
        const Deaf deaf(both.receiver.interface());
        if (linked) fill(*terminus, ticket);
        expect_let_go([&, raw = terminus.get()] { return call(*raw, ticket); }, waits_in(*terminus),
                      [&] { terminus.reset(); });
      }
    });
  }
  template <class Call>
  void expect_terminus_lets_go(Call call) {
    expect_terminus_lets_go(call, [](Terminus&, const Ticket&) {});
  }
};

TEST_F(Going, a_queue_lets_go_who_receives) {
  with_both([](Managers& both) {
    for (const auto timeout : {std::chrono::nanoseconds(kPatience), std::chrono::nanoseconds::max()}) {
      auto queue = std::make_unique<NotificationQueue>(both.receiver.interface());
      const auto receive = [&, raw = queue.get()] {
        Notification next;
        return raw->receive(next, timeout);
      };
      expect_let_go(receive, waits_in(*queue), [&] { queue.reset(); });
    }
  });
}

TEST_F(Going, a_queue_lets_go_all_who_receive) {
  with_both([](Managers& both) {
    auto queue = std::make_unique<NotificationQueue>(both.receiver.interface());
    std::atomic<int> cancelled = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, raw = queue.get()] {
        Notification next;
        cancelled += raw->receive(next, kPatience) == Status::cancelled;
      });
    }
    while (waiting_on(both.receiver.interface(), queue->inside().calls) != 3) std::this_thread::yield();
    queue.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cancelled, 3);
  });
}

TEST_F(Going, a_slot_lets_go_who_waits_for_bytes) {
  with_both([](Managers& both) {
    Interface& interface = both.receiver.interface();
    MessageArea area(interface, 4096);
    NotificationQueue queue(interface);
    for (const auto timeout : {std::chrono::nanoseconds(kPatience), std::chrono::nanoseconds::max()}) {
      auto slot = std::make_unique<Slot>(area, queue, Slot::Options{.puts = true});
      const auto wait = [&, raw = slot.get()] { return raw->wait_landed(1, timeout); };
      expect_let_go(wait, waits_on(interface, *(slot.get()->*reveal(InsideSlot{}))), [&] { slot.reset(); });
    }
  });
}

TEST_F(Going, a_terminus_lets_go_who_connects) {
  with_both([](Managers& both) {
    const There there(both);
    const Ticket ticket = there.slot.ticket();
    auto terminus = std::make_unique<Terminus>(both.sender.interface());
    const Deaf deaf(both.receiver.interface());
    const auto connect = [raw = terminus.get(), ticket] { return raw->connect(ticket, kPatience); };
    expect_let_go(connect, waits_in(*terminus), [&] { terminus.reset(); });
  });
}

TEST_F(Going, a_terminus_lets_go_who_waits_for_a_place) {
  expect_terminus_lets_go(
      [](Terminus& terminus, const Ticket& ticket) { return terminus.wait_for_place(ticket, kPatience); },
      [](Terminus& terminus, const Ticket& ticket) {
        while (terminus.send_fast(ticket, {}) == Status::ok) {
        }
      });
}

TEST_F(Going, a_terminus_lets_go_who_waits_for_a_send) {
  with_both([](Managers& both) {
    const There there(both);
    const Ticket ticket = there.slot.ticket(0);
    auto terminus = std::make_unique<Terminus>(both.sender.interface());
    const Deaf deaf(both.receiver.interface());
    const auto send = [raw = terminus.get(), ticket] {
      SendHandle handle;
      const Status status = raw->send(ticket, bytes_of("x"), {.acknowledged = true}, &handle);
      return status == Status::pending ? raw->wait(handle, kPatience) : status;
    };
    expect_let_go(send, waits_in(*terminus), [&] { terminus.reset(); });
  });
}

TEST_F(Going, a_terminus_lets_go_who_confirms) {
  expect_terminus_lets_go(
      [](Terminus& terminus, const Ticket& ticket) { return terminus.confirm(ticket, kPatience); });
}

TEST_F(Going, a_terminus_lets_go_who_puts) {
  const std::vector<std::byte> data(4096);
  expect_terminus_lets_go(
      [&](Terminus& terminus, const Ticket& ticket) { return terminus.put(ticket, data, {}, kPatience); },
      [&](Terminus& terminus, const Ticket& ticket) {
        while (terminus.put(ticket, data) != Status::queue_full) {
        }
      });
}

TEST_F(Going, a_terminus_lets_go_who_flushes) {
  expect_terminus_lets_go([](Terminus& terminus, const Ticket& ticket) {
    static_cast<void>(terminus.put(ticket, bytes_of("put")));
    return terminus.flush(ticket, kPatience).status;
  });
}

TEST_F(Going, a_terminus_lets_go_who_fetches) {
  expect_terminus_lets_go([](Terminus& terminus, const Ticket& ticket) {
    return terminus.fetch(ticket, {.op = FetchOp::add, .operand = 1}, {}, kPatience).status;
  });
}

TEST_F(Going, a_terminus_lets_go_who_gets) {
  with_both([](Managers& both) {
    const There there(both);
    const Ticket ticket = there.slot.ticket();
    MessageArea area(both.sender.interface(), 64);
    Slot into(area, both.sender.queue(), {});
    auto terminus = std::make_unique<Terminus>(both.sender.interface());
    const Deaf deaf(both.receiver.interface());
    const auto get = [&into, raw = terminus.get(), ticket] {
      return raw->get(ticket, into, 0, 64, {}, kPatience).status;
    };
    expect_let_go(get, waits_in(*terminus), [&] { terminus.reset(); });
  });
}

TEST_F(Going, a_terminus_lets_go_who_waits_for_an_outcome) {
  with_both([](Managers& both) {
    const There there(both);
    const Ticket ticket = there.slot.ticket();
    auto terminus = std::make_unique<Terminus>(both.sender.interface());
    ASSERT_EQ(terminus->connect(ticket, kPatience), Status::ok);
    const Deaf deaf(both.receiver.interface());
    RemoteHandle handle;
    ASSERT_EQ(terminus->fetch(ticket, {.op = FetchOp::add, .operand = 1}, {}, &handle), Status::pending);
    const auto wait = [raw = terminus.get(), handle] { return raw->wait_outcome(handle, kPatience).status; };
    expect_let_go(wait, waits_in(*terminus), [&] { terminus.reset(); });
  });
}

TEST_F(Going, a_multicast_lets_go_who_waits) {
  with_both([](Managers& both) {
    const There there(both);
    const Ticket ticket = there.slot.ticket(0);
    auto multicast = std::make_unique<Multicast>(both.sender.interface());
    const Deaf deaf(both.receiver.interface());
    ASSERT_EQ(multicast->send({&ticket, 1}, bytes_of("x")), Status::ok);
    const base::PendingCalls& calls = (multicast.get()->*reveal(InsideMulticast{}))->calls();
    expect_let_go([raw = multicast.get()] { return raw->wait(kPatience); },
                  waits_on(both.sender.interface(), calls), [&] { multicast.reset(); });
  });
}

TEST_F(Going, a_tagged_receiver_lets_go_who_takes_tags) {
  with_both([](Managers& both) {
    for (const bool specific : {false, true}) {
      auto receiver = std::make_unique<TaggedReceiver>(both.receiver, 64);
      const auto take = [specific, raw = receiver.get()] {
        Tagged tagged;
        return specific ? raw->get_specific_tag(7, tagged, kPatience) : raw->get_tag(tagged, kPatience);
      };
      expect_let_go(take, waits_in(receiver.get()->*reveal(InsideTaggedReceiver{})),
                    [&] { receiver.reset(); });
    }
  });
}

// What it passes over meanwhile does not count as the end of the call.
TEST_F(Going, a_tagged_receiver_lets_go_who_hears_of_other_tags) {
  with_both([](Managers& both) {
    auto receiver = std::make_unique<TaggedReceiver>(both.receiver, 64);
    TaggedSender sender{both.sender, receiver->make_seed(), kPatience};
    NotificationQueue& queue = receiver.get()->*reveal(InsideTaggedReceiver{});
    const auto hears_and_waits = [&, sent = false, waits = waits_in(queue)]() mutable {
      if (!waits()) return false;
      if (!std::exchange(sent, true)) {
        for (std::uint64_t tag = 1; tag <= 100; ++tag)
          EXPECT_EQ(sender.send({}, 0, tag, kPatience), Status::ok);
      }
      return true;
    };
    const auto take = [raw = receiver.get()] {
      Tagged tagged;
      return raw->get_specific_tag(1000, tagged, kPatience);
    };
    expect_let_go(take, hears_and_waits, [&] { receiver.reset(); });
  });
}

TEST_F(Going, a_tagged_sender_lets_go_who_waits_for_a_place) {
  with_both([](Managers& both) {
    TaggedReceiver receiver{both.receiver, 64, {.places = 1}};
    auto sender = std::make_unique<TaggedSender>(both.sender, receiver.make_seed(), kPatience);
    while (sender->send({}, 0, 1) == Status::ok) {
    }
    const auto send = [raw = sender.get()] { return raw->send({}, 0, 1, kPatience); };
    expect_let_go(send, waits_in(sender.get()->*reveal(InsideTaggedSender{})), [&] { sender.reset(); });
  });
}

TEST_F(Going, a_datagram_sender_lets_go_who_delivers) {
  with_both([](Managers& both) {
    DatagramReceiver receiver{both.receiver, 64};
    auto sender = std::make_unique<DatagramSender>(both.sender, receiver.make_seed());
    const Deaf deaf(both.receiver.interface());
    const auto deliver = [raw = sender.get()] { return raw->deliver(bytes_of("x"), kPatience); };
    expect_let_go(deliver, waits_in(sender.get()->*reveal(InsideDatagramSender{})), [&] { sender.reset(); });
  });
}

TEST_F(Going, a_manager_lets_go_who_waits) {
  in_child([&] {
    auto manager = std::make_unique<Manager>(Manager::Options{.interface = options()});
    expect_let_go([raw = manager.get()] { return raw->wait(kPatience); },
                  [&] { return waiting_in(*manager); }, [&] { manager.reset(); });
  });
}

// A receiver answers its sender while it receives.
std::unique_ptr<LoanSender> grow(LoanPool& pool, LoanReceiver& receiver, const LoanSenderOptions& options) {
  std::unique_ptr<LoanSender> sender;
  std::thread opens(
      [&, seed = receiver.make_seed()] { sender = std::make_unique<LoanSender>(pool, seed, options); });
  Borrowed none;
  while (receiver.sender() == 0) static_cast<void>(receiver.receive(none, 0ns));
  opens.join();
  return sender;
}

TEST_F(Going, a_pool_of_loans_lets_go_who_takes) {
  with_both([](Managers& both) {
    auto pool = std::make_unique<LoanPool>(both.sender, std::vector<LoanClass>{{64, 1}});
    LoanReceiver receiver{both.receiver};
    Borrowed borrowed;
    {  // what it has stays lent when these have gone
      const std::unique_ptr<LoanSender> sender = grow(*pool, receiver, {.timeout = kPatience});
      Loan loan;
      ASSERT_EQ(pool->take(64, loan), Status::ok);
      ASSERT_EQ(sender->send(loan), Status::ok);
      ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    }
    const auto take = [raw = pool.get()] {
      Loan loan;
      return raw->take(64, loan, kPatience);
    };
    expect_let_go(
        take, [&] { return waiting_in(both.sender); }, [&] { pool.reset(); });
  });
}

TEST_F(Going, a_sender_of_loans_lets_go_who_sends) {
  with_both([](Managers& both) {
    LoanPool pool{both.sender, {{64, 2}}};
    LoanReceiver receiver{both.receiver};
    Borrowed borrowed;
    std::unique_ptr<LoanSender> sender = grow(pool, receiver, {.most = 1, .timeout = kPatience});
    Loan one, two;
    ASSERT_EQ(pool.take(64, one), Status::ok);
    ASSERT_EQ(pool.take(64, two), Status::ok);
    ASSERT_EQ(sender->send(one), Status::ok);
    ASSERT_EQ(receiver.receive(borrowed, kPatience), Status::ok);
    const auto send = [&two, raw = sender.get()] { return raw->send(two, 64, kPatience); };
    expect_let_go(
        send, [&] { return waiting_in(both.sender); }, [&] { sender.reset(); });
  });
}

}  // namespace
}  // namespace hamlyn::test
