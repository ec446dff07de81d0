// The end of a link: what waited for it fails, what had arrived whole is handed over, and nobody else
// notices.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::EntryState;
using interface::Terminus;

class LinkEnds : public Conformance {
 protected:
  Area area{1u << 20};
  const std::vector<std::byte> large = pattern(256 * 1024, 1);
};

TEST_P(LinkEnds, what_arrived_whole_is_handed_over) {
  TestSlot slot(bob, area, queue, {.entries = 10});
  Terminus terminus(alice.core, 63);
  for (std::uint32_t i = 0; i < 10; ++i)
    ASSERT_EQ(terminus.send(slot.ticket(i), std::span(large).first(20), {.offset = i * 20}, nullptr),
              Status::ok);
  fabric->settle();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_FALSE(queue->empty());
    const auto n = take(bob, queue);
    EXPECT_EQ(n->kind, Notification::Kind::message);
    EXPECT_TRUE(same(slot.bytes(*n), std::span(large).first(20)));
  }
  const auto ended = take(bob, queue);
  EXPECT_EQ(ended->kind, Notification::Kind::link_ended);
  EXPECT_EQ(ended->word, 1u);
  EXPECT_TRUE(queue->empty());
}

TEST_P(LinkEnds, what_a_full_link_holds_of_both_levels_is_handed_over) {
  TestSlot slot(bob, area, queue, {.entries = 512});
  rest();
  interface::Link* const link = alice.core.find_link(bob.id);
  std::uint32_t entry = 0;
  for (const Priority level : {Priority::normal, Priority::urgent}) {
    while (entry < 512 && link->put(hand_made(slot.ticket(entry), 16), junk, junk, level) == Status::ok)
      ++entry;
  }
  ASSERT_GT(entry, 40u);
  ASSERT_LT(entry, 512u) << "the link was not full";
  fabric->settle();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  for (std::uint32_t i = 0; i < entry; ++i)
    ASSERT_EQ(take(bob, queue)->kind, Notification::Kind::message) << i << " of " << entry;
  EXPECT_EQ(take(bob, queue)->kind, Notification::Kind::link_ended);
}

// Who has read a message, and waits for the end of whoever sent it, may find another link in the place of
// its.
TEST_P(LinkEnds, an_entry_fails_with_the_link_that_filled_another_and_not_with_a_later_one) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid, .entries = 2});
  Terminus terminus(alice.core, 63);
  const auto fill = [&] {
    ASSERT_EQ(slot.arm(0, {0, 64}), Status::ok);
    ASSERT_EQ(terminus.send(slot.ticket(0), std::span(large).first(20), {}, nullptr), Status::ok);
    ASSERT_EQ(next().kind, Notification::Kind::message);
    ASSERT_EQ(slot.arm(1, {0, 0}), Status::ok);
  };
  const auto end = [&] {
    fabric->kill(alice, bob);
    fabric->end(bob, alice);
    fabric->join(alice, bob);
  };
  fill();
  EXPECT_EQ(bob.core.expect_as(slot.index(), 1, 1), Status::connecting) << "it was never filled";
  EXPECT_EQ(bob.core.expect_as(slot.index(), 1, 2), Status::invalid);
  ASSERT_EQ(bob.core.expect_as(slot.index(), 1, 0), Status::ok);
  end();
  const Notification failed = next();
  EXPECT_EQ(failed.kind, Notification::Kind::failed);
  EXPECT_EQ(failed.entry, 1u);
  while (take(bob, queue)) {
  }
  fill();
  end();
  EXPECT_EQ(bob.core.expect_as(slot.index(), 1, 0), Status::connecting);
  EXPECT_EQ(bob.core.expect(slot.index(), 1, alice.id), Status::ok) << "there is another";
}

TEST_P(LinkEnds, half_a_message_fails_its_entry_and_no_other) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  Terminus from_alice(alice.core, 63), from_carol(carol.core, 63);
  ASSERT_EQ(from_alice.send(slot.ticket(0), large, {}, nullptr), Status::pending);
  ASSERT_EQ(from_carol.send(slot.ticket(1), large, {.offset = 500000}, nullptr), Status::pending);
  ASSERT_TRUE(until([&] {
    return slot.entry(0).state == EntryState::filling && slot.entry(1).state == EntryState::filling;
  }));
  const Ticket old = slot.ticket(0);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  const auto failed = take(bob, queue);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, Notification::Kind::failed);
  EXPECT_EQ(failed->entry, 0u);
  EXPECT_EQ(failed->peer, alice.id);
  const auto ended = take(bob, queue);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->kind, Notification::Kind::link_ended);
  EXPECT_EQ(ended->peer, alice.id);
  // Carol's goes on, and the entry takes messages again, also with the ticket of before: others have it, too.
  const Notification n = next();
  EXPECT_EQ(n.entry, 1u);
  EXPECT_TRUE(same(slot.bytes(n), large));
  ASSERT_EQ(slot.arm(0), Status::ok);
  EXPECT_EQ(slot.entry(2).state, EntryState::armed);
  ASSERT_EQ(from_carol.send(old, std::span(large).first(8), {}, nullptr), Status::ok);
  EXPECT_EQ(next().kind, Notification::Kind::message);
}

TEST_P(LinkEnds, each_queue_that_had_a_part_is_told_once) {
  interface::Queue* const second = bob.core.make_queue(16);
  interface::Queue* const others = bob.core.make_queue(16);
  TestSlot one(bob, area, queue, {.base = 0, .bound = 64, .places = 4});
  TestSlot two(bob, area, second, {.base = 64, .bound = 64, .places = 4});
  Terminus terminus(alice.core, 4), from_carol(carol.core, 4);
  TestSlot three(bob, area, others, {.base = 128, .bound = 64, .places = 4});
  EXPECT_EQ(send_fast(terminus, one.ticket(), {}), Status::ok);
  EXPECT_EQ(send_fast(terminus, two.ticket(), {}), Status::ok);
  EXPECT_EQ(send_fast(from_carol, three.ticket(), {}), Status::ok);
  rest();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  for (interface::Queue* each : {queue, second}) {
    EXPECT_EQ(take(bob, each)->kind, Notification::Kind::message);
    const auto ended = take(bob, each);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->kind, Notification::Kind::link_ended);
    EXPECT_EQ(ended->peer, alice.id);
    EXPECT_TRUE(each->empty());
  }
  EXPECT_EQ(take(bob, others)->kind, Notification::Kind::message);
  EXPECT_TRUE(others->empty());
}

TEST_P(LinkEnds, senders_are_told) {
  TestSlot slot(bob, area, queue, {.entries = 2, .places = 8});
  Area carols(1u << 20);
  interface::Queue* carols_queue = carol.core.make_queue(16);
  TestSlot at_carol(carol, carols, carols_queue, {.entries = 1});
  Terminus terminus(alice.core, 63);
  const Ticket fast = slot.ticket();
  ASSERT_EQ(send_fast(terminus, fast, {}), Status::ok);
  SendHandle first, second, other;
  ASSERT_EQ(terminus.send(slot.ticket(0), large, {}, &first), Status::pending);
  ASSERT_EQ(terminus.send(slot.ticket(1), large, {}, &second), Status::pending);
  ASSERT_EQ(terminus.send(at_carol.ticket(0), large, {}, &other), Status::pending);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  EXPECT_EQ(terminus.status(first), Status::link_ended);
  EXPECT_EQ(terminus.status(second), Status::link_ended);
  EXPECT_EQ(terminus.status(other), Status::pending);
  EXPECT_EQ(terminus.send_fast(fast, {}, 0, 0), Status::connecting) << "another link may be made";
  next(carol, carols_queue);
  EXPECT_EQ(terminus.status(other), Status::ok);
  EXPECT_FALSE(alice.core.departures_wait());
  EXPECT_EQ(alice.counters().links_ended, 1u);
  EXPECT_EQ(alice.counters().links, 1u);
}

TEST_P(LinkEnds, each_queue_that_it_had_a_part_in_hears_of_it_once) {
  interface::Queue* second = bob.core.make_queue(16);
  interface::Queue* third = bob.core.make_queue(16);
  TestSlot one(bob, area, second, {.places = 4}), two(bob, area, second, {.places = 4}),
      three(bob, area, third, {});
  Terminus from_alice(alice.core, 63), from_carol(carol.core, 63);
  ASSERT_EQ(send_fast(from_alice, one.ticket(), {}), Status::ok);
  ASSERT_EQ(send_fast(from_alice, two.ticket(), {}), Status::ok);
  ASSERT_EQ(send_fast(from_carol, three.ticket(), {}), Status::ok);
  next(bob, second);
  next(bob, second);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  EXPECT_EQ(take(bob, second)->kind, Notification::Kind::link_ended);
  EXPECT_TRUE(second->empty());
  EXPECT_TRUE(queue->empty());
  EXPECT_EQ(next(bob, third).kind, Notification::Kind::message);
  EXPECT_TRUE(third->empty());
}

// More of them than fail at once: the others fail in runs that bring nothing. Of such a run, too, those who
// wait are told.
TEST_P(LinkEnds, a_run_in_which_entries_fail_has_moved_something) {
  constexpr std::size_t kSlots = 100;
  std::vector<std::unique_ptr<TestSlot>> slots;
  for (std::size_t i = 0; i != kSlots; ++i) {
    slots.push_back(std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.entries = 1}));
    ASSERT_EQ(bob.core.expect(slots[i]->index(), 0, alice.id), Status::ok);
  }
  rest();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  std::size_t failed = 0;
  const auto take_failures = [&] {
    while (const auto n = take(bob, queue)) failed += n->kind == Notification::Kind::failed ? 1u : 0u;
  };
  for (take_failures(); failed != kSlots; take_failures())
    ASSERT_TRUE(bob.core.run()) << failed << " have failed, and nobody would look";
  EXPECT_EQ(failed, kSlots);
}

// A link that had places only at slots that are gone, or none at all: somebody must hear of it.
TEST_P(LinkEnds, a_link_without_places_is_told_to_the_first_queue) {
  auto slot = std::make_unique<TestSlot>(bob, area, queue, Slot::Options{});
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(send_fast(terminus, slot->ticket(), {}), Status::ok);
  next();
  slot.reset();
  rest();
  for (Party* gone : {&alice, &carol}) {
    fabric->kill(*gone, bob);
    fabric->end(bob, *gone);
    ASSERT_FALSE(queue->empty()) << gone->id;
    const auto n = take(bob, queue);
    EXPECT_EQ(n->kind, Notification::Kind::link_ended);
    EXPECT_EQ(n->peer, gone->id);
  }
}

TEST_P(LinkEnds, its_places_are_granted_to_the_next) {
  TestSlot slot(bob, area, queue, {.places = 56});  // all that the queue has
  for (int i = 0; i < 50; ++i) {
    Terminus terminus(alice.core, 63);
    ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok) << i;
    ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok) << i;
    rest();
    if (i % 2 == 0) next();
    fabric->kill(alice, bob);
    fabric->end(bob, alice);
    while (take(bob, queue)) {
    }
    fabric->join(alice, bob);
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(LinkEnds, refusals_that_were_not_told_yet_are_told) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  interface::Packet packet = hand_made(slot.ticket(0), 0);
  packet.key ^= 1;
  for (int i = 0; i < 5; ++i) inject(packet);
  fabric->settle();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  std::uint64_t told = 0;
  while (const auto n = take(bob, queue)) told += n->kind == Notification::Kind::protocol_error ? n->word : 0;
  EXPECT_EQ(told, 5u);
}

INSTANTIATE_TEST_SUITE_P(fabric, LinkEnds, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
