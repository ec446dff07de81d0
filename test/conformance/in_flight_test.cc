// The form of 1992 (paper 1, section 3.5.3): several messages in flight to one slot, told apart by their
// descriptors; packets of an old incarnation are stale; one notification for n messages.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::EntryState;
using interface::Packet;
using interface::Terminus;

class InFlight : public Conformance {
 protected:
  Area area{1u << 20};
  Terminus from_alice{alice.core, 63};
  Terminus from_carol{carol.core, 63};
};

TEST_P(InFlight, messages_to_one_slot_are_told_apart) {
  TestSlot slot(bob, area, queue, {.entries = 8});
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t i = 0; i < 8; ++i) {
    sent.push_back(pattern(20000 + i, i));
    Terminus& terminus = i % 2 == 0 ? from_alice : from_carol;
    ASSERT_LT(terminus.send(slot.ticket(i), sent.back(), {.offset = i * 40000}, nullptr), Status::queue_full);
  }
  for (int i = 0; i < 8; ++i) {
    const Notification n = next();
    EXPECT_TRUE(same(slot.bytes(n), sent[n.entry]));
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

// A message is sent a second time while packets of the first attempt are still on their way.
TEST_P(InFlight, late_packets_of_the_first_attempt_do_not_count_for_the_second) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket first = slot.ticket(0);
  Packet packet = hand_made(first, 16);
  set_entry(packet, 0, 0u - 2u);
  inject(packet);  // one of three has come, two are late
  rest();
  ASSERT_EQ(slot.disarm(0), Status::ok);
  ASSERT_EQ(slot.arm(0), Status::ok);
  const std::vector<std::byte> data = pattern(48, 1);
  packet = hand_made(slot.ticket(0), 16);
  Packet late = hand_made(first, 16);
  late.offset = 512;
  std::fill_n(area.data() + 512, 16, std::byte{0xEE});
  set_entry(late, 0, 1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    set_entry(packet, 0, i == 0 ? 0u - 2u : 1);
    packet.offset = i * 16;
    if (i != 0) {
      inject(late);
      EXPECT_EQ(next().cause, Refusal::stale_message);
    }
    inject(packet);
    rest();
  }
  EXPECT_EQ(next().length, 48u);
  EXPECT_EQ(area.bytes()[512], std::byte{0xEE}) << "nothing of a stale packet lands";
}

// Of the same message id in another incarnation, and of another message id in the same one.
TEST_P(InFlight, neither_id_nor_incarnation_alone_lets_a_packet_in) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Packet packet = hand_made(slot.ticket(0), 16);
  set_entry(packet, 0, 1);
  inject(packet);
  rest();
  const std::uint64_t word = packet.word;
  packet.word = word + 1;
  inject(packet);
  EXPECT_EQ(next().cause, Refusal::entry_busy);
  packet.word = word + (std::uint64_t{1} << 32);
  inject(packet);
  EXPECT_EQ(next().cause, Refusal::stale_message);
  packet.word = word;
  set_entry(packet, 0, 0u - 1u);
  inject(packet);
  EXPECT_EQ(next().length, 32u);
}

TEST_P(InFlight, one_notification_tells_of_so_many_messages) {
  TestSlot slot(bob, area, queue, {.entries = 6});
  slot.notify_after(5);
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t i = 0; i < 5; ++i) {
    rest();
    EXPECT_TRUE(queue->empty()) << i;
    Terminus& terminus = i % 2 == 0 ? from_alice : from_carol;
    sent.push_back(pattern(3000, i));
    ASSERT_LT(terminus.send(slot.ticket(i), sent.back(), {.offset = i * 3000}, nullptr), Status::queue_full);
  }
  const Notification n = next();
  EXPECT_EQ(n.kind, Notification::Kind::message);
  EXPECT_EQ(n.entry, 4u) << "the last";
  rest();
  EXPECT_TRUE(queue->empty());
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(same(area.bytes().subspan(i * 3000, 3000), sent[i]));
  // Then each has one again, until the owner asks anew.
  ASSERT_LT(from_alice.send(slot.ticket(5), {}, {}, nullptr), Status::queue_full);
  EXPECT_EQ(next().entry, 5u);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(slot.arm(i), Status::ok) << i;
}

// A failure is never one of those that are only counted.
TEST_P(InFlight, a_failure_is_told_at_once) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  slot.notify_after(2);
  ASSERT_EQ(slot.fail_at(0, 10), Status::ok);
  bob.core.expire(10);
  EXPECT_EQ(next().failure(), Failure::timed_out);
  ASSERT_LT(from_alice.send(slot.ticket(1), {}, {}, nullptr), Status::queue_full);
  rest();
  EXPECT_TRUE(queue->empty());
  EXPECT_EQ(slot.entry(1).state, EntryState::read);
  ASSERT_LT(from_alice.send(slot.ticket(2), {}, {}, nullptr), Status::queue_full);
  EXPECT_EQ(next().entry, 2u);
}

INSTANTIATE_TEST_SUITE_P(fabric, InFlight, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
