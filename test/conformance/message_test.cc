// Counted messages (paper 0, sections 2.4 and 2.5).
#include <algorithm>

#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class Messages : public Conformance {};
// With the largest MTU: shm begins with less and grows by continuation.
class LongMessages : public Conformance {
 protected:
  LongMessages() : Conformance(interface::kPacketLimit) {}
};

TEST_P(Messages, of_every_length_arrive_whole_with_their_metadata) {
  Area area(2u << 20);
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 63);
  std::size_t metadata_length = 0;
  for (const std::size_t length :
       {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 1023u, 1024u, 1025u, 102400u, 1048576u}) {
    SCOPED_TRACE(length);
    const std::vector<std::byte> data = pattern(length, length + 1);
    const std::vector<std::byte> metadata = pattern(metadata_length, 9);
    const std::uint64_t offset = length % 7;
    std::fill_n(area.data(), length + 16, std::byte{0xEE});
    SendHandle handle;
    const Status sent =
        terminus.send(slot.ticket(0), data, {.offset = offset, .metadata = metadata}, &handle);
    ASSERT_TRUE(sent == Status::ok || sent == Status::pending);
    const Notification n = next();
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_FALSE(n.fast);
    EXPECT_EQ(n.slot, slot.number());
    EXPECT_EQ(n.entry, 0u);
    EXPECT_EQ(n.offset, offset);
    EXPECT_EQ(n.length, length);
    EXPECT_EQ(n.peer, alice.id);
    EXPECT_TRUE(same(slot.bytes(n), data));
    EXPECT_TRUE(same(slot.metadata(0), metadata));
    EXPECT_EQ(area.bytes()[offset + length], std::byte{0xEE}) << "a byte behind the message was written";
    EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
    ASSERT_EQ(slot.arm(0), Status::ok);
    metadata_length = (metadata_length + 5) % 61;
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Messages, carry_metadata_of_every_length_up_to_60_bytes) {
  Area area(4096);
  TestSlot slot(bob, area, queue, {.entries = 61});
  Terminus terminus(alice.core, 63);
  for (std::uint32_t length = 0; length <= 60; ++length) {
    const std::vector<std::byte> metadata = pattern(length, length);
    const std::vector<std::byte> data = pattern(length * 3, 5);
    ASSERT_EQ(terminus.send(slot.ticket(length), data, {.metadata = metadata}, nullptr), Status::ok);
    next();
    EXPECT_TRUE(same(slot.metadata(length), metadata)) << length;
  }
  const std::vector<std::byte> too_long(61);
  EXPECT_EQ(terminus.send(slot.ticket(0), {}, {.metadata = too_long}, nullptr), Status::too_long);
}

TEST_P(LongMessages, arrive_whole_while_the_link_grows) {
  Area area(2u << 20);
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 63);
  for (const std::size_t length : {8191u, 8192u, 8193u, 102400u, 1048576u, 102400u, 1048576u, 1048576u}) {
    SCOPED_TRACE(length);
    const std::vector<std::byte> data = pattern(length, length);
    ASSERT_LT(terminus.send(slot.ticket(0), data, {.offset = 3}, nullptr), Status::queue_full);
    const Notification n = next();
    EXPECT_EQ(n.length, length);
    EXPECT_TRUE(same(slot.bytes(n), data));
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  interface::Link* link = alice.core.find_link(bob.id);
  EXPECT_EQ(link->payload_limit(), interface::kPacketLimit);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Messages, of_two_senders_are_interleaved_and_do_not_mix) {
  Area area(1u << 20);
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus from_alice(alice.core, 63), from_carol(carol.core, 63);
  const std::vector<std::byte> one = pattern(300000, 1), two = pattern(300000, 2);
  ASSERT_EQ(from_alice.send(slot.ticket(0), one, {}, nullptr), Status::pending);
  ASSERT_EQ(from_carol.send(slot.ticket(1), two, {.offset = 500000}, nullptr), Status::pending);
  for (int i = 0; i < 2; ++i) {
    const Notification n = next();
    EXPECT_EQ(n.peer, n.entry == 0 ? alice.id : carol.id);
    EXPECT_TRUE(same(slot.bytes(n), n.entry == 0 ? one : two));
  }
}

TEST_P(Messages, go_to_several_slots_on_one_area_and_to_several_queues) {
  Area area(4096);
  interface::Queue* second = bob.core.make_queue(16);
  TestSlot low(bob, area, queue, {.bound = 1024, .entries = 1});
  TestSlot inside_low(bob, area, queue, {.base = 512, .bound = 64, .entries = 1});
  TestSlot high(bob, area, second, {.base = 2048, .entries = 2});
  Terminus terminus(alice.core, 63);
  const std::vector<std::byte> data = pattern(64, 1);
  for (TestSlot* slot : {&low, &inside_low, &high}) {
    ASSERT_LT(terminus.send(slot->ticket(0), data, {}, nullptr), Status::queue_full);
  }
  std::vector<std::uint32_t> slots = {next().slot, next().slot};
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{low.number(), inside_low.number()}));
  EXPECT_EQ(next(bob, second).slot, high.number());
  EXPECT_TRUE(same(area.bytes().subspan(0, 64), data));
  EXPECT_TRUE(same(area.bytes().subspan(512, 64), data));
  EXPECT_TRUE(same(area.bytes().subspan(2048, 64), data));
  EXPECT_TRUE(queue->empty());
  EXPECT_TRUE(second->empty());
}

// The count (paper 0, section 2.5): whatever the order, only the last packet completes the message.
TEST_P(Messages, are_complete_when_the_deltas_sum_to_zero) {
  Area area(4096);
  Ticket ticket;
  TestSlot slot(bob, area, queue, {.entries = 1});
  std::vector<std::uint32_t> order = {0, 1, 2, 3};
  do {
    ticket = slot.ticket(0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      rest();
      ASSERT_TRUE(queue->empty()) << "complete after " << i << " packets of 4";
      interface::Packet packet = hand_made(ticket, 32);
      packet.offset = 100 + order[i] * 32;
      set_entry(packet, 0, order[i] == 0 ? 0u - 3u : 1);
      inject(packet);
    }
    const Notification n = next();
    EXPECT_EQ(n.offset, 100u);
    EXPECT_EQ(n.length, 128u);
    EXPECT_EQ(n.message_id, 7u);
    ASSERT_EQ(slot.arm(0), Status::ok);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Messages, are_told_to_whoever_waits_on_a_descriptor) {
  Area area(64);
  TestSlot slot(bob, area, queue, {.entries = 1});
  queue->event_wanted = true;
  Terminus terminus(alice.core, 63);
  ASSERT_EQ(terminus.send(slot.ticket(0), pattern(8, 1), {}, nullptr), Status::ok);
  next();
  EXPECT_EQ(bob.signals, 1);
}

INSTANTIATE_TEST_SUITE_P(fabric, Messages, testing::ValuesIn(fabrics()), fabric_name);
// Its first packets come while the entry is not armed, or another message fills it; then it is armed, and the
// rest comes. That is nothing that could ever be whole.
TEST_P(Messages, rests_of_what_was_refused_fill_nothing) {
  Area area(4096);
  TestSlot slot(bob, area, queue, {.entries = 1});
  interface::Packet packet = hand_made(slot.ticket(0), 64);
  const auto part = [&](std::uint32_t message, std::uint32_t delta) {
    packet.word = interface::message_word(message, slot.ticket(0).incarnation);
    interface::set_entry(packet, 0, delta);
    inject(packet);
    rest();
  };
  ASSERT_EQ(slot.disarm(0), Status::ok);
  part(7, 0u - 2u);
  EXPECT_EQ(bob.refused(Refusal::entry_not_armed), 1u);
  ASSERT_EQ(slot.arm(0), Status::ok);
  part(7, 1);
  EXPECT_EQ(bob.refused(Refusal::stale_message), 1u);
  EXPECT_EQ(slot.entry(0).state, interface::EntryState::armed);
  part(8, 0u - 1u);  // another takes it
  part(9, 0u - 2u);
  EXPECT_EQ(bob.refused(Refusal::entry_busy), 1u);
  part(8, 1);
  while (const auto told = take(bob, queue)) {
    EXPECT_TRUE(told->kind != Notification::Kind::message || told->message_id == 8u);
  }
  ASSERT_EQ(slot.arm(0), Status::ok);
  part(9, 1);
  EXPECT_EQ(bob.refused(Refusal::stale_message), 2u);
  EXPECT_EQ(slot.entry(0).state, interface::EntryState::armed);
  part(9, 0);  // of one packet: a message of its own
  EXPECT_EQ(slot.entry(0).state, interface::EntryState::complete);
}

INSTANTIATE_TEST_SUITE_P(fabric, LongMessages, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
