// The shortest way in (ShmLink::take): a packet like the one before goes straight to whoever asks. It must
// refuse whatever the long way refuses, and leave it to that way to say so.
#include "fabric/shm/shm_link.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class ShmDirect : public Conformance {
 protected:
  ShmDirect() {
    EXPECT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
    next();  // the one before
  }
  // As the library does: from the link only while the queue is empty.
  bool take(Notification& out) {
    if (!queue->empty()) return false;
    auto& link = static_cast<shm::ShmLink&>(*bob.core.find_link(alice.id));
    using Taken = shm::ShmLink::Taken;
    const Taken taken = link.take(bob.core, *queue, out);
    if (taken == Taken::taken_settle) link.settle(bob.core);
    return taken == Taken::taken || taken == Taken::taken_settle;
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
};

TEST_P(ShmDirect, hands_over_packet_and_notification) {
  Notification n;
  EXPECT_FALSE(take(n)) << "there is nothing";
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::vector<std::byte> data = pattern(i % 17, i);
    ASSERT_EQ(send_fast(terminus, slot.ticket(), data, i, i), Status::ok);
    ASSERT_TRUE(take(n)) << i;
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_TRUE(n.fast);
    EXPECT_EQ(n.wrap, (i + 1) % 64 == 0) << i;
    EXPECT_EQ(n.slot, slot.index());
    EXPECT_EQ(n.entry, Ticket::kFast);
    EXPECT_EQ(n.word, i);
    EXPECT_EQ(n.offset, i);
    EXPECT_EQ(n.peer, alice.id);
    EXPECT_TRUE(same(slot.bytes(n), data));
    turn();  // gives places back
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(ShmDirect, refuses_whatever_the_long_way_refuses) {
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
