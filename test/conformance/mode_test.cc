// The paranoid modes (paper 0, section 2.7), arming and disarming, and tickets that are over.
#include <algorithm>

#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class Modes : public Conformance {
 protected:
  // Sends one message; the cause for which it was refused, or none if it is complete.
  Refusal try_ticket(const Ticket& ticket, std::size_t bytes = 16) {
    const std::uint64_t before = bob.refused_in_all();
    const std::vector<std::byte> data = pattern(bytes, 1);
    EXPECT_EQ(terminus.send(ticket, data, {}, nullptr), Status::ok);
    rest();
    Refusal cause = Refusal::none;
    bool came = false;
    while (const auto n = take(bob, queue)) {
      came = true;
      cause = n->cause;
      EXPECT_EQ(n->kind,
                cause == Refusal::none ? Notification::Kind::message : Notification::Kind::protocol_error);
    }
    EXPECT_TRUE(came);
    EXPECT_EQ(bob.refused_in_all() - before, cause == Refusal::none ? 0u : 1u);
    return cause;
  }

  Terminus terminus{alice.core, 63};
  Area area{4096};
};

TEST_P(Modes, paranoid_gives_each_entry_a_key_and_bounds_of_its_own) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid, .entries = 4});
  EXPECT_EQ(try_ticket(slot.ticket(0), 0), Refusal::entry_not_armed) << "nothing is armed at first";
  ASSERT_EQ(slot.arm(0), Status::ok);
  ASSERT_EQ(slot.arm(1, {128, 64}), Status::ok);
  const Ticket whole = slot.ticket(0), part = slot.ticket(1);
  EXPECT_NE(whole.key, part.key);
  EXPECT_NE(whole.key, slot.record().key);
  EXPECT_EQ(whole.bound, 4096u);
  EXPECT_EQ(part.base, 128u);
  EXPECT_EQ(part.bound, 64u);
  EXPECT_EQ(try_ticket(part, 64), Refusal::none);
  // The ticket stays good from one arming to the next.
  ASSERT_EQ(slot.arm(1), Status::ok);
  EXPECT_EQ(slot.ticket(1), part);
  EXPECT_EQ(try_ticket(part), Refusal::none);
  // Until it is armed with new limits.
  ASSERT_EQ(slot.arm(1, {128, 64}), Status::ok);
  EXPECT_EQ(try_ticket(part), Refusal::bad_key);
  EXPECT_EQ(try_ticket(slot.ticket(1)), Refusal::none);
  EXPECT_EQ(try_ticket(whole), Refusal::none);
}

TEST_P(Modes, what_is_told_never_reaches_beyond_an_entrys_own_bounds) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid_one_shot, .entries = 1});
  ASSERT_EQ(slot.arm(0, {.base = 512, .bound = 256}), Status::ok);
  // The same bytes eight times over; their deltas come to zero with the last.
  interface::Packet packet = hand_made(slot.ticket(0), 200);
  packet.offset += 56;
  for (packet.delta = 1; packet.delta < 8; ++packet.delta) inject(packet);
  packet.delta = 0u - 28;
  inject(packet);
  rest();
  const auto told = take(bob, queue);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->kind, Notification::Kind::message);
  EXPECT_EQ(told->offset, 568u);
  EXPECT_EQ(told->length, 200u);
}

TEST_P(Modes, limits_are_cut_to_the_slot_and_none_at_all_is_none_at_all) {
  TestSlot slot(bob, area, queue, {.base = 1024, .bound = 256, .mode = Mode::paranoid, .entries = 4});
  EXPECT_EQ(slot.arm(0, {257, 1}), Status::out_of_bounds);
  EXPECT_EQ(slot.arm(4, {}), Status::invalid);
  ASSERT_EQ(slot.arm(0, {200, 1000}), Status::ok);
  EXPECT_EQ(slot.ticket(0).bound, 56u);
  ASSERT_EQ(slot.arm(1, {256, ~std::uint64_t{0}}), Status::ok);
  EXPECT_EQ(slot.ticket(1).bound, 0u);
  EXPECT_EQ(try_ticket(slot.ticket(1), 0), Refusal::none);
  // Limits of no bytes let in metadata, and nothing else.
  ASSERT_EQ(slot.arm(2, {0, 0}), Status::ok);
  EXPECT_EQ(slot.ticket(2).bound, 0u);
  EXPECT_EQ(try_ticket(slot.ticket(2), 0), Refusal::none);
}

TEST_P(Modes, one_shot_takes_one_message_per_arming) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid_one_shot, .entries = 2});
  ASSERT_EQ(slot.arm(0, {64, 64}), Status::ok);
  const Ticket first = slot.ticket(0);
  EXPECT_EQ(try_ticket(first), Refusal::none);
  EXPECT_EQ(try_ticket(first), Refusal::entry_not_armed);
  ASSERT_EQ(slot.arm(0), Status::ok);
  const Ticket second = slot.ticket(0);
  EXPECT_NE(first.key, second.key);
  EXPECT_EQ(second.base, 64u) << "armed again within the same limits";
  EXPECT_EQ(second.bound, 64u);
  EXPECT_EQ(try_ticket(first), Refusal::bad_key);
  EXPECT_EQ(try_ticket(second), Refusal::none);
  // The first time, without limits: the whole slot.
  ASSERT_EQ(slot.arm(1), Status::ok);
  EXPECT_EQ(slot.ticket(1).bound, 4096u);
}

TEST_P(Modes, an_entry_is_armed_only_when_nothing_is_under_way_in_it) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.arm(0), Status::invalid) << "armed already";
  EXPECT_EQ(slot.arm(1), Status::invalid) << "no such entry";
  EXPECT_EQ(slot.arm(0, {}), Status::invalid) << "limits are for the paranoid modes";
  interface::Packet packet = hand_made(slot.ticket(0), 16);
  set_entry(packet, 0, 1);
  inject(packet);
  rest();
  EXPECT_EQ(slot.arm(0), Status::invalid) << "a message is under way";
  inject(packet);
  inject(packet);
  packet.delta = 0u - 3u;
  inject(packet);
  rest();
  EXPECT_EQ(slot.disarm(0), Status::invalid) << "a completion waits to be read";
  EXPECT_EQ(next().length, 64u);
  EXPECT_EQ(slot.arm(0), Status::ok);
}

TEST_P(Modes, an_arming_that_is_refused_takes_nothing_back) {
  for (const Mode mode : {Mode::paranoid, Mode::paranoid_one_shot}) {
    TestSlot slot(bob, area, queue, {.mode = mode, .entries = 1});
    ASSERT_EQ(slot.arm(0, {128, 64}), Status::ok);
    const Ticket ticket = slot.ticket(0);
    EXPECT_EQ(slot.arm(0, {0, 32}), Status::invalid) << "it is armed";
    EXPECT_EQ(slot.ticket(0), ticket);
    EXPECT_EQ(try_ticket(ticket, 64), Refusal::none);
  }
}

TEST_P(Modes, disarming_forgets_a_message_and_refuses_its_late_packets) {
  for (const Mode mode : {Mode::guarded, Mode::paranoid, Mode::paranoid_one_shot}) {
    TestSlot slot(bob, area, queue, {.mode = mode, .entries = 1});
    if (mode != Mode::guarded) {
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
    const Ticket ticket = slot.ticket(0);
    interface::Packet packet = hand_made(ticket, 16);
    set_entry(packet, 0, 1);
    inject(packet);
    rest();
    ASSERT_EQ(slot.disarm(0), Status::ok);
    EXPECT_EQ(slot.disarm(1), Status::invalid);
    packet.delta = 0u - 1u;
    const std::uint64_t before = bob.refused(Refusal::stale_message);
    inject(packet);
    rest();
    EXPECT_EQ(bob.refused(Refusal::stale_message), before + 1);
    EXPECT_EQ(next().cause, Refusal::stale_message);
    ASSERT_EQ(slot.arm(0), Status::ok);
    EXPECT_EQ(try_ticket(ticket),
              mode == Mode::paranoid_one_shot ? Refusal::bad_key : Refusal::stale_message);
    EXPECT_EQ(try_ticket(slot.ticket(0)), Refusal::none);
  }
}

// One sender's right is taken back while its message is half here: nothing more of it lands, and the other
// one, in mid-message too, goes on.
TEST_P(Modes, a_key_is_revoked_in_mid_message_and_no_other_is) {
  for (const Mode mode : {Mode::paranoid, Mode::paranoid_one_shot}) {
    TestSlot slot(bob, area, queue, {.mode = mode, .entries = 2});
    ASSERT_EQ(slot.arm(0, {0, 1024}), Status::ok);
    ASSERT_EQ(slot.arm(1, {1024, 1024}), Status::ok);
    const Ticket revoked = slot.ticket(0), other = slot.ticket(1);
    interface::Packet first = hand_made(revoked, 16), second = hand_made(other, 16);
    set_entry(first, 0, 1);
    set_entry(second, 1, 1);
    inject(first);
    inject(second, carol, bob);
    rest();
    ASSERT_EQ(slot.revoke(0), Status::ok);
    std::fill_n(area.data(), 1024, std::byte{0xEE});
    first.offset = 512;
    set_entry(first, 0, 0u - 1u);
    for (int i = 0; i < 3; ++i) inject(first);
    EXPECT_EQ(next().cause, Refusal::bad_key);
    rest();
    while (take(bob, queue)) {
    }
    EXPECT_TRUE(
        std::all_of(area.data(), area.data() + 1024, [](std::byte b) { return b == std::byte{0xEE}; }));
    set_entry(second, 1, 0u - 1u);
    second.offset += 16;
    inject(second, carol, bob);
    const Notification n = next();
    EXPECT_EQ(n.entry, 1u);
    EXPECT_EQ(n.length, 32u);
    // The memory is its owner's at once, and the next sender's by a ticket of its own.
    ASSERT_EQ(slot.arm(0, {0, 1024}), Status::ok);
    EXPECT_EQ(try_ticket(revoked), Refusal::bad_key);
    EXPECT_EQ(try_ticket(slot.ticket(0)), Refusal::none);
  }
}

TEST_P(Modes, a_key_is_revoked_whatever_the_entry_is_doing) {
  TestSlot guarded(bob, area, queue, {.entries = 1});
  EXPECT_EQ(guarded.revoke(0), Status::invalid) << "there it is the slot's key that is changed";
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid, .entries = 4});
  EXPECT_EQ(slot.revoke(4), Status::invalid);
  EXPECT_EQ(slot.revoke(3), Status::ok) << "idle";
  for (const std::uint32_t entry : {0u, 1u}) ASSERT_EQ(slot.arm(entry), Status::ok);
  const Ticket armed = slot.ticket(0), complete = slot.ticket(1);
  EXPECT_EQ(slot.revoke(0), Status::ok);
  EXPECT_EQ(try_ticket(armed), Refusal::bad_key);
  ASSERT_EQ(terminus.send(complete, {}, {}, nullptr), Status::ok);
  rest();
  EXPECT_EQ(slot.revoke(1), Status::ok);
  EXPECT_EQ(slot.arm(1), Status::invalid) << "its notification was not read";
  EXPECT_EQ(next().entry, 1u);
  ASSERT_EQ(slot.arm(1), Status::ok);
  EXPECT_EQ(try_ticket(complete), Refusal::bad_key);
  GroupShares shares = slot.arm_group(2, 1);
  Share share;
  ASSERT_EQ(shares.next(share), Status::ok);
  EXPECT_EQ(slot.revoke(2), Status::ok);
  ASSERT_EQ(terminus.send(share, {}, {}, nullptr), Status::ok);
  EXPECT_EQ(next().cause, Refusal::bad_key);
}

// With a queue that is smaller than what it tries (paper 0, section 2.8).
TEST_P(Modes, one_shot_bounds_what_a_malicious_sender_can_queue) {
  interface::Queue* small = bob.core.make_queue(16);
  TestSlot slot(bob, area, small, {.mode = Mode::paranoid_one_shot, .entries = 20});
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t entry = 0; entry < 20; ++entry) ASSERT_EQ(slot.arm(entry), Status::ok);
    for (int again = 0; again < 4; ++again) {
      for (std::uint32_t entry = 0; entry < 20; ++entry) {
        interface::Packet packet = hand_made(slot.ticket(entry), 16);
        packet.word += static_cast<std::uint64_t>(again);
        inject(packet);
      }
      rest();
    }
    std::uint32_t messages = 0, refusals = 0;
    while (const auto n = take(bob, small)) {
      messages += n->kind == Notification::Kind::message ? 1u : 0u;
      refusals += n->kind == Notification::Kind::protocol_error ? 1u : 0u;
    }
    EXPECT_EQ(messages, 20u);
    EXPECT_LE(refusals, 2u) << "60 packets, one notification until it is read";
  }
}

TEST_P(Modes, a_new_key_makes_old_tickets_worthless) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket old_counted = slot.ticket(0), old_fast = slot.ticket();
  ASSERT_EQ(send_fast(terminus, old_fast, {}), Status::ok);
  next();
  slot.change_key();
  EXPECT_EQ(terminus.send_fast(old_fast, {}, 0, 0), Status::ok);  // it cannot know yet
  EXPECT_EQ(next().cause, Refusal::bad_key);
  EXPECT_EQ(try_ticket(old_counted), Refusal::bad_key);
  EXPECT_EQ(try_ticket(slot.ticket(0)), Refusal::none);
  EXPECT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  EXPECT_EQ(next().kind, Notification::Kind::message);
  EXPECT_EQ(send_fast(terminus, old_fast, {}), Status::refused) << "its places were taken back";
}

INSTANTIATE_TEST_SUITE_P(fabric, Modes, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
