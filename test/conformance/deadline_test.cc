// Entries that fail when their time has come, and those that are not yet armed again.
#include "interface/deadlines.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Deadlines;
using interface::EntryState;
using interface::Terminus;

class Expiry : public Conformance {
 protected:
  Area area{4096};
  Terminus terminus{alice.core, 63};
};

TEST_P(Expiry, fails_what_is_not_complete_and_nothing_else) {
  TestSlot slot(bob, area, queue, {.entries = 5});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 2);
  Share share;
  ASSERT_EQ(shares.next(share), Status::ok);
  ASSERT_EQ(slot.fail_at(0, 100), Status::ok);  // a group of which half has come
  ASSERT_EQ(slot.fail_at(1, 50), Status::ok);   // nothing has come
  ASSERT_EQ(slot.fail_at(2, 100), Status::ok);  // a stopped sender, in mid-message
  ASSERT_EQ(slot.fail_at(3, 100), Status::ok);  // complete in time
  ASSERT_EQ(slot.fail_at(4, 101), Status::ok);  // not yet
  EXPECT_EQ(bob.core.next_deadline(), 50u);
  ASSERT_EQ(terminus.send(share, pattern(16, 1), {}, nullptr), Status::ok);
  const Ticket too_late = slot.ticket(1), had_begun = slot.ticket(2);
  interface::Packet packet = hand_made(had_begun, 16);
  set_entry(packet, 2, 1);
  inject(packet);
  ASSERT_EQ(terminus.send(slot.ticket(3), pattern(16, 1), {}, nullptr), Status::ok);
  rest();
  EXPECT_EQ(next().entry, 3u);
  EXPECT_FALSE(bob.core.expire(49));
  EXPECT_TRUE(queue->empty());
  EXPECT_TRUE(bob.core.expire(100));
  std::uint32_t failed = 0;
  while (const auto n = take(bob, queue)) {
    EXPECT_EQ(n->failure(), Failure::timed_out);
    EXPECT_EQ(n->peer, 0u);
    failed |= 1u << n->entry;
  }
  EXPECT_EQ(failed, 0b111u);
  EXPECT_EQ(bob.core.next_deadline(), 101u);
  // What comes late is stale, and lands nowhere.
  for (std::uint32_t entry : {0u, 1u, 2u}) ASSERT_EQ(slot.arm(entry), Status::ok);
  packet.delta = 0u - 1u;
  inject(packet);
  EXPECT_EQ(next().cause, Refusal::stale_message);
  EXPECT_EQ(slot.entry(2).state, EntryState::armed);
  EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
  // Of what had begun the tickets are good; who had not begun comes too late.
  ASSERT_EQ(terminus.send(had_begun, pattern(16, 1), {}, nullptr), Status::ok);
  EXPECT_EQ(next().kind, Notification::Kind::message);
  ASSERT_EQ(terminus.send(too_late, pattern(16, 1), {}, nullptr), Status::ok);
  EXPECT_EQ(next().cause, Refusal::stale_message);
}

TEST_P(Expiry, is_forgotten_with_the_arming_that_it_was_of) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid, .entries = 3});
  EXPECT_EQ(slot.fail_at(0, 10), Status::invalid) << "not armed";
  EXPECT_EQ(slot.fail_at(9, 10), Status::invalid);
  for (const std::uint32_t entry : {0u, 1u, 2u}) {
    ASSERT_EQ(slot.arm(entry), Status::ok);
    ASSERT_EQ(slot.fail_at(entry, 10), Status::ok);
  }
  ASSERT_EQ(slot.disarm(0), Status::ok);
  ASSERT_EQ(slot.revoke(1), Status::ok);
  ASSERT_EQ(terminus.send(slot.ticket(2), {}, {}, nullptr), Status::ok);
  next();
  ASSERT_EQ(slot.arm(2), Status::ok);
  EXPECT_EQ(bob.core.next_deadline(), Deadlines::kNever);
  ASSERT_EQ(slot.fail_at(2, 20), Status::ok);
  ASSERT_EQ(slot.fail_at(2, 30), Status::ok) << "another one in its place";
  EXPECT_FALSE(bob.core.expire(29));
  ASSERT_EQ(slot.fail_at(2, Deadlines::kNever), Status::ok) << "none at all";
  EXPECT_FALSE(bob.core.expire(100));
  ASSERT_EQ(slot.fail_at(2, 200), Status::ok);
  slot.drop();
  EXPECT_EQ(bob.core.next_deadline(), Deadlines::kNever) << "gone with its slot";
  EXPECT_FALSE(bob.core.expire(1000));
}

TEST_P(Expiry, comes_early_when_the_sender_that_was_named_is_gone) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  ASSERT_EQ(slot.expect(0, alice), Status::ok);
  ASSERT_EQ(slot.expect(1, carol), Status::ok);
  EXPECT_EQ(slot.expect(2, bob), Status::connecting) << "there is no link with it";
  EXPECT_EQ(slot.expect(3, alice), Status::invalid);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  const Notification failed = next();
  EXPECT_EQ(failed.failure(), Failure::link_ended);
  EXPECT_EQ(failed.entry, 0u);
  EXPECT_EQ(failed.length, 0u);
  EXPECT_EQ(next().kind, Notification::Kind::link_ended);
  EXPECT_TRUE(queue->empty());
  // Another may fill an entry that waits for one; then it is that one's.
  Terminus from_carol(carol.core, 63);
  ASSERT_EQ(slot.arm(0), Status::ok);
  ASSERT_EQ(from_carol.send(slot.ticket(0), {}, {}, nullptr), Status::ok);
  EXPECT_EQ(next().kind, Notification::Kind::message);
}

// No more notifications of counted messages can stand in a queue, or wait behind it, than there are entries,
// however its owner arms them (paper 0, section 2.8).
TEST_P(Expiry, an_entry_is_not_armed_before_its_notification_was_read) {
  interface::Queue* small = bob.core.make_queue(16);
  TestSlot slot(bob, area, small, {.entries = 100, .places = 1});
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t entry = 0; entry < 100; ++entry) {
      if (round == 0) {
        const Status sent = terminus.send(slot.ticket(entry), pattern(8, entry), {}, nullptr);
        ASSERT_LT(sent, Status::queue_full);
        rest();
      }
      EXPECT_EQ(slot.entry(entry).state, EntryState::complete);
      EXPECT_EQ(slot.arm(entry), Status::invalid);
    }
  }
  for (std::uint32_t entry = 0; entry < 100; ++entry) {
    const auto n = take(bob, small);
    ASSERT_TRUE(n);
    EXPECT_EQ(n->entry, entry);
    EXPECT_EQ(slot.arm(entry), Status::ok);
  }
  EXPECT_TRUE(small->empty());
}

// A notification of a slot that has gone says nothing of the one that came in its place.
TEST_P(Expiry, a_slot_that_has_gone_frees_no_entry_of_the_next) {
  auto slot = std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.entries = 1});
  const std::uint32_t index = slot->index();
  ASSERT_EQ(terminus.send(slot->ticket(0), {}, {}, nullptr), Status::ok);
  rest();
  slot = nullptr;
  slot = std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.entries = 1});
  ASSERT_EQ(slot->index(), index);
  ASSERT_EQ(terminus.send(slot->ticket(0), {}, {}, nullptr), Status::ok);
  rest();
  next();
  EXPECT_EQ(slot->arm(0), Status::invalid);
  next();
  EXPECT_EQ(slot->arm(0), Status::ok);
}

INSTANTIATE_TEST_SUITE_P(fabric, Expiry, testing::ValuesIn(fabrics()), fabric_name);

TEST(DeadlineHeap, gives_the_earliest_first_whatever_comes_and_goes) {
  sim::Generator chance(7);
  Deadlines deadlines;
  std::map<std::uint16_t, std::uint64_t> held;
  for (int i = 0; i < 20000; ++i) {
    if (held.empty() || chance.below(5) < 3) {
      const std::uint64_t time = chance.below(1000);
      const std::uint16_t name = deadlines.add(time, {static_cast<std::uint32_t>(time), 1});
      ASSERT_NE(name, 0);
      ASSERT_TRUE(held.emplace(name, time).second) << "a name that is in use";
    } else {
      const auto one = std::next(held.begin(), static_cast<std::ptrdiff_t>(chance.below(held.size())));
      deadlines.remove(one->first);
      held.erase(one);
    }
    ASSERT_EQ(deadlines.size(), held.size());
    std::uint64_t least = Deadlines::kNever;
    if (i % 50 == 0) {
      for (const auto& [name, time] : held) least = std::min(least, time);
      ASSERT_EQ(deadlines.next(), least);
      if (!held.empty()) {
        ASSERT_EQ(deadlines.first().slot, least);
      }
    }
  }
}

TEST(DeadlineHeap, says_when_there_are_too_many) {
  Deadlines deadlines;
  for (std::uint32_t i = 0; i < Deadlines::kMost; ++i) ASSERT_NE(deadlines.add(i, {}), 0);
  EXPECT_EQ(deadlines.add(1, {}), 0);
  deadlines.remove(77);
  EXPECT_EQ(deadlines.add(1, {}), 77);
}

}  // namespace
}  // namespace hamlyn::test
