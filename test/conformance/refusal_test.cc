// What the interface refuses, cause by cause, of packets that no honest sender makes; the neighbours of each
// refused value are accepted.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;

constexpr std::uint64_t kMost = ~std::uint64_t{0};

class Refusals : public Conformance {
 protected:
  // The cause for which `packet` is refused, or none if it was taken. Nothing but the counts may move.
  Refusal refusal_of(const Packet& packet) {
    std::uint64_t before[static_cast<std::size_t>(Refusal::count)];
    std::copy_n(bob.counters().refused, std::size(before), before);
    inject(packet);
    rest();
    Refusal found = Refusal::none;
    for (std::size_t i = 0; i < std::size(before); ++i) {
      const std::uint64_t more = bob.counters().refused[i] - before[i];
      EXPECT_LE(more, 1u);
      if (more != 0) found = static_cast<Refusal>(i);
    }
    return found;
  }
  void drain_queue() {
    while (take(bob, queue)) {
    }
  }
  bool untouched(Area& area) {
    return std::all_of(area.bytes().begin(), area.bytes().end(),
                       [](std::byte b) { return b == std::byte{0xEE}; });
  }
};

TEST_P(Refusals, slots_count_them_by_cause_and_what_stood_unread) {
  Area area(64);
  auto slot = std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.entries = 1, .places = 8});
  const interface::SlotCounters& counts = bob.counters().slot[slot->index()];
  const std::uint32_t& keys =
      bob.counters().slot_refused[slot->index()].by_cause[static_cast<std::size_t>(Refusal::bad_key)];
  Terminus terminus(alice.core, 63);
  for (const int together : {1, 3, 2}) {
    for (int i = 0; i < together; ++i) ASSERT_EQ(send_fast(terminus, slot->ticket(), {}), Status::ok);
    rest();
    drain_queue();
  }
  EXPECT_EQ(counts.most_places, 3u);
  Packet packet = hand_made(slot->ticket(0), 0);
  packet.key ^= 1;
  EXPECT_EQ(refusal_of(packet), Refusal::bad_key);
  EXPECT_EQ(keys, 1u);
  EXPECT_EQ(counts.most_entries, 0u);
  EXPECT_EQ(refusal_of(hand_made(slot->ticket(0), 0)), Refusal::none);
  EXPECT_EQ(counts.most_entries, 1u);
  drain_queue();
  ASSERT_EQ(slot->arm(0), Status::ok);
  EXPECT_EQ(refusal_of(hand_made(slot->ticket(0), 0)), Refusal::none);
  EXPECT_EQ(counts.most_entries, 1u) << "the one before was read";
  slot.reset();
  EXPECT_EQ(keys, 0u) << "the next slot there begins anew";
}

TEST_P(Refusals, slots_that_are_not_there) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.entries = 1});
  for (const std::uint32_t entry : {0u, Ticket::kFast}) {
    Packet packet = hand_made(slot.ticket(), 0);
    packet.entry = entry;
    for (const std::uint32_t index : {slot.index() + 1, 63u, 64u, slot.index() + 64,
                                      slot.index() + (1u << 16), 0x80000000u + slot.index(), 0xFFFFFFFFu}) {
      packet.slot = index;
      EXPECT_EQ(refusal_of(packet), Refusal::bad_slot) << index;
    }
  }
}

TEST_P(Refusals, generations_that_are_over_or_to_come) {
  Area area(64);
  auto slot = std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.entries = 1});
  Packet packet = hand_made(slot->ticket(0), 0);
  const std::uint32_t generation = packet.generation;
  for (const std::uint32_t wrong :
       {generation - 1, generation + 1, 0u, 0xFFFFFFFFu, generation ^ 0x80000000u}) {
    packet.generation = wrong;
    EXPECT_EQ(refusal_of(packet), Refusal::stale_generation) << wrong;
  }
  packet.generation = generation;
  slot.reset();
  EXPECT_EQ(refusal_of(packet), Refusal::stale_generation) << "the slot is gone";
  TestSlot next_one(bob, area, queue, {.entries = 1});
  ASSERT_EQ(next_one.index(), packet.slot) << "the place is used again at once";
  EXPECT_EQ(refusal_of(packet), Refusal::stale_generation) << "the place has another slot";
  EXPECT_EQ(refusal_of(hand_made(next_one.ticket(0), 0)), Refusal::none);
}

TEST_P(Refusals, keys_that_are_wrong_in_any_one_bit) {
  Area area(64);
  TestSlot guarded(bob, area, queue, {.entries = 1});
  TestSlot paranoid(bob, area, queue, {.mode = Mode::paranoid, .entries = 2});
  ASSERT_EQ(paranoid.arm(0), Status::ok);
  ASSERT_EQ(paranoid.arm(1), Status::ok);
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  for (const Ticket& ticket : {guarded.ticket(), guarded.ticket(0), paranoid.ticket(0)}) {
    for (int bit = 0; bit < 64; ++bit) {
      Packet packet = hand_made(ticket, 16);
      packet.key ^= std::uint64_t{1} << bit;
      EXPECT_EQ(refusal_of(packet), Refusal::bad_key) << bit;
      drain_queue();
    }
    Packet packet = hand_made(ticket, 16);
    packet.key = 0;
    EXPECT_EQ(refusal_of(packet), Refusal::bad_key);
  }
  // In a paranoid slot neither the slot's key nor another entry's opens an entry.
  Packet packet = hand_made(paranoid.ticket(0), 16);
  packet.key = paranoid.record().key;
  EXPECT_EQ(refusal_of(packet), Refusal::bad_key);
  packet.key = paranoid.entry(1).key;
  EXPECT_EQ(refusal_of(packet), Refusal::bad_key);
  EXPECT_TRUE(untouched(area));
}

TEST_P(Refusals, places_outside_the_bounds_of_a_slot) {
  Area area(4096);
  TestSlot slot(bob, area, queue, {.base = 1024, .bound = 256, .entries = 1, .places = 64});
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);  // so that fast mode has its places
  rest();
  drain_queue();
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  struct Case {
    std::uint64_t offset;
    std::size_t length;
  };
  for (const Case& each : {Case{256, 1},
                           {257, 0},
                           {255, 2},
                           {240, 17},
                           {0, 257},
                           {1, 256},
                           {192, 65},
                           {kMost, 0},
                           {kMost, 1},
                           {kMost, 16},
                           {kMost - 15, 16},
                           {kMost - 16, 17},
                           {kMost - 255, 256},
                           {kMost - 1023, 1024},
                           {std::uint64_t{1} << 63, 16},
                           {kMost - 1023, 256},
                           {std::uint64_t{1} << 32, 16}}) {
    for (const Ticket& ticket : {slot.ticket(), slot.ticket(0)}) {
      Packet packet = hand_made(ticket, each.length);
      packet.offset = each.offset;
      EXPECT_EQ(refusal_of(packet), Refusal::out_of_bounds) << each.offset << " + " << each.length;
      drain_queue();
    }
  }
  EXPECT_TRUE(untouched(area));
  for (const Case& each : {Case{256, 0}, {255, 1}, {240, 16}, {0, 256}, {239, 17}, {192, 64}}) {
    for (const Ticket& ticket : {slot.ticket(), slot.ticket(0)}) {
      Packet packet = hand_made(ticket, each.length);
      packet.offset = each.offset;
      EXPECT_EQ(refusal_of(packet), Refusal::none) << each.offset << " + " << each.length;
      drain_queue();
    }
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  std::fill_n(slot.base(), 256, std::byte{0xEE});
  EXPECT_TRUE(untouched(area)) << "something landed beside the slot";
}

TEST_P(Refusals, places_outside_the_bounds_of_an_entry) {
  Area area(4096);
  TestSlot slot(bob, area, queue, {.base = 1024, .bound = 256, .mode = Mode::paranoid, .entries = 1});
  ASSERT_EQ(slot.arm(0, {64, 64}), Status::ok);
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  struct Case {
    std::uint64_t offset;
    std::size_t length;
  };
  for (const Case& each : {Case{63, 0},
                           {63, 1},
                           {63, 65},
                           {64, 65},
                           {128, 1},
                           {129, 0},
                           {127, 2},
                           {0, 16},
                           {192, 16},
                           {kMost, 1},
                           {kMost - 63, 64},
                           {kMost - 63, 128},
                           {kMost, 0}}) {
    Packet packet = hand_made(slot.ticket(0), each.length);
    packet.offset = each.offset;
    EXPECT_EQ(refusal_of(packet), Refusal::out_of_bounds) << each.offset << " + " << each.length;
  }
  EXPECT_TRUE(untouched(area));
  for (const Case& each : {Case{64, 0}, {64, 64}, {127, 1}, {128, 0}, {112, 16}}) {
    drain_queue();
    Packet packet = hand_made(slot.ticket(0), each.length);
    packet.offset = each.offset;
    EXPECT_EQ(refusal_of(packet), Refusal::none) << each.offset << " + " << each.length;
    drain_queue();
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  std::fill_n(slot.base() + 64, 64, std::byte{0xEE});
  EXPECT_TRUE(untouched(area)) << "something landed beside the entry's bounds";
}

TEST_P(Refusals, entries_that_are_not_there_or_not_armed) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.entries = 4});
  TestSlot none(bob, area, queue, {});
  Packet packet = hand_made(slot.ticket(0), 0);
  for (const std::uint32_t entry : {4u, 5u, 0x80000000u, 0xFFFFFFFEu}) {
    packet.entry = entry;
    EXPECT_EQ(refusal_of(packet), Refusal::bad_entry) << entry;
  }
  packet = hand_made(none.ticket(), 0);
  packet.entry = 0;
  EXPECT_EQ(refusal_of(packet), Refusal::bad_entry);

  EXPECT_EQ(refusal_of(hand_made(slot.ticket(3), 0)), Refusal::none);
  EXPECT_EQ(refusal_of(hand_made(slot.ticket(3), 0)), Refusal::entry_not_armed) << "it is complete";
  drain_queue();
  EXPECT_EQ(slot.arm(3), Status::ok);
  const Ticket before = slot.ticket(3);
  EXPECT_EQ(slot.disarm(3), Status::ok);
  EXPECT_EQ(refusal_of(hand_made(before, 0)), Refusal::stale_message);
  EXPECT_EQ(refusal_of(hand_made(slot.ticket(3), 0)), Refusal::entry_not_armed) << "it is idle";
}

TEST_P(Refusals, packets_of_another_message_or_another_incarnation) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket ticket = slot.ticket(0);
  Packet first = hand_made(ticket, 16);
  set_entry(first, 0, 1);
  EXPECT_EQ(refusal_of(first), Refusal::none);  // one of two packets

  Packet other = first;
  other.word = interface::message_word(8, ticket.incarnation);
  EXPECT_EQ(refusal_of(other), Refusal::entry_busy) << "another message";
  inject(first, carol, bob);
  rest();
  EXPECT_EQ(bob.refused(Refusal::entry_busy), 2u) << "the same message number from another link";
  for (const std::uint32_t incarnation : {ticket.incarnation - 1, ticket.incarnation + 1, 0xFFFFFFFFu}) {
    other.word = interface::message_word(7, incarnation);
    EXPECT_EQ(refusal_of(other), Refusal::stale_message) << incarnation;
  }
  // None of that has disturbed the message.
  drain_queue();
  Packet last = first;
  last.offset = 16;
  set_entry(last, 0, 0u - 1u);
  EXPECT_EQ(refusal_of(last), Refusal::none);
  const Notification n = next();
  EXPECT_EQ(n.message_id, 7u);
  EXPECT_EQ(n.length, 32u);
}

TEST_P(Refusals, kinds_of_packets_that_a_slot_does_not_take) {
  Area area(64);
  TestSlot counted_only(bob, area, queue, {.entries = 1, .fast = false});
  TestSlot paranoid(bob, area, queue, {.mode = Mode::paranoid, .entries = 1});
  TestSlot both(bob, area, queue, {.entries = 1});
  for (TestSlot* slot : {&counted_only, &paranoid}) {
    Packet packet = hand_made(slot->ticket(), 0);
    EXPECT_EQ(refusal_of(packet), Refusal::mode_forbids);
    set_lead(packet, Operation::open, 0, 0);
    packet.word = 0;
    EXPECT_EQ(refusal_of(packet), Refusal::mode_forbids);
  }
  Packet with_metadata = hand_made(both.ticket(), 0);
  set_lead(with_metadata, Operation::write, 0, 1);
  EXPECT_EQ(refusal_of(with_metadata), Refusal::mode_forbids) << "fast mode has no metadata entry";
}

TEST_P(Refusals, replies_that_nobody_waits_for) {
  Packet packet{};
  for (const Operation operation : {Operation::grant, Operation::credit}) {
    for (const std::uint64_t credit : {std::uint64_t{0}, std::uint64_t{255}, kMost}) {
      set_lead(packet, operation, 0, 0);
      packet.word = credit;
      packet.delta = 1;
      EXPECT_EQ(refusal_of(packet), Refusal::malformed);
      ASSERT_EQ(alice.core.find_link(bob.id)->put_reply(packet, nullptr), Status::ok);
      rest();
    }
  }
  EXPECT_EQ(bob.refused(Refusal::malformed), 12u);
  // More credit than was ever used.
  Area area(64);
  TestSlot slot(alice, area, alice.core.make_queue(64), {.places = 4});
  Terminus terminus(bob.core, 63);
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  set_lead(packet, Operation::credit, 0, 0);
  packet.word = interface::credit_word(0, 1);
  packet.delta = 2;
  ASSERT_EQ(alice.core.find_link(bob.id)->put_reply(packet, nullptr), Status::ok);
  rest();
  EXPECT_EQ(bob.refused(Refusal::malformed), 13u);
  int sent = 1;
  while (send_fast(terminus, slot.ticket(), {}) == Status::ok) ++sent;
  EXPECT_EQ(sent, 4);
  // What it says later may overtake what it has said.
  for (packet.delta = 1; packet.delta != 16; ++packet.delta) {
    ASSERT_EQ(alice.core.find_link(bob.id)->put_reply(packet, nullptr), Status::ok);
    rest();
    EXPECT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  }
  packet.delta = 1;
  ASSERT_EQ(alice.core.find_link(bob.id)->put_reply(packet, nullptr), Status::ok);
  rest();
  EXPECT_EQ(bob.refused(Refusal::malformed), 13u);
  EXPECT_EQ(send_fast(terminus, slot.ticket(), {}), Status::no_place);
}

// Its lead says how long a packet is: who lies about that has broken the link, and no more than that.
TEST_P(Refusals, leads_that_cannot_be_break_the_link_and_no_other) {
  Area area(4096);
  TestSlot slot(bob, area, queue, {.entries = 3});
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  struct Case {
    std::uint8_t operation;
    std::size_t length, metadata;
  };
  int broken = 0;
  for (const Case& each : {Case{1, kMtu + 1, 0},
                           {1, 0, 61},
                           {1, 0, 64},
                           {0, 0, 0},
                           {6, 0, 0},
                           {255, 0, 0},
                           {2, 1, 0},
                           {3, 0, 1},
                           {4, 1, 0},
                           {5, 0, 0},
                           {5, 1, 0}}) {
    SCOPED_TRACE(int{each.operation});
    Packet packet = hand_made(slot.ticket(0), 0);
    set_lead(packet, static_cast<Operation>(each.operation), each.length, each.metadata);
    inject(packet);
    rest();
    interface::Link* link = bob.core.find_link(alice.id);
    EXPECT_TRUE(link->broken);
    EXPECT_EQ(bob.counters().links_broken, static_cast<std::uint64_t>(++broken));
    EXPECT_EQ(bob.attentions, broken);
    fabric->end(bob, alice);
    fabric->end(alice, bob);
    fabric->join(alice, bob);
  }
  EXPECT_TRUE(untouched(area));
  drain_queue();
  inject(hand_made(slot.ticket(1), 0), carol, bob);
  EXPECT_EQ(next().peer, carol.id) << "carol's link goes on";
  inject(hand_made(slot.ticket(2), 0));
  EXPECT_EQ(next().peer, alice.id) << "and alice's next one works";
}

TEST_P(Refusals, are_merged_by_link_and_cause) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.entries = 1});
  Packet bad_key = hand_made(slot.ticket(0), 0), bad_entry = bad_key;
  bad_key.key ^= 1;
  bad_entry.entry = 1;
  for (int i = 0; i < 100; ++i) {
    inject(bad_key);
    inject(bad_entry);
    inject(bad_key, carol, bob);
  }
  rest();
  // The first of each stands in the queue; what came later is told when that was read.
  std::uint64_t told[2][2] = {};
  int notifications = 0;
  while (const auto n = take(bob, queue)) {
    ASSERT_EQ(n->kind, Notification::Kind::protocol_error);
    ASSERT_TRUE(n->cause == Refusal::bad_key || n->cause == Refusal::bad_entry);
    told[n->peer == carol.id][n->cause == Refusal::bad_entry] += n->word;
    ++notifications;
  }
  EXPECT_EQ(notifications, 6);
  EXPECT_EQ(told[0][0], 100u);
  EXPECT_EQ(told[0][1], 100u);
  EXPECT_EQ(told[1][0], 100u);
  EXPECT_EQ(bob.refused(Refusal::bad_key), 200u);
  EXPECT_EQ(bob.core.find_link(carol.id)->counters->refused[static_cast<std::size_t>(Refusal::bad_key)],
            100u);
  EXPECT_EQ(bob.core.find_link(alice.id)->counters->refused[static_cast<std::size_t>(Refusal::bad_key)],
            100u);
  const auto& of_slot = bob.counters().slot_refused[slot.index()].by_cause;
  EXPECT_EQ(of_slot[static_cast<std::size_t>(Refusal::bad_key)], 200u) << "of all links";
  EXPECT_EQ(of_slot[static_cast<std::size_t>(Refusal::bad_entry)], 100u);
  EXPECT_EQ(bob.counters().events_lost, 0u);
}

TEST_P(Refusals, go_to_the_queue_of_the_slot_or_to_the_first_and_survive_it) {
  Area area(64);
  interface::Queue* second = bob.core.make_queue(16);
  auto slot = std::make_unique<TestSlot>(bob, area, second, Slot::Options{.entries = 1});
  Packet packet = hand_made(slot->ticket(0), 0);
  packet.key ^= 1;
  EXPECT_EQ(refusal_of(packet), Refusal::bad_key);
  EXPECT_TRUE(queue->empty());
  EXPECT_FALSE(second->empty());
  // The queue goes with the notification unread: the next refusal is told elsewhere.
  slot.reset();
  ASSERT_TRUE(bob.core.drop_queue(second));
  TestSlot next_one(bob, area, queue, {.entries = 1});
  packet = hand_made(next_one.ticket(0), 0);
  packet.key ^= 1;
  EXPECT_EQ(refusal_of(packet), Refusal::bad_key);
  EXPECT_EQ(next().cause, Refusal::bad_key);
}

INSTANTIATE_TEST_SUITE_P(fabric, Refusals, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
