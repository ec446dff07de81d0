// Messages whose delivery is acknowledged (paper 1, section 2.4).
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::kAcknowledgementLimit;
using interface::Operation;
using interface::Packet;
using interface::Terminus;

class Acknowledged : public Conformance {
 protected:
  Status send(Terminus& terminus, const Ticket& ticket, std::span<const std::byte> bytes,
              SendHandle& handle) {
    return terminus.send(ticket, bytes, {.acknowledged = true}, &handle);
  }
  // Everybody but bob goes on.
  void without_bob(int turns) {
    for (int i = 0; i < turns; ++i) {
      fabric->pass();
      alice.core.run();
    }
  }

  Area area{1u << 16};
  const std::vector<std::byte> data = pattern(5000, 1);  // several packets
};

TEST_P(Acknowledged, is_a_message_when_all_of_it_has_landed_and_no_sooner) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 4);
  for (const std::size_t length : {0u, 16u, 1000u, 5000u}) {
    SendHandle handle;
    ASSERT_EQ(send(terminus, slot.ticket(0), std::span(data).first(length), handle), Status::pending);
    without_bob(200);
    EXPECT_EQ(terminus.status(handle), Status::pending) << "bob's interface has not run";
    EXPECT_TRUE(queue->empty());
    const Notification n = next();
    EXPECT_EQ(name(n.cause), std::string("none"));
    EXPECT_EQ(n.length, length);
    EXPECT_TRUE(until([&] { return terminus.status(handle) != Status::pending; }));
    EXPECT_EQ(terminus.status(handle), Status::ok);
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
  EXPECT_EQ(bob.core.find_link(alice.id)->acknowledgements.promised_count, 0u);
}

TEST_P(Acknowledged, is_a_refusal) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 4);
  const Ticket revoked = slot.ticket(0);
  slot.change_key();
  SendHandle handle;
  ASSERT_EQ(send(terminus, revoked, std::span(data).first(8), handle), Status::pending);
  EXPECT_TRUE(until([&] { return terminus.status(handle) != Status::pending; }));
  EXPECT_EQ(terminus.status(handle), Status::refused);
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
}

TEST_P(Acknowledged, is_a_message_that_its_receiver_wants_no_more) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 4);
  // The first packet of two, by hand, so that the rest never comes; and what awaits it.
  ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
  Packet first = hand_made(slot.ticket(0), 16);
  set_lead(first, Operation::write_acknowledged, 16, 0);
  first.delta = ~0u;
  inject(first);
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 1u);
  ASSERT_EQ(slot.disarm(0), Status::ok);
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
  ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
  first.entry = 1;
  inject(first);
  rest();
  slot.drop();
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
  EXPECT_EQ(bob.core.find_link(alice.id)->acknowledgements.promised_count, 0u);
}

TEST_P(Acknowledged, is_a_refusal_once_its_entrys_key_is_revoked_or_its_time_is_over) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid, .entries = 2});
  const auto begin = [&](std::uint32_t entry) {
    ASSERT_EQ(slot.arm(entry), Status::ok);
    ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
    Packet first = hand_made(slot.ticket(entry), 16);
    set_lead(first, Operation::write_acknowledged, 16, 0);
    first.delta = ~0u;  // the rest never comes
    inject(first);
    rest();
    EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 1u);
  };
  begin(0);
  ASSERT_EQ(slot.revoke(0), Status::ok);
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
  begin(1);
  ASSERT_EQ(slot.fail_at(1, 10), Status::ok);
  EXPECT_TRUE(bob.core.expire(10));
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
  EXPECT_EQ(bob.core.find_link(alice.id)->acknowledgements.promised_count, 0u);
}

TEST_P(Acknowledged, messages_of_a_group_cannot_be) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  ASSERT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 1);
  Share share;
  ASSERT_EQ(shares.next(share, {}), Status::ok);
  Packet packet = hand_made(share.ticket, 16);
  set_lead(packet, Operation::write_acknowledged, 16, 0);
  packet.delta = share.count;
  inject(packet);
  rest();
  EXPECT_EQ(bob.refused(Refusal::mode_forbids), 1u);
  EXPECT_EQ(slot.entry(0).accumulator, 1u) << "nothing was counted";
}

TEST_P(Acknowledged, fails_when_the_link_ends) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 4);
  SendHandle handle;
  ASSERT_EQ(send(terminus, slot.ticket(0), std::span(data).first(8), handle), Status::pending);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  EXPECT_EQ(terminus.status(handle), Status::link_ended);
}

TEST_P(Acknowledged, can_be_cancelled) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 1);
  SendHandle handle, other;
  ASSERT_EQ(send(terminus, slot.ticket(0), std::span(data).first(8), handle), Status::pending);
  EXPECT_EQ(terminus.cancel(handle), Status::ok);
  EXPECT_EQ(terminus.status(handle), Status::cancelled);
  ASSERT_EQ(send(terminus, slot.ticket(1), std::span(data).first(8), other), Status::pending)
      << "an entry is free";
  rest();
  EXPECT_EQ(terminus.status(other), Status::ok) << "the late one is not taken for it";
  EXPECT_EQ(terminus.cancel(other), Status::ok);
  EXPECT_EQ(alice.refused_in_all(), 0u);
}

TEST_P(Acknowledged, more_than_may_be_outstanding_wait_and_all_arrive) {
  constexpr std::uint32_t kMessages = 3 * kAcknowledgementLimit;
  TestSlot slot(bob, area, queue, {.entries = kMessages});
  Terminus terminus(alice.core, kMessages);
  std::vector<SendHandle> handles(kMessages);
  for (std::uint32_t i = 0; i < kMessages; ++i)
    ASSERT_EQ(send(terminus, slot.ticket(i), std::span(data).first(8), handles[i]), Status::pending);
  without_bob(200);
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, kAcknowledgementLimit);
  EXPECT_FALSE(alice.core.something_to_do()) << "what must wait for bob keeps nobody awake";
  rest();
  for (const SendHandle handle : handles) EXPECT_EQ(terminus.status(handle), Status::ok);
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_EQ(alice.refused_in_all(), 0u);
}

TEST_P(Acknowledged, beyond_the_limit_are_refused) {
  TestSlot slot(bob, area, queue, {.entries = kAcknowledgementLimit + 1});
  for (std::uint32_t i = 0; i <= kAcknowledgementLimit; ++i) {
    Packet first = hand_made(slot.ticket(i), 16);
    set_lead(first, Operation::write_acknowledged, 16, 0);
    first.delta = ~0u;  // none of them is ever whole
    inject(first);
    rest();
  }
  EXPECT_EQ(bob.refused(Refusal::over_budget), 1u);
  EXPECT_EQ(bob.core.find_link(alice.id)->acknowledgements.promised_count, kAcknowledgementLimit);
}

TEST_P(Acknowledged, replies_that_nobody_asked_for_are_refused) {
  Terminus terminus(bob.core, 1);
  Packet reply{};
  reply.lead.operation = Operation::delivered;
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    reply.word = word;
    ASSERT_EQ(alice.core.find_link(bob.id)->put_reply(reply, nullptr), Status::ok);
    rest();
  }
  EXPECT_EQ(bob.refused(Refusal::unasked_reply), 3u);
}

TEST_P(Acknowledged, fast_mode_messages_cannot_be) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Packet packet = hand_made(slot.ticket(), 16);
  set_lead(packet, Operation::write_acknowledged, 16, 0);
  inject(packet);
  rest();
  EXPECT_EQ(bob.refused(Refusal::mode_forbids), 1u);
}

INSTANTIATE_TEST_SUITE_P(fabric, Acknowledged, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
