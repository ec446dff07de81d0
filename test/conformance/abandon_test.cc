// Messages that lose their rest (paper 1, section 3.7): the receiver is told instead of waiting.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::EntryState;
using interface::Operation;
using interface::Packet;
using interface::Terminus;

class Abandons : public Conformance {
 protected:
  // Half of a large message is in the entry, and the sender's window is full.
  SendHandle begin(Terminus& terminus, const Ticket& ticket) {
    SendHandle handle;
    EXPECT_EQ(terminus.send(ticket, large, {}, &handle), Status::pending);
    return handle;
  }
  Packet abandon_of(const Ticket& ticket, std::uint32_t message, std::uint32_t rest = 1) {
    Packet packet = hand_made(ticket, 0);
    set_lead(packet, Operation::abandon, 0, 0);
    set_entry(packet, ticket.entry, rest);
    packet.word = interface::message_word(message, ticket.incarnation);
    return packet;
  }
  // One of its packets.
  Packet part_of(const Ticket& ticket, std::uint32_t message, std::uint32_t delta) {
    Packet packet = hand_made(ticket, 16);
    set_entry(packet, ticket.entry, delta);
    packet.word = interface::message_word(message, ticket.incarnation);
    return packet;
  }
  void arrives(const Packet& packet) {
    inject(packet);
    rest();
  }
  bool remembers() { return !bob.core.find_link(alice.id)->lost_messages.empty(); }
  // Everything arrives; what was refused was late packets of what is over.
  void expect_only_stale() {
    rest();
    while (const auto n = take(bob, queue)) {
      if (n->kind == Notification::Kind::protocol_error) {
        EXPECT_EQ(n->cause, Refusal::stale_message);
      }
    }
  }

  Area area{2u << 20};
  const std::vector<std::byte> large = pattern(2u << 20, 1);  // more than the longest ring holds
};

TEST_P(Abandons, fail_the_entry_that_a_cancelled_message_was_filling) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 63);
  const SendHandle handle = begin(terminus, slot.ticket(0));
  const SendHandle other = begin(terminus, slot.ticket(1));
  const Ticket old = slot.ticket(0);
  turns(20);
  ASSERT_EQ(terminus.cancel(handle), Status::ok);
  EXPECT_EQ(terminus.status(handle), Status::cancelled);
  EXPECT_EQ(terminus.cancel(handle), Status::cancelled) << "it is over";
  const Notification failed = next();
  EXPECT_EQ(failed.failure(), Failure::abandoned);
  EXPECT_EQ(failed.entry, 0u);
  EXPECT_EQ(failed.peer, alice.id);
  EXPECT_TRUE(until([&] { return terminus.status(other) == Status::ok; })) << "the other one goes on";
  expect_only_stale();
  EXPECT_EQ(slot.entry(1).state, EntryState::read);
  EXPECT_TRUE(same(area.bytes().first(large.size()), large));
  // The entry takes messages again, also with the ticket of before: others have it, too.
  EXPECT_FALSE(remembers());
  Terminus from_carol(carol.core, 63);
  for (Terminus* sender : {&terminus, &from_carol}) {
    ASSERT_EQ(slot.arm(0), Status::ok);
    ASSERT_EQ(sender->send(old, pattern(16, 2), {}, nullptr), Status::ok);
    EXPECT_EQ(next().kind, Notification::Kind::message);
  }
  EXPECT_FALSE(alice.core.departures_wait());
}

// What is late of the message must not begin to fill the entry when it is armed again, whichever of its
// packets and its abandon came first, nor spoil another's message there.
TEST_P(Abandons, what_is_late_lands_nowhere_though_tickets_stay_good) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket ticket = slot.ticket(0);
  Terminus from_carol(carol.core, 63);
  const std::array<Packet, 3> packets{part_of(ticket, 7, 0u - 3u), part_of(ticket, 7, 1),
                                      abandon_of(ticket, 7, 2)};
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    bool failed = false;
    for (const std::size_t each : order) {
      arrives(packets[each]);
      while (const auto n = take(bob, queue)) {
        if (n->kind == Notification::Kind::protocol_error) {
          EXPECT_EQ(n->cause, Refusal::stale_message);
          continue;
        }
        EXPECT_EQ(n->failure(), Failure::abandoned);
        EXPECT_FALSE(std::exchange(failed, true)) << "told twice";
        ASSERT_EQ(slot.arm(0), Status::ok);
      }
      if (!failed) continue;
      EXPECT_EQ(slot.entry(0).state, EntryState::armed);
      ASSERT_EQ(from_carol.send(ticket, pattern(16, 2), {}, nullptr), Status::ok);
      Notification n = next();
      if (n.kind == Notification::Kind::protocol_error) n = next();
      EXPECT_EQ(n.kind, Notification::Kind::message);
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
    EXPECT_TRUE(failed);
    EXPECT_FALSE(remembers()) << "all has come";
  } while (std::next_permutation(order.begin(), order.end()));
}

// One that was refused, whose sender then gives it up: nothing is told twice, and nothing is remembered.
TEST_P(Abandons, of_what_was_refused_end_nothing) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket ticket = slot.ticket(0);
  inject(part_of(ticket, 7, 1), carol, bob);
  rest();
  arrives(part_of(ticket, 7, 0u - 2u));
  EXPECT_EQ(next().cause, Refusal::entry_busy);
  EXPECT_TRUE(remembers());
  arrives(abandon_of(ticket, 7, 2));
  EXPECT_FALSE(remembers());
  EXPECT_TRUE(queue->empty());
  EXPECT_EQ(slot.entry(0).state, EntryState::filling) << "by another";
  // Its sender hears of it while the rest is still there.
  Terminus terminus(alice.core, 63);
  SendHandle handle;
  ASSERT_EQ(terminus.send(ticket, large, {.acknowledged = true}, &handle), Status::pending);
  EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::refused; }));
  rest();
  EXPECT_FALSE(remembers());
  EXPECT_EQ(slot.entry(0).state, EntryState::filling);
}

// So many that what is late could not be told apart: then the entry's incarnation moves, as it must.
TEST_P(Abandons, of_too_many_at_a_time_make_tickets_stale) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket old = slot.ticket(0);
  std::uint32_t message = 100;
  for (; slot.ticket(0).incarnation == old.incarnation; ++message) {
    ASSERT_LT(message, 200u);
    arrives(part_of(old, message, 1));
    arrives(abandon_of(old, message, 1));  // some of it is still to come
    EXPECT_EQ(next().failure(), Failure::abandoned);
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  EXPECT_EQ(message, 117u);
  for (std::uint32_t late = 100; late != message; ++late) {
    arrives(part_of(old, late, 0u - 2u));
    EXPECT_EQ(slot.entry(0).state, EntryState::armed) << late;
  }
  EXPECT_EQ(bob.refused(Refusal::stale_message), 17u);
  EXPECT_FALSE(remembers());
  // Others that are refused are remembered in the place of those refused before, and of none given up.
  const Ticket fresh = slot.ticket(0);
  arrives(part_of(fresh, 500, 0u - 2u));
  arrives(abandon_of(fresh, 500, 1));
  while (take(bob, queue)) {
  }
  for (message = 1000; message != 1020; ++message) arrives(part_of(fresh, message, 0u - 1u));
  while (take(bob, queue)) {
  }
  ASSERT_EQ(slot.arm(0), Status::ok);
  arrives(part_of(fresh, 500, 1));
  EXPECT_EQ(slot.entry(0).state, EntryState::armed);
  arrives(part_of(fresh, 1003, 1));
  EXPECT_EQ(slot.entry(0).state, EntryState::filling) << "the oldest are forgotten";
  ASSERT_EQ(slot.disarm(0), Status::ok);
}

TEST_P(Abandons, say_nothing_of_a_message_of_which_nothing_has_left) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 63);
  begin(terminus, slot.ticket(0));
  const SendHandle behind = begin(terminus, slot.ticket(1));
  ASSERT_EQ(terminus.cancel(behind), Status::ok);
  EXPECT_EQ(next().entry, 0u);
  rest();
  EXPECT_TRUE(queue->empty());
  EXPECT_EQ(slot.entry(1).state, EntryState::armed);
  EXPECT_EQ(terminus.cancel({}), Status::ok) << "of nothing";
  EXPECT_EQ(terminus.cancel({12345}), Status::invalid);
}

TEST_P(Abandons, come_from_a_terminus_that_goes_in_mid_message) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  for (int i = 0; i < 12; ++i) {
    {
      Terminus terminus(alice.core, 63);
      begin(terminus, slot.ticket(0));
      turns(i);
    }
    const Notification n = next();
    ASSERT_EQ(n.failure(), Failure::abandoned) << i;
    expect_only_stale();
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  EXPECT_EQ(alice.core.find_link(bob.id)->departures, 0u);
}

TEST_P(Abandons, that_find_no_room_are_forgotten_with_their_link) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  {
    Terminus terminus(alice.core, 63);
    begin(terminus, slot.ticket(0));
    const Packet packet = hand_made(slot.ticket(0), 0);
    while (alice.core.find_link(bob.id)->put(packet, junk, junk) == Status::ok) {
    }
  }
  EXPECT_TRUE(alice.core.departures_wait()) << "the ring is full";
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  EXPECT_FALSE(alice.core.departures_wait());
}

TEST_P(Abandons, fail_a_group) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 2);
  Share one, two;
  ASSERT_EQ(shares.next(one), Status::ok);
  ASSERT_EQ(shares.next(two), Status::ok);
  Terminus from_alice(alice.core, 63), from_carol(carol.core, 63);
  ASSERT_EQ(from_carol.send(one, pattern(16, 1), {}, nullptr), Status::ok);
  SendHandle handle;
  ASSERT_EQ(from_alice.send(two, large, {}, &handle), Status::pending);
  rest();
  ASSERT_EQ(slot.entry(0).state, EntryState::complete) << "whole after all";
  next();
  shares = slot.arm_group(0, 2);
  ASSERT_EQ(shares.next(one), Status::ok);
  ASSERT_EQ(from_alice.send(one, large, {}, &handle), Status::pending);
  ASSERT_EQ(from_alice.cancel(handle), Status::ok);
  EXPECT_EQ(next().failure(), Failure::abandoned);
}

// Whoever has a ticket may spoil its entry, once for each arming; nothing else.
TEST_P(Abandons, are_refused_like_any_other_packet) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  TestSlot paranoid(bob, area, queue, {.mode = Mode::paranoid, .entries = 2});
  ASSERT_EQ(paranoid.arm(0), Status::ok);
  const Ticket ticket = slot.ticket(0);
  const auto refusal = [&](const Packet& packet) {
    inject(packet);
    const Notification n = next();
    EXPECT_EQ(n.kind, Notification::Kind::protocol_error);
    return n.cause;
  };
  Packet packet = abandon_of(ticket, 7);
  packet.slot += 1000;
  EXPECT_EQ(refusal(packet), Refusal::bad_slot);
  packet = abandon_of(ticket, 7);
  ++packet.generation;
  EXPECT_EQ(refusal(packet), Refusal::stale_generation);
  packet = abandon_of(ticket, 7);
  packet.key ^= 1;
  EXPECT_EQ(refusal(packet), Refusal::bad_key);
  packet = abandon_of(paranoid.ticket(0), 7);
  packet.key = paranoid.record().key;
  EXPECT_EQ(refusal(packet), Refusal::bad_key) << "the entry's key stands in the place of the slot's";
  for (const std::uint32_t entry : {3u, 0x80000000u, Ticket::kFast}) {
    packet = abandon_of(ticket, 7);
    packet.entry = entry;
    EXPECT_EQ(refusal(packet), Refusal::bad_entry);
  }
  packet = abandon_of(ticket, 7);
  packet.word += std::uint64_t{1} << 32;
  EXPECT_EQ(refusal(packet), Refusal::stale_message);
  // Another's message is not its own to abandon.
  inject(part_of(ticket, 7, 0u - 1u), carol, bob);
  rest();
  EXPECT_EQ(refusal(abandon_of(ticket, 7)), Refusal::entry_busy) << "the same id, by another link";
  inject(abandon_of(ticket, 8), carol, bob);
  EXPECT_EQ(next().cause, Refusal::entry_busy);
  inject(abandon_of(ticket, 7), carol, bob);
  EXPECT_EQ(next().failure(), Failure::abandoned);
  inject(abandon_of(ticket, 7), carol, bob);
  EXPECT_EQ(next().cause, Refusal::entry_not_armed) << "once";
  // One that is complete.
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(terminus.send(slot.ticket(1), {}, {}, nullptr), Status::ok);
  next();
  EXPECT_EQ(refusal(abandon_of(slot.ticket(1), 9)), Refusal::entry_not_armed);
  // One that has overtaken all of its message.
  packet = abandon_of(slot.ticket(2), 10);
  packet.offset = ~std::uint64_t{0};
  inject(packet);
  const Notification failed = next();
  EXPECT_EQ(failed.failure(), Failure::abandoned);
  EXPECT_EQ(failed.offset, 0u) << "where nothing landed";
}

INSTANTIATE_TEST_SUITE_P(fabric, Abandons, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
