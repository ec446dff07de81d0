// Groups (paper 0, section 2.5): many senders, one entry, one notification; and shares that cannot sum
// wrongly.
#include <algorithm>

#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::EntryState;
using interface::Terminus;

class Groups : public Conformance {
 protected:
  Groups() : from_alice(alice.core, 63), from_carol(carol.core, 63) {}

  Share share_of(GroupShares& shares, const Limits& part = {}) {
    Share share;
    EXPECT_EQ(shares.next(share, part), Status::ok);
    return share;
  }
  // One packet of a share, as a hostile member might make it.
  interface::Packet packet_of(const Share& share, std::uint32_t delta, std::size_t bytes = 16) {
    interface::Packet packet = hand_made(share.ticket, bytes);
    set_entry(packet, share.ticket.entry, delta);
    return packet;
  }
  void send(Terminus& terminus, const Share& share, std::span<const std::byte> data) {
    ASSERT_LT(terminus.send(share, data, {}, nullptr), Status::queue_full);
  }

  Area area{1u << 20};
  Terminus from_alice, from_carol;
};

TEST_P(Groups, of_several_senders_are_told_of_once_when_all_has_come) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  for (int round = 0; round < 3; ++round) {
    GroupShares shares = slot.arm_group(0, 4);
    const std::size_t lengths[] = {0, 16, 5000, 100000};
    std::vector<std::vector<std::byte>> sent;
    std::size_t sum = 0;
    for (std::uint64_t i = 0; i < 4; ++i) {
      ASSERT_TRUE(queue->empty());
      sent.push_back(pattern(lengths[i], i + 1));
      const Share share = share_of(shares, {i * 100000, 100000});
      send(i % 2 == 0 ? from_alice : from_carol, share, sent.back());
      sum += lengths[i];
      if (i != 3) rest();
    }
    EXPECT_EQ(shares.left(), 0u);
    const Notification n = next();
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_EQ(n.entry, 0u);
    EXPECT_EQ(n.length, sum);
    EXPECT_EQ(n.offset, 0u);
    EXPECT_EQ(n.peer, 0u) << "of several";
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_TRUE(same(area.bytes().subspan(i * 100000, lengths[i]), sent[i])) << i;
    EXPECT_EQ(slot.entry(0).accumulator, 0u);
    rest();
    EXPECT_TRUE(queue->empty());
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Groups, of_one_sender_gather_what_it_scatters) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 1);
  Share whole = share_of(shares, {1000, 40000}), piece;
  const std::vector<std::byte> one = pattern(10000, 1), two = pattern(1, 2), three = pattern(29999, 3);
  ASSERT_EQ(whole.split(10000, piece), Status::ok);
  send(from_alice, piece, one);
  ASSERT_EQ(whole.split(1, piece), Status::ok);
  send(from_alice, piece, two);
  rest();
  EXPECT_TRUE(queue->empty());
  send(from_alice, whole, three);
  const Notification n = next();
  EXPECT_EQ(n.offset, 1000u);
  EXPECT_EQ(n.length, 40000u);
  EXPECT_EQ(n.peer, alice.id);
  std::vector<std::byte> all = one;
  all.insert(all.end(), two.begin(), two.end());
  all.insert(all.end(), three.begin(), three.end());
  EXPECT_TRUE(same(slot.bytes(n), all));
}

// A ticket that was good for one message says nothing of a group that is armed there afterwards.
TEST_P(Groups, cannot_be_sent_to_by_a_ticket_from_before) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  const Ticket before = slot.ticket(0);
  ASSERT_EQ(from_alice.send(before, pattern(16, 1), {}, nullptr), Status::ok);
  EXPECT_EQ(next().length, 16u);
  GroupShares shares = slot.arm_group(0, 1);
  const Share share = share_of(shares, {0, 16});
  for (const std::uint32_t delta : {1u, share.count}) {
    interface::Packet packet = hand_made(before, 16);
    set_entry(packet, before.entry, delta);
    inject(packet);
    rest();
  }
  EXPECT_EQ(bob.refused(Refusal::stale_message), 2u);
  send(from_alice, share, pattern(16, 2));
  Notification n = next();
  while (n.kind == Notification::Kind::protocol_error) n = next();
  EXPECT_EQ(n.kind, Notification::Kind::message);
  EXPECT_TRUE(same(slot.bytes(n), pattern(16, 2)));
}

TEST_P(Groups, take_a_whole_share_in_one_packet) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 1);
  const Share share = share_of(shares);
  EXPECT_EQ(share.count, GroupShares::kWhole);
  send(from_alice, share, pattern(16, 1));
  EXPECT_EQ(next().length, 16u);
}

// A member hands its work to helpers on other nodes: the shares travel in messages.
TEST_P(Groups, let_helpers_send_in_a_members_place) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  Area desk(4096);
  interface::Queue* carols_queue = carol.core.make_queue(16);
  TestSlot carols(carol, desk, carols_queue, {});
  GroupShares shares = slot.arm_group(0, 2);
  Share members[2] = {share_of(shares, {0, 3000}), share_of(shares, {3000, 1000})};
  Share helper, helpers_helper;
  ASSERT_EQ(members[0].split(2000, helper), Status::ok);
  ASSERT_EQ(helper.split(500, helpers_helper), Status::ok);
  ASSERT_EQ(send_fast(from_alice, carols.ticket(), std::as_bytes(std::span(&helper, 1))), Status::ok);
  const Notification arrived = next(carol, carols_queue);
  Share there;
  ASSERT_EQ(arrived.length, sizeof there);
  std::memcpy(&there, desk.data() + arrived.offset, sizeof there);
  ASSERT_EQ(there, helper);
  const std::vector<std::byte> data = pattern(4000, 1);
  send(from_alice, members[1], std::span(data).subspan(3000, 1000));
  send(from_carol, there, std::span(data).subspan(500, 1500));
  send(from_alice, helpers_helper, std::span(data).subspan(0, 500));
  rest();
  EXPECT_TRUE(queue->empty());
  send(from_alice, members[0], std::span(data).subspan(2000, 1000));
  EXPECT_TRUE(same(slot.bytes(next()), data));
}

TEST_P(Groups, need_a_group_of_that_size) {
  TestSlot slot(bob, area, queue, {.mode = Mode::paranoid, .entries = 1});
  GroupShares shares = slot.arm_group(0, 3, {128, 256});
  const Share share = share_of(shares);
  EXPECT_EQ(share.ticket.base, 128u);
  EXPECT_EQ(share.ticket.bound, 256u);
  EXPECT_EQ(from_alice.send(share, pattern(257, 1), {}, nullptr), Status::out_of_bounds);
  Share tampered = share;
  tampered.count = 0;
  EXPECT_EQ(from_alice.send(tampered, {}, {}, nullptr), Status::invalid);
  tampered.count = 3;
  EXPECT_EQ(from_alice.send(tampered, pattern(193, 1), {}, nullptr), Status::share_too_small);
  tampered = share;
  tampered.version = 2;
  EXPECT_EQ(from_alice.send(tampered, {}, {}, nullptr), Status::invalid);
  EXPECT_FALSE(alice.core.departures_wait());
}

// --- what a hostile member can do: spoil this entry

TEST_P(Groups, refuse_packets_that_count_nothing) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 2);
  const Share one = share_of(shares), two = share_of(shares);
  std::fill_n(area.data(), 64, std::byte{0xEE});
  inject(packet_of(one, 0));
  EXPECT_EQ(next().cause, Refusal::bad_share);
  EXPECT_EQ(area.bytes()[0], std::byte{0xEE}) << "nothing of it lands";
  // An ordinary message to the entry, of one packet, has a delta of 0, too.
  ASSERT_EQ(from_carol.send(one.ticket, pattern(16, 1), {}, nullptr), Status::ok);
  EXPECT_EQ(next().cause, Refusal::bad_share);
  // So has a fast-mode packet none: it has no entry.
  EXPECT_EQ(slot.entry(0).state, EntryState::gathering);
  send(from_alice, one, pattern(16, 1));
  send(from_carol, two, pattern(16, 2));
  EXPECT_EQ(next().kind, Notification::Kind::message);
}

TEST_P(Groups, fail_when_a_member_counts_more_than_is_left) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares shares = slot.arm_group(0, 2);
  const Share one = share_of(shares), two = share_of(shares);
  send(from_alice, one, pattern(16, 1));
  rest();
  std::fill_n(area.data(), 64, std::byte{0xEE});
  inject(packet_of(two, two.count + 1), carol, bob);
  const Notification failed = next();
  EXPECT_EQ(failed.failure(), Failure::miscounted);
  EXPECT_EQ(failed.peer, carol.id);
  EXPECT_EQ(next().cause, Refusal::bad_share);
  EXPECT_EQ(area.bytes()[0], std::byte{0xEE});
  // The honest one comes too late, and the next arming is not disturbed.
  GroupShares again = slot.arm_group(0, 1);
  send(from_carol, two, pattern(16, 2));
  EXPECT_EQ(next().cause, Refusal::stale_message);
  send(from_alice, share_of(again), pattern(16, 3));
  EXPECT_EQ(next().kind, Notification::Kind::message);
}

TEST_P(Groups, do_not_take_a_share_twice_for_two) {
  for (const std::uint32_t members : {2u, 3u, 4u, 5u}) {
    for (std::uint32_t twice = 0; twice < members; ++twice) {
      for (std::uint32_t missing = 0; missing < members; ++missing) {
        if (missing == twice) continue;
        TestSlot slot(bob, area, queue, {.entries = 1});
        EXPECT_EQ(slot.disarm(0), Status::ok);
        GroupShares shares = slot.arm_group(0, members);
        std::vector<Share> all;
        for (std::uint32_t i = 0; i < members; ++i) all.push_back(share_of(shares));
        for (std::uint32_t i = 0; i < members; ++i)
          send(from_alice, all[i == missing ? twice : i], pattern(16, i));
        rest();
        const auto n = take(bob, queue);
        EXPECT_TRUE(!n || n->failure() == Failure::miscounted) << members << " " << twice << " " << missing;
        while (take(bob, queue)) {
        }
      }
    }
  }
}

TEST_P(Groups, are_spoiled_by_a_member_alone_and_no_other_entry_is) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  for (const std::uint32_t entry : {0u, 1u}) EXPECT_EQ(slot.disarm(entry), Status::ok);
  GroupShares shares = slot.arm_group(0, 2), others = slot.arm_group(1, 2);
  const Share bad = share_of(shares), good = share_of(shares);
  // All that is left, in one packet: the group is complete early. That much a member can do.
  inject(packet_of(bad, GroupShares::kWhole));
  EXPECT_EQ(next().kind, Notification::Kind::message);
  send(from_carol, good, pattern(16, 1));
  EXPECT_EQ(next().cause, Refusal::stale_message);
  // With its incarnation, generation, or key for another entry it can do nothing.
  interface::Packet packet = packet_of(bad, 1);
  set_entry(packet, 1, 1);
  packet.word = interface::message_word(9, slot.entry(1).incarnation + 1);
  inject(packet);
  EXPECT_EQ(next().cause, Refusal::stale_message);
  send(from_alice, share_of(others), pattern(16, 2));
  send(from_carol, share_of(others), pattern(16, 3));
  EXPECT_EQ(next().entry, 1u);
}

TEST_P(Groups, cannot_be_sent_to_from_the_arming_before) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  GroupShares first = slot.arm_group(0, 2);
  const Share old = share_of(first);
  ASSERT_EQ(slot.disarm(0), Status::ok);
  GroupShares second = slot.arm_group(0, 1);
  send(from_alice, old, pattern(16, 1));
  EXPECT_EQ(next().cause, Refusal::stale_message);
  send(from_alice, share_of(second), pattern(16, 1));
  EXPECT_EQ(next().kind, Notification::Kind::message);
  EXPECT_TRUE(slot.arm_group(0, 1).left() == 1 && slot.arm_group(0, 1).left() == 0) << "armed already";
  EXPECT_EQ(slot.arm_group(7, 1).left(), 0u) << "no such entry";
}

// --- members that die

TEST_P(Groups, fail_when_a_link_ends_that_had_contributed) {
  TestSlot slot(bob, area, queue, {.entries = 3});
  for (const std::uint32_t entry : {0u, 1u, 2u}) EXPECT_EQ(slot.disarm(entry), Status::ok);
  GroupShares of_alice = slot.arm_group(0, 2), of_carol = slot.arm_group(1, 2), named = slot.arm_group(2, 2);
  send(from_alice, share_of(of_alice), pattern(16, 1));
  send(from_carol, share_of(of_carol), pattern(16, 1));
  send(from_carol, share_of(named), pattern(16, 1));
  rest();
  ASSERT_EQ(slot.expect(2, alice), Status::ok);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  std::vector<std::uint32_t> failed;
  while (const auto n = take(bob, queue)) {
    if (n->kind == Notification::Kind::link_ended) continue;
    EXPECT_EQ(n->failure(), Failure::link_ended);
    EXPECT_EQ(n->peer, alice.id);
    failed.push_back(n->entry);
  }
  EXPECT_EQ(failed, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(slot.entry(1).state, EntryState::gathering);
  send(from_carol, share_of(of_carol), pattern(16, 2));
  EXPECT_EQ(next().entry, 1u);
}

TEST_P(Groups, do_not_take_the_next_link_for_one_that_had_contributed) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  EXPECT_EQ(slot.disarm(0), Status::ok);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  fabric->join(alice, bob);  // it may have the same index
  rest();
  while (take(bob, queue)) {
  }
  GroupShares shares = slot.arm_group(0, 2);
  send(from_carol, share_of(shares), pattern(16, 1));
  rest();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  EXPECT_EQ(next().kind, Notification::Kind::link_ended);
  EXPECT_EQ(slot.entry(0).state, EntryState::gathering);
  send(from_carol, share_of(shares), pattern(16, 1));
  EXPECT_EQ(next().kind, Notification::Kind::message);
}

INSTANTIATE_TEST_SUITE_P(fabric, Groups, testing::ValuesIn(fabrics()), fabric_name);

// --- the values themselves

TEST(Shares, sum_to_the_whole_and_are_all_different) {
  Ticket ticket;
  ticket.interface = 1;
  ticket.entry = 0;
  ticket.bound = 64;
  for (const std::uint32_t members : {1u, 2u, 3u, 4u, 5u, 7u, 16u, 255u, 1000u, 1001u, 65535u, 65536u}) {
    GroupShares shares(ticket, members);
    std::vector<std::uint32_t> counts;
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < members; ++i) {
      Share share;
      ASSERT_EQ(shares.next(share), Status::ok);
      ASSERT_EQ(invalid(share), nullptr);
      counts.push_back(share.count);
      sum += share.count;
    }
    EXPECT_EQ(sum, GroupShares::kWhole) << members;
    std::sort(counts.begin(), counts.end());
    EXPECT_EQ(std::adjacent_find(counts.begin(), counts.end()), counts.end()) << members;
    Share none;
    EXPECT_EQ(shares.next(none), Status::invalid);
  }
  Share none;
  EXPECT_EQ(GroupShares(ticket, 65537).next(none), Status::invalid);
  EXPECT_EQ(GroupShares().next(none), Status::invalid);
}

TEST(Shares, are_split_down_to_the_packets_and_no_further) {
  Ticket ticket;
  ticket.interface = 1;
  ticket.entry = 0;
  ticket.base = 100;
  ticket.bound = 128;
  Share share{.ticket = ticket, .count = 3, .version = 1}, piece;
  EXPECT_EQ(share.split(129, piece), Status::out_of_bounds);
  EXPECT_EQ(share.split(65, piece), Status::ok) << "two packets, and one";
  EXPECT_EQ(piece.count + share.count, 3u);
  EXPECT_EQ(piece.ticket.bound, 65u);
  EXPECT_EQ(share.ticket.base, 165u);
  EXPECT_EQ(share.ticket.bound, 63u);
  const Share before = share;
  EXPECT_EQ(share.split(0, piece), Status::share_too_small);
  EXPECT_EQ(share, before);
  share.count = 2;
  EXPECT_EQ(share.split(0, piece), Status::ok) << "a message without data has one packet";
  EXPECT_EQ(share.count, 1u);
  share.version = 9;
  EXPECT_EQ(share.split(0, piece), Status::invalid);
}

TEST(Shares, are_refused_where_members_could_not_send_so_much) {
  Ticket ticket;
  ticket.interface = 1;
  ticket.entry = 0;
  ticket.bound = std::uint64_t{1} << 40;
  GroupShares shares(ticket, 1000);
  Share share;
  EXPECT_EQ(shares.next(share), Status::share_too_small);
  EXPECT_EQ(shares.next(share, {std::uint64_t{1} << 41, 1}), Status::out_of_bounds);
  EXPECT_EQ(shares.left(), 1000u);
  EXPECT_EQ(shares.next(share, {std::uint64_t{1} << 39, 1u << 20}), Status::ok);
  EXPECT_EQ(share.ticket.base, std::uint64_t{1} << 39);
}

}  // namespace
}  // namespace hamlyn::test
