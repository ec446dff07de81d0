// The shortest way in (shm::ShortWay): a packet like the one before goes straight to whoever asks.
// It must refuse whatever the long way refuses, and leave it to that way to say so.
#include "fabric/shm/short_way.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class ShmDirect : public Conformance {
 protected:
  ShmDirect() { one_before(0); }
  void one_before(std::size_t length) {
    EXPECT_EQ(send_fast(terminus, slot.ticket(), pattern(length, 0)), Status::ok);
    next();
    turn();  // gives the place back
  }
  shm::ShmLink& link() { return *bob.core.find_link(alice.id)->local(); }
  // As the library does between two runs: from the link only while the queue is empty.
  bool take(Notification& out) {
    if (!queue->empty()) return false;
    const bool wraps = queue->next_wraps();
    if (link().take(shm::CachedMessage{*queue, out}) != shm::ShmLink::Taken::taken) return false;
    out.wrap = wraps;
    link().settle(bob.core);
    return true;
  }
  // The packet is left to the long way, which refuses it for `cause`.
  void expect_refused(const interface::Packet& packet, Refusal cause) {
    const std::uint64_t before = bob.refused(cause);
    inject(packet);
    Notification n;
    EXPECT_FALSE(take(n));
    rest();
    EXPECT_EQ(bob.refused(cause), before + 1) << name(cause);
    while (hamlyn::test::take(bob, queue)) {
    }
  }
  interface::Packet like_before(std::size_t length) {
    interface::Packet packet = hand_made(slot.ticket(), length);
    packet.delta = 0;  // the first place record that the link was granted
    return packet;
  }

  Area area{4096};
  TestSlot slot{bob, area, queue, {.base = 1024, .bound = 256, .places = 4}};
  Terminus terminus{alice.core, 63};
  shm::ShortWay way{bob.core};
};

TEST_P(ShmDirect, hands_over_packet_and_notification) {
  Notification n;
  EXPECT_FALSE(take(n)) << "there is nothing";
  one_before(16);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::vector<std::byte> data = pattern(16, i);
    ASSERT_EQ(send_fast(terminus, slot.ticket(), data, i, i), Status::ok);
    ASSERT_TRUE(take(n)) << i;
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_TRUE(n.fast);
    EXPECT_EQ(n.wrap, (i + 2) % 64 == 0) << i;
    EXPECT_EQ(n.slot, slot.number());
    EXPECT_EQ(n.entry, Ticket::kFast);
    EXPECT_EQ(n.word, i);
    EXPECT_EQ(n.offset, i);
    EXPECT_EQ(n.peer, alice.id);
    EXPECT_TRUE(same(slot.bytes(n), data));
    turn();  // gives places back
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(ShmDirect, a_link_without_room_is_asked_once_for_each_message) {
  TestSlot counted{bob, area, queue, {.bound = 256, .entries = 1}};
  const interface::LinkCounters& counters = *alice.core.find_link(bob.id)->counters;
  SendHandle handle;
  for (int i = 0; i < 100 && terminus.send(counted.ticket(0), pattern(16, 1), {}, &handle) == Status::ok; ++i)
    EXPECT_EQ(counters.full, 0u);
  EXPECT_EQ(terminus.status(handle), Status::pending);
  EXPECT_EQ(counters.full, 1u);
  EXPECT_EQ(terminus.send(counted.ticket(0), pattern(16, 1), {}, &handle), Status::pending);
  EXPECT_EQ(counters.full, 1u) << "the second waits behind the first";
}

TEST_P(ShmDirect, leaves_one_of_another_length_to_the_long_way) {
  Notification n;
  for (std::size_t length = 1; length <= 16; ++length) {
    const std::vector<std::byte> data = pattern(length, length);
    ASSERT_EQ(send_fast(terminus, slot.ticket(), data), Status::ok);
    EXPECT_FALSE(take(n)) << length;
    EXPECT_TRUE(same(slot.bytes(next()), data));
    ASSERT_EQ(send_fast(terminus, slot.ticket(), data), Status::ok);
    ASSERT_TRUE(take(n)) << length;
    EXPECT_EQ(n.length, length);
    EXPECT_TRUE(same(slot.bytes(n), data));
    turn();
  }
}

TEST_P(ShmDirect, a_run_ends_before_a_place_is_due_and_before_the_queue_wraps) {
  one_before(16);
  Notification n;
  for (int i = 0; i < 200; ++i) {
    way.open(link(), *queue, link().until_settled() - 1);
    const shm::ShortRun& run = way.run();
    ASSERT_EQ(run.queue, queue);
    EXPECT_LE(run.left, 1u) << "of four places two free ones are worth a reply";
    EXPECT_LE(run.left, queue->until_wrap());
    EXPECT_LT(run.left, link().until_settled());
    EXPECT_EQ(way.close_run(), 0u);
    ASSERT_EQ(send_fast(terminus, slot.ticket(), pattern(16, 1)), Status::ok);
    ASSERT_TRUE(take(n)) << i;
    turn();
  }
}

TEST_P(ShmDirect, a_run_is_counted_when_it_is_closed) {
  one_before(16);
  const std::uint64_t packets = link().counters->packets_in;
  const std::uint64_t bytes = link().counters->bytes_in;
  way.open(link(), *queue, 3);
  const shm::ShortRun& run = way.run();
  ASSERT_EQ(run.left, 1u);
  ASSERT_EQ(send_fast(terminus, slot.ticket(), pattern(16, 1)), Status::ok);
  Notification n;
  ASSERT_EQ(way.take_run(*queue, {&n, 1}, 0), 1u);
  turn();  // looks everywhere
  EXPECT_EQ(run.queue, nullptr);
  EXPECT_EQ(link().counters->packets_in, packets + 1);
  EXPECT_EQ(link().counters->bytes_in, bytes + 16);
}

// A sync of a durable area ends in a thread of its own, and sends what is due meanwhile.
TEST_P(ShmDirect, no_run_is_open_while_replies_are_due_or_leave) {
  one_before(16);
  link().replies_due = true;
  way.open(link(), *queue, 3);
  EXPECT_EQ(way.run().queue, nullptr) << "whoever polls is to send them";
  link().replies_due = false;
  way.open(link(), *queue, 3);
  EXPECT_EQ(way.run().queue, queue);
  interface::Store store;
  std::vector<interface::StoredRange> ranges;
  store.due = true;
  bob.core.begin_sync(store, ranges);
  link().replies_due = true;
  EXPECT_TRUE(bob.core.end_sync(store, true));
  EXPECT_FALSE(link().replies_due);
  EXPECT_EQ(way.run().queue, nullptr);
}

TEST_P(ShmDirect, no_run_is_opened_for_another_queue_or_one_that_holds_something) {
  one_before(16);
  interface::Queue* other = bob.core.make_queue(16);
  way.open(link(), *other, 3);
  EXPECT_EQ(way.run().queue, nullptr);
  ASSERT_EQ(send_fast(terminus, slot.ticket(), pattern(16, 1)), Status::ok);
  rest();
  way.open(link(), *queue, 3);
  EXPECT_EQ(way.run().queue, nullptr);
}

TEST_P(ShmDirect, refuses_whatever_the_long_way_refuses) {
  one_before(16);
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  for (int bit = 0; bit < 64; ++bit) {
    interface::Packet packet = like_before(16);
    packet.key ^= std::uint64_t{1} << bit;
    expect_refused(packet, Refusal::bad_key);
  }
  interface::Packet packet = like_before(16);
  for (const std::uint64_t offset : {std::uint64_t{241}, std::uint64_t{256}, ~std::uint64_t{0},
                                     ~std::uint64_t{15}, std::uint64_t{1} << 63, ~std::uint64_t{0} - 1023}) {
    packet.offset = offset;
    expect_refused(packet, Refusal::out_of_bounds);
  }
  one_before(0);
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xEE});
  packet = like_before(0);
  packet.offset = 257;
  expect_refused(packet, Refusal::out_of_bounds);
  packet = like_before(0);
  ++packet.generation;
  expect_refused(packet, Refusal::stale_generation);
  packet = like_before(0);
  packet.slot ^= 1u << 20;
  expect_refused(packet, Refusal::bad_slot);
  packet = like_before(0);
  packet.delta = 1;
  expect_refused(packet, Refusal::no_place);
  packet = like_before(0);
  packet.entry = 0;
  expect_refused(packet, Refusal::bad_entry);
  EXPECT_TRUE(std::all_of(area.bytes().begin(), area.bytes().end(),
                          [](std::byte b) { return b == std::byte{0xEE}; }));
}

TEST_P(ShmDirect, takes_no_more_than_the_places_that_were_granted) {
  Notification n;
  for (int i = 0; i < 4; ++i) inject(like_before(0));
  rest();  // all four stand in the queue now
  inject(like_before(0));
  EXPECT_FALSE(take(n));
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 1u);
}

TEST_P(ShmDirect, knows_when_key_slot_or_link_are_others) {
  slot.change_key();
  interface::Packet packet = like_before(0);
  expect_refused(packet, Refusal::no_place);  // the places went with the old key
  TestSlot other(bob, area, queue, {.places = 4});
  ASSERT_EQ(send_fast(terminus, other.ticket(), {}), Status::ok);
  next();
  const Ticket ticket = other.ticket();
  other.drop();
  expect_refused(hand_made(ticket, 0), Refusal::stale_generation);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  fabric->join(alice, bob);
  expect_refused(hand_made(slot.ticket(), 0), Refusal::no_place);
}

INSTANTIATE_TEST_SUITE_P(fabric, ShmDirect, testing::Values(FabricKind{"shm", make_shm_fabric}), fabric_name);

}  // namespace
}  // namespace hamlyn::test
