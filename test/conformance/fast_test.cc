// Fast mode (paper 0, section 2.7): one packet, no metadata entry, a place in the queue that is granted
// beforehand.
#include <numeric>

#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class Fast : public Conformance {};
class FastGrowing : public Conformance {
 protected:
  FastGrowing() : Conformance(interface::kPacketLimit) {}
};

TEST_P(Fast, lands_with_its_word_and_its_offset) {
  Area area(4096);
  TestSlot slot(bob, area, queue, {});
  Terminus terminus(alice.core, 63);
  std::vector<std::size_t> lengths(81);  // each that one or two cells carry
  std::iota(lengths.begin(), lengths.end(), 0);
  lengths.insert(lengths.end(), {1023, 1024});
  for (const std::size_t length : lengths) {
    SCOPED_TRACE(length);
    const std::vector<std::byte> data = pattern(length, length);
    ASSERT_EQ(send_fast(terminus, slot.ticket(), data, length * 3, length + 5), Status::ok);
    const Notification n = next();
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_TRUE(n.fast);
    EXPECT_EQ(n.entry, Ticket::kFast);
    EXPECT_EQ(n.slot, slot.number());
    EXPECT_EQ(n.word, length * 3);
    EXPECT_EQ(n.offset, length + 5);
    EXPECT_EQ(n.length, length);
    EXPECT_EQ(n.peer, alice.id);
    EXPECT_TRUE(same(slot.bytes(n), data));
  }
  EXPECT_EQ(terminus.send_fast(slot.ticket(), pattern(1025, 1), 0, 0), Status::too_long);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), pattern(16, 1), 0, 4081), Status::out_of_bounds);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), {}, 0, 4097), Status::out_of_bounds);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(FastGrowing, takes_a_packet_of_the_mtu_once_the_link_has_grown) {
  Area area(interface::kPacketLimit);
  TestSlot slot(bob, area, queue, {});
  Terminus terminus(alice.core, 63);
  const std::vector<std::byte> data = pattern(interface::kPacketLimit, 1);
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(send_fast(terminus, slot.ticket(), data, i), Status::ok);
    const Notification n = next();
    EXPECT_EQ(n.word, i);
    EXPECT_TRUE(same(slot.bytes(n), data));
  }
}

TEST_P(Fast, marks_the_first_place_of_each_turn_of_the_queue) {
  Area area(64);
  interface::Queue* small = bob.core.make_queue(16);
  TestSlot slot(bob, area, small, {.entries = 1});
  Terminus terminus(alice.core, 63);
  for (int i = 0; i < 100; ++i) {
    if (i % 3 == 0) {
      ASSERT_EQ(terminus.send(slot.ticket(0), {}, {}, nullptr), Status::ok);
    } else {
      ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
    }
    const Notification n = next(bob, small);
    EXPECT_EQ(n.wrap, i % 16 == 0) << i;
    EXPECT_EQ(n.fast, i % 3 != 0) << i;
    if (!n.fast) {
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
  }
}

TEST_P(Fast, tells_an_honest_sender_that_no_place_is_free_and_refuses_nothing) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.places = 8});
  Terminus terminus(alice.core, 63);
  std::uint64_t sent = 0;
  while (send_fast(terminus, slot.ticket(), {}, sent) == Status::ok) ++sent;
  EXPECT_EQ(sent, 8u);
  rest();
  EXPECT_EQ(terminus.send_fast(slot.ticket(), {}, 0, 0), Status::no_place);
  EXPECT_EQ(terminus.place_free(slot.ticket()), Status::no_place);
  // Each place that was read comes back, in the end.
  std::uint64_t read = 0;
  std::vector<bool> seen(1000);
  while (read < 1000) {
    while (sent < 1000 && terminus.send_fast(slot.ticket(), {}, sent, 0) == Status::ok) ++sent;
    turn();
    while (const auto n = take(bob, queue)) {
      ASSERT_FALSE(seen[n->word]) << "twice";
      seen[n->word] = true;
      ++read;
    }
  }
  EXPECT_EQ(bob.refused_in_all() + alice.refused_in_all(), 0u);
}

// Who goes on without a place: refused, counted, told once.
TEST_P(Fast, refuses_a_sender_that_takes_more_places_than_it_was_granted) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.places = 4});
  Terminus terminus(alice.core, 63);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  interface::Packet packet = hand_made(slot.ticket(), 0);
  for (int i = 0; i < 20; ++i) inject(packet);
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 20u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(next().kind, Notification::Kind::message);
  const Notification error = next();
  EXPECT_EQ(error.kind, Notification::Kind::resource_exhausted);
  EXPECT_EQ(error.cause, Refusal::no_place);
  // A place record that was never granted.
  for (const std::uint32_t record : {1u, 255u, 256u, 0xFFFFFFFFu}) {
    packet.delta = record;
    inject(packet);
  }
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 24u);
}

TEST_P(Fast, places_belong_to_one_slot_and_one_link) {
  Area area(64);
  TestSlot mine(bob, area, queue, {.places = 4});
  TestSlot other(bob, area, queue, {.places = 4});
  Terminus from_alice(alice.core, 63), from_carol(carol.core, 63);
  ASSERT_EQ(send_fast(from_alice, mine.ticket(), {}), Status::ok);
  next();
  // The record that alice was granted at one slot does not hold at another.
  inject(hand_made(other.ticket(), 0));
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 1u);
  // Nor does it for carol, who asked for none.
  inject(hand_made(mine.ticket(), 0), carol, bob);
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 2u);
  // A sender that uses up its places leaves the others theirs.
  while (send_fast(from_alice, mine.ticket(), {}) == Status::ok) {
  }
  EXPECT_EQ(send_fast(from_carol, mine.ticket(), {}), Status::ok);
}

// By a number that no question has: an answer to it would name another.
TEST_P(Fast, gives_no_places_to_a_question_of_no_honest_number) {
  Area area{64};
  TestSlot slot(bob, area, queue, {});
  interface::Packet packet = hand_made(slot.ticket(), 0);
  set_lead(packet, interface::Operation::open, 0, 0);
  packet.word = std::uint64_t{1} << 32;
  inject(packet);
  rest();
  EXPECT_EQ(bob.refused(Refusal::over_budget), 1u);
}

TEST_P(Fast, is_refused_when_the_queue_has_no_places_left_to_grant) {
  Area area(64);
  interface::Queue* small = bob.core.make_queue(16);
  TestSlot first(bob, area, small, {.places = 256});
  TestSlot second(bob, area, small, {.places = 256});
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(send_fast(terminus, first.ticket(), {}), Status::ok);  // has all 14
  EXPECT_EQ(send_fast(terminus, second.ticket(), {}), Status::refused);
  // Who keeps the queue is told that it is too short, beside the message.
  const Notification one = next(bob, small), other = next(bob, small);
  const bool told_first = one.kind == Notification::Kind::resource_exhausted;
  const Notification& told = told_first ? one : other;
  const Notification& message = told_first ? other : one;
  EXPECT_EQ(told.kind, Notification::Kind::resource_exhausted);
  EXPECT_EQ(told.cause, Refusal::no_place);
  EXPECT_EQ(told.word, 1u);
  EXPECT_EQ(message.slot, first.number());
  EXPECT_EQ(bob.refused(Refusal::no_place), 1u);
  // When the first slot is gone, its places can be granted again.
  first.drop();
  TestSlot third(bob, area, small, {.places = 256});
  for (int i = 0; i < 14; ++i) EXPECT_EQ(send_fast(terminus, third.ticket(), {}), Status::ok) << i;
}

// An honest sender asks for no more than it may have at a time, and is told so.
TEST_P(Fast, has_places_in_use_at_256_slots_of_a_link_and_at_another_when_one_has_gone) {
  Area area(64);
  interface::Queue* large = bob.core.make_queue(4096);
  std::vector<std::unique_ptr<TestSlot>> slots;
  for (std::size_t i = 0; i <= interface::Link::kPlacesLimit; ++i)
    slots.push_back(std::make_unique<TestSlot>(bob, area, large, Slot::Options{.places = 1}));
  const Ticket beyond = slots.back()->ticket(), gone = slots.front()->ticket();
  Terminus terminus(alice.core, 63);
  for (std::size_t i = 0; i < interface::Link::kPlacesLimit; ++i)
    ASSERT_EQ(send_fast(terminus, slots[i]->ticket(), {}), Status::ok) << i;
  EXPECT_EQ(terminus.send_fast(beyond, {}, 0, 0), Status::no_place);
  rest();
  EXPECT_EQ(terminus.send_fast(beyond, {}, 0, 0), Status::no_place);
  EXPECT_EQ(bob.refused(Refusal::over_budget), 0u);
  // It hears of the end of one when it sends there, if it has not before.
  slots.front().reset();
  rest();
  EXPECT_EQ(send_fast(terminus, gone, {}), Status::refused);
  EXPECT_EQ(send_fast(terminus, beyond, {}, 5), Status::ok);
  Notification last{};
  for (std::size_t i = 0; i <= interface::Link::kPlacesLimit; ++i) last = next(bob, large);
  EXPECT_EQ(last.word, 5u);
}

// Several senders, several slots, completions and fast mode in one queue that nobody reads: nothing is lost.
TEST_P(Fast, and_completions_fill_a_queue_and_none_is_lost) {
  Area area(4096);
  interface::Queue* small = bob.core.make_queue(16);
  TestSlot fast(bob, area, small, {.places = 6});
  TestSlot counted(bob, area, small, {.entries = 100});
  Terminus from_alice(alice.core, 63), from_carol(carol.core, 63);
  int sent = 0;
  while (send_fast(from_alice, fast.ticket(), {}) == Status::ok) ++sent;
  while (send_fast(from_carol, fast.ticket(), {}) == Status::ok) ++sent;
  EXPECT_EQ(sent, 12);
  for (std::uint32_t entry = 0; entry < 100; ++entry) {
    Terminus& terminus = entry % 2 == 0 ? from_alice : from_carol;
    ASSERT_TRUE(
        until([&] { return terminus.send(counted.ticket(entry), {}, {}, nullptr) != Status::queue_full; }));
  }
  rest();
  std::vector<bool> seen(100);
  int fast_ones = 0, counted_ones = 0;
  while (const auto n = take(bob, small)) {
    if (n->fast) {
      ++fast_ones;
    } else {
      EXPECT_FALSE(seen[n->entry]);
      seen[n->entry] = true;
      ++counted_ones;
    }
  }
  EXPECT_EQ(fast_ones, sent);
  EXPECT_EQ(counted_ones, 100);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Fast, sender_hears_that_a_slot_is_gone) {
  Area area(64);
  auto slot = std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.places = 8});
  Terminus terminus(alice.core, 63), late(carol.core, 63);
  const Ticket ticket = slot->ticket();
  ASSERT_EQ(send_fast(terminus, ticket, {}), Status::ok);
  rest();
  slot.reset();
  rest();
  EXPECT_EQ(terminus.send_fast(ticket, {}, 0, 0), Status::refused);
  // So does one that comes with a ticket that was good once, and one whose key is wrong.
  EXPECT_EQ(send_fast(late, ticket, {}), Status::refused);
  EXPECT_EQ(bob.refused(Refusal::stale_generation), 1u);
  TestSlot again(bob, area, queue, {.places = 8});
  Ticket forged = again.ticket();
  forged.key ^= 1;
  EXPECT_EQ(send_fast(late, forged, {}), Status::refused);
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
  EXPECT_EQ(send_fast(late, again.ticket(), {}), Status::ok);
}

// Slots come and go while a sender holds places at them: what is freed is granted again, for ever.
TEST_P(Fast, slots_come_and_go_without_using_up_the_queue) {
  Area area(64);
  Terminus terminus(alice.core, 63);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    TestSlot slot(bob, area, queue, {.places = 40});
    ASSERT_EQ(send_fast(terminus, slot.ticket(), {}, i), Status::ok) << i;
    if (i % 2 == 0) {
      slot.drop();  // with its notification in the queue, or with the packet still under way
      rest();
    }
    if (i % 2 == 1 || !queue->empty()) {
      const Notification n = next();
      if (n.kind == Notification::Kind::message) {
        EXPECT_EQ(n.word, i);
      } else {
        EXPECT_EQ(n.cause, Refusal::stale_generation);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(fabric, Fast, testing::ValuesIn(fabrics()), fabric_name);
INSTANTIATE_TEST_SUITE_P(fabric, FastGrowing, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
