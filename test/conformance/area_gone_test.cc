// What becomes of messages out of send buffer areas whose area goes, or whose link ends: what is written
// there afterwards is never delivered as the message.
#include "test/conformance/area_sends.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

TEST_P(AreaSends, are_cancelled_when_their_area_goes) {
  Shown made(*this, 3);
  auto& [slot, terminus, source] = made;
  const Piece piece{0, 0, 100000};
  SendHandle handle;
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
  alice.core.drop_area(source.number);
  fabric->withdraw(alice, source.number);
  EXPECT_EQ(terminus.status(handle), Status::cancelled);
  EXPECT_FALSE(alice.core.departures_wait());
  EXPECT_EQ(terminus.send_gathered(slot.ticket(2), {&piece, 1}, {}, nullptr), Status::invalid);
  rest();
  EXPECT_EQ(bob.refused(Refusal::bad_area), 1u) << "the first of the packets that were on their way";
  EXPECT_EQ(bob.refused(Refusal::stale_message), 1u) << "and the other, which is of that message";
  // The number is given out again, but what it named before is not what it names now.
  const Source other = make_source(alice, 2);
  EXPECT_EQ(other.number, source.number);
  ASSERT_EQ(terminus.bind(0, other.number), Status::ok);
  ASSERT_EQ(slot.arm(0), Status::invalid) << "armed still";
  have_shown(terminus, slot, 0, other);
  inject_part(slot.ticket(2), {static_cast<std::uint16_t>(other.number), 1, 8, 0});
  EXPECT_EQ(bob.refused(Refusal::bad_area), 2u);
}

TEST_P(AreaSends, end_with_their_link) {
  Shown made(*this, 2);
  auto& [slot, terminus, source] = made;
  const Piece piece{0, 0, 100000};
  SendHandle handle;
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  EXPECT_EQ(terminus.status(handle), Status::link_ended);
  EXPECT_FALSE(alice.core.departures_wait());
}

// The receiver may stand still for as long as it likes: what its sender does with the buffer once the handle
// says that it is over is never taken for the message.
TEST_P(AreaSends, are_not_delivered_with_what_is_written_after_their_area_has_gone) {
  Shown made(*this, 2);
  auto& [slot, terminus, source] = made;
  for (const std::uint64_t packets : {std::uint64_t{2}, std::uint64_t{1}}) {
    const Piece piece{0, 0, packets * 50000};
    SendHandle handle;
    ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
    fabric->settle();
    alice.core.drop_area(source.number);
    EXPECT_EQ(terminus.status(handle), Status::cancelled);
    write_over(source);
    rest();  // bob has not heard that the area has gone
    EXPECT_EQ(bob.refused(Refusal::bad_area), 3 - packets);
    EXPECT_EQ(bob.refused(Refusal::stale_message), 1u) << "the rest of the first";
    EXPECT_EQ(slot.record().entries[1].state, interface::EntryState::armed);
    ASSERT_EQ(alice.core.add_area(source.data, kAreaBytes), source.number);
    ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
    have_shown(terminus, slot, 0, source);
  }
  // The entry's ticket is good for others, and for her.
  ASSERT_LT(terminus.send(slot.ticket(1), pattern(3000, 5), {}, nullptr), Status::queue_full);
  EXPECT_TRUE(same(slot.bytes(next_message()), pattern(3000, 5)));
  EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
}

TEST_P(AreaSends, are_not_delivered_with_what_is_written_after_their_link_has_ended) {
  Shown made(*this, 2);
  auto& [slot, terminus, source] = made;
  const Piece piece{0, 0, 50000};
  SendHandle handle;
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
  fabric->settle();
  fabric->end(alice, bob);
  EXPECT_EQ(terminus.status(handle), Status::link_ended);
  write_over(source);
  fabric->end(bob, alice);  // which drains what has arrived
  EXPECT_EQ(bob.refused(Refusal::bad_area), 1u);
  for (Notification n; !queue->empty();) {
    bob.core.take(*queue, n);
    EXPECT_NE(n.kind, Notification::Kind::message);
  }
  EXPECT_EQ(slot.record().entries[1].state, interface::EntryState::armed);
}

// It had no time to take anything back, and writes nothing any more.
TEST_P(AreaSends, of_a_sender_that_has_died_are_delivered) {
  Shown made(*this, 2);
  auto& [slot, terminus, source] = made;
  const Piece piece{0, 0, 50000};
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, nullptr), Status::pending);
  fabric->settle();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  EXPECT_TRUE(same(slot.bytes(next_message()), {source.data, piece.length}));
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(AreaSends, that_had_begun_fail_as_abandoned_when_their_area_goes) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  ASSERT_EQ(slot.disarm(2), Status::ok);
  Terminus terminus(alice.core, 8);
  for (const bool heard : {false, true}) {
    for (const bool group : {false, true}) {
      const Source source = make_source(alice, 1);
      ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
      have_shown(terminus, slot, 0, source);
      const std::uint64_t refused = bob.refused(Refusal::bad_area);
      const std::uint32_t entry = group ? 2 : 1;
      const Piece piece{0, 0, 450000};
      const Ticket ticket = slot.ticket(1);
      SendHandle handle;
      if (group) {
        Share share;
        GroupShares shares = slot.arm_group(entry, 1);
        ASSERT_EQ(shares.next(share, {0, piece.length}), Status::ok);
        ASSERT_EQ(terminus.send_gathered(share, {&piece, 1}, {}, &handle), Status::pending);
      } else {
        ASSERT_EQ(terminus.send_gathered(ticket, {&piece, 1}, {}, &handle), Status::pending);
      }
      take_some();
      EXPECT_EQ(bob.refused(Refusal::bad_area), refused);
      alice.core.drop_area(source.number);
      if (heard) fabric->withdraw(alice, source.number);
      EXPECT_EQ(terminus.status(handle), Status::cancelled);
      write_over(source);
      rest();
      EXPECT_GE(bob.refused(Refusal::bad_area), refused + 1);
      Notification n = next();
      while (n.kind == Notification::Kind::protocol_error) n = next();
      ASSERT_EQ(n.kind, Notification::Kind::failed);
      EXPECT_EQ(n.failure(), Failure::abandoned);
      EXPECT_EQ(n.entry, entry);
      EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
      if (group) continue;
      ASSERT_EQ(slot.arm(1), Status::ok);
      ASSERT_LT(terminus.send(ticket, pattern(3000, 5), {}, nullptr), Status::queue_full);
      EXPECT_TRUE(same(slot.bytes(next_message()), pattern(3000, 5))) << "the ticket is good for others";
      ASSERT_EQ(slot.arm(1), Status::ok);
    }
  }
}

// What stands in the other area may be read after all that stood in the first: it is not free before.
TEST_P(AreaSends, of_two_areas_are_over_when_neither_is_read_any_more) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 8);
  for (const bool acknowledged : {false, true}) {
    const Source first = make_source(alice, 1), second = make_source(alice, 2);
    ASSERT_EQ(terminus.bind(0, second.number), Status::ok);
    have_shown(terminus, slot, 0, second);
    ASSERT_EQ(terminus.bind(0, first.number), Status::ok);
    ASSERT_EQ(terminus.bind(1, second.number), Status::ok);
    have_shown(terminus, slot, 0, first);
    const Piece pieces[] = {{0, 0, 250000}, {1, 0, 250000}};
    std::vector<std::byte> whole(first.data, first.data + 250000);
    whole.insert(whole.end(), second.data, second.data + 250000);
    SendHandle handle;
    ASSERT_EQ(terminus.send_gathered(slot.ticket(1), pieces, {.acknowledged = acknowledged}, &handle),
              Status::pending);
    take_some();
    alice.core.drop_area(first.number);
    write_over(first);
    EXPECT_EQ(terminus.status(handle), Status::pending);
    EXPECT_EQ(terminus.cancel(handle), Status::pending);
    ASSERT_TRUE(until([&] { return terminus.status(handle) != Status::pending; }));
    write_over(second);
    rest();
    bool delivered = false;
    for (Notification n; !queue->empty();) {
      bob.core.take(*queue, n);
      EXPECT_TRUE(n.kind != Notification::Kind::failed || n.failure() == Failure::abandoned);
      if (n.kind != Notification::Kind::message) continue;
      delivered = true;
      EXPECT_TRUE(same(slot.bytes(n), whole));
    }
    EXPECT_EQ(terminus.status(handle), acknowledged && delivered ? Status::ok : Status::cancelled);
    alice.core.drop_area(second.number);
    const bool armed = slot.record().entries[1].state == interface::EntryState::armed;
    ASSERT_EQ(slot.arm(1), armed ? Status::invalid : Status::ok);
  }
}

}  // namespace
}  // namespace hamlyn::test
