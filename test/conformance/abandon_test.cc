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
  Packet abandon_of(const Ticket& ticket, std::uint32_t message) {
    Packet packet = hand_made(ticket, 0);
    set_lead(packet, Operation::abandon, 0, 0);
    packet.word = interface::message_word(message, ticket.incarnation);
    return packet;
  }
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
  // The entry takes a message again, under its new incarnation.
  ASSERT_EQ(slot.arm(0), Status::ok);
  ASSERT_EQ(terminus.send(old, {}, {}, nullptr), Status::ok);
  EXPECT_EQ(next().cause, Refusal::stale_message);
  ASSERT_EQ(terminus.send(slot.ticket(0), pattern(16, 2), {}, nullptr), Status::ok);
  EXPECT_EQ(next().kind, Notification::Kind::message);
  EXPECT_FALSE(alice.core.departures_wait());
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
  slot.disarm(0);
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
  const auto refusal = [&](Packet packet) {
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
  Packet data = hand_made(ticket, 16);
  set_entry(data, 0, 1);
  inject(data, carol, bob);
  rest();
  EXPECT_EQ(refusal(abandon_of(ticket, 7)), Refusal::entry_busy) << "the same id, by another link";
  inject(abandon_of(ticket, 8), carol, bob);
  EXPECT_EQ(next().cause, Refusal::entry_busy);
  inject(abandon_of(ticket, 7), carol, bob);
  EXPECT_EQ(next().failure(), Failure::abandoned);
  inject(abandon_of(ticket, 7), carol, bob);
  EXPECT_EQ(next().cause, Refusal::stale_message) << "once";
  // One that is complete.
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(terminus.send(slot.ticket(1), {}, {}, nullptr), Status::ok);
  next();
  EXPECT_EQ(refusal(abandon_of(slot.ticket(1), 7)), Refusal::entry_not_armed);
  // One that has overtaken all of its message.
  inject(abandon_of(slot.ticket(2), 7));
  EXPECT_EQ(next().failure(), Failure::abandoned);
}

INSTANTIATE_TEST_SUITE_P(fabric, Abandons, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
