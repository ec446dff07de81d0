// Levels of urgency and the order of departures (paper 1, sections 3.2 and 5; paper 0, section 2.3).
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::kUrgentInARow;
using interface::Terminus;

class Priorities : public Conformance {
 protected:
  // What bob has got into an entry of a message that is not complete.
  static std::uint64_t got(TestSlot& slot, std::uint32_t entry) { return slot.entry(entry).length; }
  void turns_without_bob(int count) {
    for (int i = 0; i < count; ++i) {
      fabric->pass();
      alice.core.run();
      carol.core.run();
    }
    fabric->settle();
  }

  Area area{1u << 20};
  const std::vector<std::byte> large = pattern(256 * 1024, 1);
  Terminus urgent{alice.core, 63, Priority::urgent};
  Terminus normal{alice.core, 63};
};

TEST_P(Priorities, overtake_bulk_at_the_next_packet_boundary) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  SendHandle bulk;
  ASSERT_EQ(normal.send(slot.ticket(0), large, {}, &bulk), Status::pending);
  turns_without_bob(20);  // the link is as full as it gets
  EXPECT_EQ(normal.send(slot.ticket(2), {}, {}, nullptr), Status::pending);
  const std::vector<std::byte> word = pattern(16, 2);
  EXPECT_EQ(urgent.send(slot.ticket(1), word, {.offset = 512 * 1024}, nullptr), Status::ok)
      << "it does not wait for the room of others";
  fabric->settle();
  bob.core.run();
  ASSERT_FALSE(queue->empty()) << "it is told before the turn goes on";
  const Notification first = next();
  EXPECT_EQ(first.entry, 1u);
  EXPECT_TRUE(same(slot.bytes(first), word));
  EXPECT_EQ(normal.status(bulk), Status::pending);
  EXPECT_EQ(next().entry + next().entry, 2u) << "the other two";
  EXPECT_TRUE(same(area.bytes().first(large.size()), large));
}

TEST_P(Priorities, are_told_in_a_queue_of_their_own_if_their_slot_has_one) {
  interface::Queue* own = bob.core.make_queue(16);
  Area small(4096);
  TestSlot bulk_slot(bob, area, queue, {.entries = 1});
  TestSlot urgent_slot(bob, small, own, {.entries = 1});
  ASSERT_EQ(normal.send(bulk_slot.ticket(0), large, {}, nullptr), Status::pending);
  ASSERT_EQ(urgent.send(urgent_slot.ticket(0), {}, {}, nullptr), Status::ok);
  EXPECT_EQ(next(bob, own).slot, urgent_slot.number());
  EXPECT_TRUE(queue->empty());
  EXPECT_EQ(next().slot, bulk_slot.number());
}

// Urgent traffic without end: the normal level still gets one packet for so many of it.
TEST_P(Priorities, leave_the_normal_level_its_share) {
  TestSlot slot(bob, area, queue, {.entries = 60});
  const std::size_t length = 100 * kMtu;
  ASSERT_LE(normal.send(slot.ticket(0), std::span(large).first(length), {}, nullptr), Status::pending);
  std::vector<std::uint32_t> free;
  for (std::uint32_t entry = 1; entry < 60; ++entry) free.push_back(entry);
  unsigned urgent_came = 0;
  bool normal_came = false;
  ASSERT_TRUE(until([&] {
    while (!free.empty() &&
           urgent.send(slot.ticket(free.back()), {}, {.offset = length}, nullptr) <= Status::pending)
      free.pop_back();
    while (const auto n = take(bob, queue)) {
      if (n->entry == 0) {
        normal_came = true;
      } else {
        urgent_came += normal_came ? 0 : 1;
        EXPECT_EQ(slot.arm(n->entry), Status::ok);
        free.push_back(n->entry);
      }
    }
    return normal_came;
  }));
  EXPECT_GE(urgent_came, kUrgentInARow / 2) << "it does go first";
  EXPECT_LE(urgent_came, (kUrgentInARow + 1) * (100 + 64)) << "and no more than that: packets, and a window";
}

TEST_P(Priorities, of_one_level_share_a_destination_packet_by_packet) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  Terminus second(alice.core, 63), third(alice.core, 63);
  const std::span<const std::byte> data = large;
  ASSERT_EQ(normal.send(slot.ticket(0), data, {}, nullptr), Status::pending);
  ASSERT_EQ(second.send(slot.ticket(1), data, {.offset = large.size()}, nullptr), Status::pending);
  ASSERT_EQ(third.send(slot.ticket(2), data, {.offset = 2 * large.size()}, nullptr), Status::pending);
  // The first had the link to itself until it was full; from then on each gets one packet in turn.
  EXPECT_EQ(next().entry, 0u);
  EXPECT_GT(got(slot, 1) + 80 * kMtu, large.size());
  EXPECT_GT(got(slot, 2) + 80 * kMtu, large.size());
  next();
  next();
  EXPECT_TRUE(same(area.bytes().subspan(2 * large.size(), large.size()), large));
}

// Direct sends as fast as there is room for them do not starve a message that waits, nor does it them.
TEST_P(Priorities, share_a_destination_with_direct_sends) {
  TestSlot slot(bob, area, queue, {.entries = 1, .places = 32});
  Terminus direct(alice.core, 63);
  ASSERT_EQ(send_fast(direct, slot.ticket(), {}), Status::ok);
  next();
  ASSERT_EQ(normal.send(slot.ticket(0), large, {}, nullptr), Status::pending);
  unsigned fast_came = 0;
  bool came = false;
  ASSERT_TRUE(until([&] {
    while (direct.send_fast(slot.ticket(), {}, 0, 0) == Status::ok) {
    }
    while (const auto n = take(bob, queue)) {
      came |= !n->fast;
      fast_came += n->fast ? 1u : 0u;
    }
    return came;
  }));
  EXPECT_GT(fast_came, 0u);
}

TEST_P(Priorities, keep_long_messages_whole) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  const std::vector<std::byte> metadata = pattern(60, 3);
  ASSERT_LE(urgent.send(slot.ticket(0), large, {.metadata = metadata}, nullptr), Status::pending);
  ASSERT_LE(normal.send(slot.ticket(1), large, {.offset = large.size()}, nullptr), Status::pending);
  next();
  next();
  EXPECT_TRUE(same(area.bytes().first(large.size()), large));
  EXPECT_TRUE(same(area.bytes().subspan(large.size(), large.size()), large));
  EXPECT_TRUE(same(slot.metadata(0), metadata));
}

TEST_P(Priorities, have_fast_mode_with_packets_of_their_own_size) {
  interface::Link* link = alice.core.find_link(bob.id);
  const std::size_t most = link->urgent_payload_limit();
  EXPECT_EQ(most, 320u);
  TestSlot slot(bob, area, queue, {.bound = 4096, .places = 4});
  const std::vector<std::byte> data = pattern(most + 1, 1);
  ASSERT_EQ(send_fast(urgent, slot.ticket(), std::span(data).first(most), 7, 5), Status::ok);
  const Notification n = next();
  EXPECT_TRUE(n.fast);
  EXPECT_EQ(n.word, 7u);
  EXPECT_EQ(n.offset, 5u);
  EXPECT_TRUE(same(slot.bytes(n), std::span(data).first(most)));
  EXPECT_EQ(urgent.send_fast(slot.ticket(), data, 0, 0), Status::too_long);
  EXPECT_EQ(urgent.send_fast(slot.ticket(), {}, 0, 4097), Status::out_of_bounds);
  EXPECT_EQ(urgent.send_fast(slot.ticket(), std::span(data).first(16), 0, 4081), Status::out_of_bounds);
  EXPECT_EQ(urgent.send_fast(slot.ticket(), std::span(data).first(16), 0, 4080), Status::ok);
  next();
  rest();
  // Its places are the same as the normal level's.
  int sent = 0;
  while (sent < 10 && urgent.send_fast(slot.ticket(), {}, 0, 0) == Status::ok) ++sent;
  EXPECT_EQ(sent, 4);
  EXPECT_EQ(urgent.send_fast(slot.ticket(), {}, 0, 0), Status::no_place);
  EXPECT_EQ(normal.send_fast(slot.ticket(), {}, 0, 0), Status::no_place);
  EXPECT_EQ(urgent.place_free(slot.ticket()), Status::no_place);
  for (int i = 0; i < 4; ++i) next();
  ASSERT_TRUE(until([&] { return urgent.place_free(slot.ticket()) == Status::ok; }));
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Priorities, say_queue_full_when_their_own_ring_is) {
  TestSlot slot(bob, area, queue, {.places = 32});
  ASSERT_EQ(send_fast(urgent, slot.ticket(), {}), Status::ok);
  next();
  rest();
  int sent = 0;
  while (urgent.send_fast(slot.ticket(), {}, 0, 0) == Status::ok) ++sent;
  EXPECT_GE(sent, 3);
  EXPECT_LE(sent, 8);
  EXPECT_EQ(urgent.send_fast(slot.ticket(), {}, 0, 0), Status::queue_full);
  EXPECT_EQ(urgent.place_free(slot.ticket()), Status::queue_full);
  EXPECT_EQ(normal.send_fast(slot.ticket(), {}, 0, 0), Status::ok) << "the normal level has its own";
  for (int i = 0; i <= sent; ++i) next();
  ASSERT_TRUE(until([&] { return urgent.place_free(slot.ticket()) == Status::ok; }));
}

TEST_P(Priorities, fail_in_both_levels_when_the_link_ends) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  SendHandle handles[2];
  ASSERT_EQ(normal.send(slot.ticket(0), large, {}, &handles[0]), Status::pending);
  ASSERT_EQ(urgent.send(slot.ticket(1), large, {}, &handles[1]), Status::pending);
  EXPECT_EQ(urgent.sequence(), 0u);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  EXPECT_EQ(normal.status(handles[0]), Status::link_ended);
  EXPECT_EQ(urgent.status(handles[1]), Status::link_ended);
  EXPECT_EQ(urgent.sequence(), 1u) << "it is over";
  EXPECT_FALSE(alice.core.departures_wait());
}

TEST_P(Priorities, wait_in_their_level_for_a_link_that_is_not_made_yet) {
  Party dave(104);
  Area daves(1u << 20);
  interface::Queue* daves_queue = dave.core.make_queue(16);
  TestSlot slot(dave, daves, daves_queue, {.entries = 2});
  ASSERT_EQ(normal.send(slot.ticket(0), large, {}, nullptr), Status::pending);
  ASSERT_EQ(urgent.send(slot.ticket(1), {}, {}, nullptr), Status::pending);
  alice.wanted.clear();
  turns(2);
  EXPECT_EQ(alice.wanted.count(dave.id), 1u) << "asked for again";
  fabric->join(alice, dave);
  std::vector<std::uint32_t> order;
  ASSERT_TRUE(until([&] {
    dave.core.run();
    while (const auto n = take(dave, daves_queue)) order.push_back(n->entry);
    return order.size() == 2;
  }));
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 0}));
  fabric->kill(dave, alice);
  fabric->end(alice, dave);
}

INSTANTIATE_TEST_SUITE_P(fabric, Priorities, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
