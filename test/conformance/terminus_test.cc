// The send side (paper 0, section 2.3).
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class Termini : public Conformance {
 protected:
  // Bob, who does not run: what is sent to him stays in the link.
  void turns_without_bob(int count) {
    for (int i = 0; i < count; ++i) {
      fabric->settle();
      alice.core.run();
      carol.core.run();
    }
  }

  Area area{1u << 20};
  const std::vector<std::byte> large = pattern(256 * 1024, 1);
};

TEST_P(Termini, take_63_messages_and_then_say_queue_full) {
  TestSlot slot(bob, area, queue, {.entries = 64});
  Terminus terminus(alice.core, 63);
  SendHandle handles[63];
  for (std::uint32_t i = 0; i < 63; ++i) {
    ASSERT_EQ(terminus.send(slot.ticket(i), large, {}, &handles[i]), Status::pending) << i;
    EXPECT_EQ(terminus.status(handles[i]), Status::pending);
  }
  SendHandle refused{5};
  EXPECT_EQ(terminus.send(slot.ticket(63), large, {}, &refused), Status::queue_full);
  EXPECT_EQ(refused.sequence, 0u);
  for (std::uint32_t i = 0; i < 63; ++i) EXPECT_EQ(next().entry, i) << "in order to one destination";
  for (const SendHandle handle : handles) EXPECT_EQ(terminus.status(handle), Status::ok);
  EXPECT_EQ(terminus.send(slot.ticket(63), {}, {}, nullptr), Status::ok);
}

TEST_P(Termini, answer_for_handles_that_are_old_or_were_never_given) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 4);
  SendHandle first, handle;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(terminus.send(slot.ticket(0), {}, {}, &handle), Status::ok);
    if (i == 0) first = handle;
    EXPECT_EQ(terminus.status(handle), Status::ok);
    next();
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  EXPECT_EQ(terminus.status(first), Status::ok) << "long over";
  EXPECT_EQ(terminus.status(SendHandle{}), Status::ok) << "of nothing";
  EXPECT_EQ(terminus.status(SendHandle{~std::uint64_t{0}}), Status::invalid);
}

TEST_P(Termini, refuse_what_cannot_be_sent_before_anything_leaves) {
  TestSlot slot(bob, area, queue, {.bound = 100, .entries = 1});
  Terminus terminus(alice.core, 63);
  const std::vector<std::byte> bytes(101);
  const std::span<const std::byte> data(bytes);
  Ticket ticket = slot.ticket(0);
  EXPECT_EQ(terminus.send(ticket, data, {}, nullptr), Status::out_of_bounds);
  EXPECT_EQ(terminus.send(ticket, data.first(1), {.offset = 100}, nullptr), Status::out_of_bounds);
  EXPECT_EQ(terminus.send(ticket, {}, {.offset = 101}, nullptr), Status::out_of_bounds);
  EXPECT_EQ(terminus.send(ticket, data.first(2), {.offset = ~std::uint64_t{0}}, nullptr),
            Status::out_of_bounds);
  EXPECT_EQ(terminus.send(slot.ticket(), {}, {}, nullptr), Status::invalid) << "a fast-mode ticket";
  EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), Status::invalid) << "a ticket of an entry";
  ticket.version = 2;
  EXPECT_EQ(terminus.send(ticket, {}, {}, nullptr), Status::invalid);
  Ticket overflowing = slot.ticket(0);
  overflowing.base = ~std::uint64_t{0};
  EXPECT_EQ(terminus.send(overflowing, {}, {}, nullptr), Status::invalid);
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_TRUE(queue->empty());
  EXPECT_FALSE(alice.core.departures_wait());
}

// Direct I/O goes behind earlier entries to the same destination (design, section 5).
TEST_P(Termini, keep_the_order_of_messages_to_one_destination) {
  TestSlot slot(bob, area, queue, {.entries = 40});
  Terminus terminus(alice.core, 63);
  for (std::uint32_t i = 0; i < 40; ++i)
    ASSERT_LT(terminus.send(slot.ticket(i),
                            i % 3 == 0 ? std::span<const std::byte>(large) : std::span(large).first(8),
                            {.offset = i}, nullptr),
              Status::queue_full);
  std::vector<std::uint32_t> order;
  for (int i = 0; i < 40; ++i) order.push_back(next().entry);
  // The shm fabric keeps the order of packets, too. In sim they overtake one another, but not by more than a
  // window.
  for (std::size_t i = 0; i < 40; ++i) {
    if (std::string(GetParam().name) == "shm") {
      EXPECT_EQ(order[i], i);
    }
  }
}

TEST_P(Termini, hold_a_fast_message_back_behind_a_long_one_to_the_same_destination) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  next();
  ASSERT_EQ(terminus.send(slot.ticket(0), large, {}, nullptr), Status::pending);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), {}, 0, 0), Status::queue_full);
  next();
  EXPECT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
}

TEST_P(Termini, are_held_up_by_no_destination_but_the_one_that_stalls) {
  TestSlot at_bob(bob, area, queue, {.entries = 3});
  Area carols(4096);
  interface::Queue* carols_queue = carol.core.make_queue(16);
  TestSlot at_carol(carol, carols, carols_queue, {.entries = 1});
  Terminus terminus(alice.core, 8);
  SendHandle stalled[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_EQ(terminus.send(at_bob.ticket(i), large, {}, &stalled[i]), Status::pending);
  }
  for (int i = 0; i < 100; ++i) {
    SendHandle handle;
    const std::vector<std::byte> data = pattern(4096, static_cast<std::uint64_t>(i));
    ASSERT_LT(terminus.send(at_carol.ticket(0), data, {}, &handle), Status::queue_full) << i;
    for (int patience = 0; carols_queue->empty() && patience < 1000; ++patience) turns_without_bob(1);
    ASSERT_FALSE(carols_queue->empty()) << i;
    take(carol, carols_queue);
    EXPECT_TRUE(same(std::span(carols.bytes()), data));
    EXPECT_EQ(terminus.status(handle), Status::ok);
    ASSERT_EQ(at_carol.arm(0), Status::ok);
  }
  EXPECT_EQ(terminus.status(stalled[0]), Status::pending);
  EXPECT_EQ(next().entry, 0u);
  EXPECT_EQ(next().entry, 1u);
}

TEST_P(Termini, keep_what_was_sent_before_there_was_a_link_and_its_order) {
  Party dave(104);
  Area daves(4096);
  interface::Queue* daves_queue = dave.core.make_queue(16);
  TestSlot slot(dave, daves, daves_queue, {.entries = 3});
  Terminus terminus(alice.core, 63);
  SendHandle handles[3];
  const std::vector<std::byte> one = pattern(16, 1), two = pattern(16, 2);
  ASSERT_EQ(terminus.send(slot.ticket(0), one, {}, &handles[0]), Status::pending);
  EXPECT_EQ(alice.wanted.count(dave.id), 1u);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), {}, 0, 0), Status::connecting);
  turns(3);
  fabric->join(alice, dave);
  // The link is there now, but what waited for it goes first.
  EXPECT_LE(terminus.send(slot.ticket(1), two, {}, &handles[1]), Status::pending);
  EXPECT_NE(terminus.status(handles[0]), Status::pending);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(until([&] {
      dave.core.run();
      return !daves_queue->empty();
    }));
    take(dave, daves_queue);
  }
  EXPECT_EQ(terminus.status(handles[0]), Status::ok);
  EXPECT_EQ(terminus.status(handles[1]), Status::ok);
  fabric->kill(dave, alice);
  fabric->end(alice, dave);
}

TEST_P(Termini, fail_what_waits_for_a_link_that_will_not_be) {
  Ticket ticket;
  ticket.interface = 999;
  ticket.entry = 0;
  ticket.bound = 100;
  Terminus terminus(alice.core, 63);
  SendHandle handle;
  ASSERT_EQ(terminus.send(ticket, {}, {}, &handle), Status::pending);
  alice.core.refuse_link(999, {LinkReason::not_permitted, false});
  EXPECT_EQ(terminus.status(handle), Status::refused);
  EXPECT_FALSE(alice.core.departures_wait());
}

// Who never waits hears of it by its next call, once, and may ask again.
TEST_P(Termini, say_that_there_will_be_no_link) {
  Ticket ticket;
  ticket.interface = 999;
  ticket.bound = 100;
  Terminus terminus(alice.core, 63), other(alice.core, 63);
  const Fetch fetch{.op = FetchOp::add, .bytes = 8, .operand = 1};
  const auto ask = [&](Terminus& by) { return by.requests().fetch(ticket, fetch, {}, nullptr, nullptr); };
  const std::pair<LinkReason, Status> answers[] = {{LinkReason::no_process, Status::link_ended},
                                                   {LinkReason::not_permitted, Status::refused}};
  for (const auto& [reason, status] : answers) {
    EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), Status::connecting);
    EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), Status::connecting);
    EXPECT_EQ(ask(other), Status::connecting);
    alice.core.refuse_link(998, {reason, false});
    EXPECT_EQ(ask(other), Status::connecting);
    alice.core.refuse_link(999, {reason, false});
    EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), status);
    EXPECT_EQ(ask(other), status);
  }
  EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), Status::connecting);
  Terminus::LinkWait wait{.peer = 999};
  terminus.add(wait);
  alice.core.refuse_link(999, {LinkReason::not_permitted, false});
  EXPECT_TRUE(wait.refused);
  EXPECT_EQ(wait.answer, Status::refused);
  terminus.remove(wait);
  EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), Status::connecting) << "the one who waited was told";
}

TEST_P(Termini, forget_what_was_not_sent_when_they_go) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  {
    Terminus terminus(alice.core, 63);
    ASSERT_EQ(terminus.send(slot.ticket(0), large, {}, nullptr), Status::pending);
  }
  const Notification failed = next();
  EXPECT_EQ(failed.failure(), Failure::abandoned);
  EXPECT_EQ(failed.entry, 0u);
  EXPECT_FALSE(alice.core.departures_wait());
  EXPECT_EQ(alice.core.find_link(bob.id)->departures, 0u);
  rest();
  while (take(bob, queue)) {
  }
  Terminus terminus(alice.core, 63);
  ASSERT_LT(terminus.send(slot.ticket(1), large, {}, nullptr), Status::queue_full);
  EXPECT_EQ(next().entry, 1u);
}

INSTANTIATE_TEST_SUITE_P(fabric, Termini, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
