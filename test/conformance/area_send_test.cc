// Messages out of send buffer areas (paper 0, section 2.3): gathered by tag, cut by the interface, copied
// once by the interface at the other side; and what a sender may not say of areas.
#include <numeric>

#include "test/conformance/area_sends.h"

namespace hamlyn::test {
namespace {

using interface::AreaPart;
using interface::Terminus;

constexpr std::size_t kAreaBytes = 512 * 1024;

TEST_P(AreaSends, are_acknowledged_when_all_has_landed) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 8);
  const Source source = make_source(alice, 1);
  ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
  const std::vector<std::byte> metadata = pattern(33, 4);
  for (int round = 0; round < 4; ++round) {  // through the ring at first, then out of the area
    for (const std::size_t bytes : {0u, 16u, 65536u, 300000u}) {
      const Piece piece{0, 7, bytes};
      SendHandle handle;
      ASSERT_EQ(terminus.send_gathered(slot.ticket(0), {&piece, 1},
                                       {.metadata = metadata, .acknowledged = true}, &handle),
                Status::pending);
      const Notification n = next_message();
      EXPECT_TRUE(same(slot.bytes(n), std::span<const std::byte>(source.data + 7, bytes)));
      EXPECT_TRUE(same(slot.metadata(0), metadata));
      EXPECT_TRUE(until([&] { return terminus.status(handle) != Status::pending; }));
      EXPECT_EQ(terminus.status(handle), Status::ok);
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
  }
  EXPECT_TRUE(shown(source));
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
}

// Arguments of a call are built where they will be sent from, and its header, which is known last, in front
// of them: nothing is moved, and all of it is one message (paper 1, section 4.1).
TEST_P(AreaSends, are_built_with_slack_for_a_header_that_is_written_last) {
  Shown made(*this, 1);
  auto& [slot, terminus, source] = made;
  constexpr std::size_t kSlack = 64;
  for (const std::size_t header_bytes : {8u, 24u, 64u}) {
    const std::vector<std::byte> arguments = pattern(100000, header_bytes);
    std::copy(arguments.begin(), arguments.end(), source.data + kSlack);
    const std::vector<std::byte> header = pattern(header_bytes, 2);
    std::copy(header.begin(), header.end(), source.data + kSlack - header_bytes);
    const Piece call{0, kSlack - header_bytes, header_bytes + arguments.size()};
    SendHandle handle;
    ASSERT_LT(terminus.send_gathered(slot.ticket(0), {&call, 1}, {}, &handle), Status::queue_full);
    const Notification n = next_message();
    const std::span<const std::byte> landed = slot.bytes(n);
    ASSERT_EQ(landed.size(), header_bytes + arguments.size());
    EXPECT_TRUE(same(landed.first(header_bytes), header));
    EXPECT_TRUE(same(landed.subspan(header_bytes), arguments));
    EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
}

TEST_P(AreaSends, arrive_whole_whether_the_area_is_shown_already_or_not) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 8);
  const Source source = make_source(alice, 1);
  ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
  std::uint64_t last_packets = 0;
  for (int round = 0; round < 4; ++round) {
    for (const std::size_t bytes : {0u, 1u, 16u, 17u, 4095u, 4096u, 65536u, 65537u, 300000u}) {
      const Piece piece{0, 7, bytes};
      const std::vector<std::byte> metadata = pattern(bytes % 61, bytes);
      SendHandle handle;
      last_packets = packets_in();
      ASSERT_LT(
          terminus.send_gathered(slot.ticket(0), {&piece, 1}, {.offset = 3, .metadata = metadata}, &handle),
          Status::queue_full);
      const Notification n = next();
      ASSERT_EQ(n.length, bytes);
      EXPECT_TRUE(same(slot.bytes(n), {source.data + 7, bytes})) << bytes;
      EXPECT_TRUE(same(slot.metadata(0), metadata));
      EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
      last_packets = packets_in() - last_packets;
      ASSERT_EQ(slot.arm(0), Status::ok);
    }
  }
  EXPECT_EQ(last_packets, 5u) << "300000 bytes out of a shown area, at most 65536 each";
  EXPECT_EQ(alice.core.find_link(bob.id)->lent, 0u);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(AreaSends, gather_pieces_of_several_areas_in_their_order) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  Terminus terminus(alice.core, 8);
  std::vector<Source> sources;
  for (std::uint32_t tag = 0; tag < 8; ++tag) {
    sources.push_back(make_source(alice, tag));
    ASSERT_EQ(terminus.bind(tag, sources.back().number), Status::ok);
  }
  const std::vector<Piece> pieces = {{7, 100, 3},   {0, 0, 100000}, {3, 5, 1},     {3, 5, 0}, {5, 4096, 8192},
                                     {1, 17, 4000}, {2, 1, 300},    {6, 9, 70000}, {4, 0, 16}};
  std::vector<std::byte> whole;
  for (const Piece& piece : pieces)
    whole.insert(whole.end(), sources[piece.tag].data + piece.offset,
                 sources[piece.tag].data + piece.offset + piece.length);
  for (int round = 0; round < 4; ++round) {  // from the ring at first, then out of the areas
    ASSERT_LT(terminus.send_gathered(slot.ticket(0), pieces, {}, nullptr), Status::queue_full);
    const Notification n = next();
    ASSERT_EQ(n.length, whole.size());
    EXPECT_TRUE(same(slot.bytes(n), whole)) << round;
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  EXPECT_TRUE(shown(sources[0]) && shown(sources[6]) && shown(sources[5]));
  EXPECT_FALSE(shown(sources[2])) << "nothing long was sent of it";
}

TEST_P(AreaSends, lend_the_buffer_until_the_receiver_has_copied) {
  Shown made(*this, 2);
  auto& [slot, terminus, source] = made;
  const Piece piece{0, 0, 100000};
  SendHandle handle;
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
  for (int i = 0; i < 100; ++i) {
    fabric->settle();
    alice.core.run();
    ASSERT_EQ(terminus.status(handle), Status::pending) << "bob has copied nothing";
  }
  alice.core.something_to_do();  // forgets that room was wanted before
  EXPECT_FALSE(alice.core.something_to_do()) << "it can only wait";
  // What the sender writes before that is what arrives: the handle said so.
  source.data[99999] ^= std::byte{0xFF};
  const Notification n = next();
  EXPECT_TRUE(same(slot.bytes(n), {source.data, piece.length}));
  EXPECT_TRUE(alice.core.something_to_do());
  EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
  // Others are not held up behind it.
  ASSERT_EQ(slot.arm(1), Status::ok);
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  next();
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), {}, 0, 0), Status::ok);
}

// All of it has left, and the receiver may copy at any moment: the buffer is not free because somebody wants
// that.
TEST_P(AreaSends, that_are_lent_are_not_taken_back_before_they_were_copied) {
  Shown made(*this, 2);
  auto& [slot, terminus, source] = made;
  const Piece piece{0, 0, 100000};
  SendHandle handle;
  ASSERT_EQ(terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, &handle), Status::pending);
  EXPECT_EQ(terminus.cancel(handle), Status::pending);
  EXPECT_EQ(terminus.status(handle), Status::pending);
  EXPECT_TRUE(same(slot.bytes(next()), {source.data, piece.length}));
  EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
  EXPECT_EQ(terminus.cancel(handle), Status::ok);
}

TEST_P(AreaSends, refuse_what_cannot_be_sent_before_anything_leaves) {
  TestSlot slot(bob, area, queue, {.bound = 100, .entries = 1});
  Terminus terminus(alice.core, 8);
  const Source source = make_source(alice, 1, 8192);
  const auto send = [&](std::vector<Piece> pieces) {
    return terminus.send_gathered(slot.ticket(0), pieces, {}, nullptr);
  };
  EXPECT_EQ(send({{0, 0, 1}}), Status::invalid) << "nothing is bound";
  EXPECT_EQ(terminus.bind(8, source.number), Status::invalid);
  EXPECT_EQ(terminus.unbind(0), Status::invalid);
  ASSERT_EQ(terminus.bind(7, source.number), Status::ok);
  EXPECT_EQ(send({{6, 0, 1}}), Status::invalid) << "another tag";
  EXPECT_EQ(send({{8, 0, 1}}), Status::invalid) << "a tag out of range";
  EXPECT_EQ(send({{~0u, 0, 1}}), Status::invalid);
  EXPECT_EQ(send({{7, 0, 1}, {5, 0, 1}}), Status::invalid);
  EXPECT_EQ(send({{7, 8192, 1}}), Status::out_of_bounds);
  EXPECT_EQ(send({{7, 0, 8193}}), Status::out_of_bounds);
  EXPECT_EQ(send({{7, ~std::uint64_t{0}, 2}}), Status::out_of_bounds);
  EXPECT_EQ(send({{7, 1, ~std::uint64_t{0}}}), Status::out_of_bounds);
  EXPECT_EQ(send({{7, 0, 60}, {7, 0, 41}}), Status::out_of_bounds) << "beyond the ticket";
  EXPECT_EQ(send(std::vector<Piece>(interface::kPieceLimit + 1, {7, 0, 1})), Status::too_long);
  ASSERT_EQ(terminus.unbind(7), Status::ok);
  EXPECT_EQ(send({{7, 0, 1}}), Status::invalid);
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_TRUE(queue->empty());
  EXPECT_FALSE(alice.core.departures_wait());
}

TEST_P(AreaSends, of_what_was_never_shown_are_refused_one_by_one) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 8);
  const Source source = make_source(alice, 1, 8192);
  const Source carols = make_source(carol, 3, 65536);  // by the same number as alice's
  ASSERT_EQ(carols.number, source.number);
  Terminus carols_terminus(carol.core, 8);
  ASSERT_EQ(carols_terminus.bind(0, carols.number), Status::ok);
  const Piece piece{0, 0, 8192};
  ASSERT_LT(carols_terminus.send_gathered(slot.ticket(1), {&piece, 1}, {}, nullptr), Status::queue_full);
  next();
  const std::vector<std::byte> before(area.bytes().begin(), area.bytes().end());

  const auto generation = alice.core.area(source.number).generation;
  const auto number = static_cast<std::uint16_t>(source.number);
  const Ticket ticket = slot.ticket(0);
  std::uint64_t refused = 0;
  const auto expect_bad = [&](const AreaPart& part, const char* what) {
    inject_part(ticket, part);
    EXPECT_EQ(bob.refused(Refusal::bad_area), ++refused) << what;
  };
  expect_bad({number, generation, 16, 0}, "shown by carol, not by alice");
  ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
  TestSlot other(bob, area, queue, {.base = 65536, .entries = 1});
  have_shown(terminus, other, 0, source);
  for (const int wrong : {1, 63, 64, 65535})
    expect_bad({static_cast<std::uint16_t>(wrong), generation, 16, 0}, "a number that names nothing");
  expect_bad({number, static_cast<std::uint16_t>(generation + 1), 16, 0}, "another generation");
  expect_bad({number, 0, 16, 0}, "no generation");
  expect_bad({number, generation, 8193, 0}, "longer than the area");
  expect_bad({number, generation, 1, 8192}, "behind it");
  expect_bad({number, generation, 2, 8191}, "across its end");
  expect_bad({number, generation, 16, ~std::uint64_t{0} - 7}, "a sum that overflows");
  expect_bad({number, generation, 0xFFFFFFFFu, 0}, "the longest there is");
  EXPECT_TRUE(same(std::span(area.bytes()).first(65536), std::span(before).first(65536)))
      << "no byte has landed";
  inject_part(ticket, {number, generation, 8192, 0});
  EXPECT_EQ(next_message().length, 8192u) << "and a good one lands";
}

// Every other check of a write holds for it, too.
// A packet's data is copied within one turn of its link: so long may it be, and no longer, however much is
// shown.
TEST_P(AreaSends, of_more_than_one_packet_may_have_are_refused) {
  TestSlot slot(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 8);
  const Source source = make_source(alice, 1, 3 * interface::kAreaPacketLimit);
  ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
  have_shown(terminus, slot, 0, source);
  AreaPart part{static_cast<std::uint16_t>(source.number), alice.core.area(source.number).generation,
                interface::kAreaPacketLimit + 1, 0};
  inject_part(slot.ticket(0), part);
  EXPECT_EQ(bob.refused(Refusal::bad_area), 1u);
  --part.length;
  inject_part(slot.ticket(0), part);
  EXPECT_TRUE(same(slot.bytes(next_message()), {source.data, part.length}));
}

TEST_P(AreaSends, are_checked_like_any_other_write) {
  TestSlot slot(bob, area, queue, {.bound = 4096, .mode = Mode::paranoid, .entries = 1});
  ASSERT_EQ(slot.arm(0, {1024, 2048}), Status::ok);
  TestSlot fast(bob, area, queue, {.base = 65536, .entries = 1});
  Terminus terminus(alice.core, 8);
  const Source source = make_source(alice, 1);
  ASSERT_EQ(terminus.bind(0, source.number), Status::ok);
  have_shown(terminus, fast, 0, source);
  const AreaPart part{static_cast<std::uint16_t>(source.number), alice.core.area(source.number).generation,
                      2048, 0};
  const Ticket good = slot.ticket(0);
  const auto expect_refused = [&](const Ticket& ticket, Refusal cause) {
    const std::uint64_t before = bob.refused(cause);
    inject_part(ticket, part);
    EXPECT_EQ(bob.refused(cause), before + 1) << name(cause);
  };
  Ticket wrong = good;
  wrong.slot = 60;
  expect_refused(wrong, Refusal::bad_slot);
  wrong.slot = 1u << 20;
  expect_refused(wrong, Refusal::bad_slot);
  wrong = good;
  ++wrong.generation;
  expect_refused(wrong, Refusal::stale_generation);
  wrong = good;
  wrong.key ^= 1;
  expect_refused(wrong, Refusal::bad_key);
  wrong = good;
  wrong.entry = 1;
  expect_refused(wrong, Refusal::bad_entry);
  expect_refused(fast.ticket(), Refusal::mode_forbids);
  wrong = good;
  wrong.base = 1023;
  expect_refused(wrong, Refusal::out_of_bounds);
  wrong.base = 1025;
  expect_refused(wrong, Refusal::out_of_bounds);
  wrong.base = 4096;
  expect_refused(wrong, Refusal::out_of_bounds);
  wrong = good;
  ++wrong.incarnation;
  expect_refused(wrong, Refusal::stale_message);
  inject_part(good, part);
  EXPECT_TRUE(same(slot.bytes(next_message()), {source.data, 2048}));
}

TEST_P(AreaSends, carry_shares_of_a_group) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  ASSERT_EQ(slot.disarm(0), Status::ok);
  Terminus from_alice(alice.core, 8), from_carol(carol.core, 8);
  const Source alices = make_source(alice, 1), carols = make_source(carol, 2);
  ASSERT_EQ(from_alice.bind(3, alices.number), Status::ok);
  ASSERT_EQ(from_carol.bind(0, carols.number), Status::ok);
  for (int round = 0; round < 3; ++round) {  // through the rings at first, then out of the areas
    GroupShares shares = slot.arm_group(0, 3);
    Share first, second, third, helpers;
    ASSERT_EQ(shares.next(first, {0, 300000}), Status::ok);
    ASSERT_EQ(shares.next(second, {300000, 100000}), Status::ok);
    ASSERT_EQ(shares.next(third, {400000, 1000}), Status::ok);
    ASSERT_EQ(second.split(30000, helpers), Status::ok);
    // Pieces of all lengths, so that packets end inside of them and begin with their ends.
    const Piece pieces[] = {{3, 1, 100}, {3, 1000, 5000}, {3, 9, 1}, {3, 10000, 294899}};
    ASSERT_LT(from_alice.send_gathered(first, pieces, {}, nullptr), Status::queue_full);
    const Piece part{0, 5, 30000}, rest_of_it{0, 30005, 70000};
    ASSERT_LT(from_carol.send_gathered(helpers, {&part, 1}, {}, nullptr), Status::queue_full);
    EXPECT_TRUE(queue->empty());
    ASSERT_LT(from_carol.send_gathered(second, {&rest_of_it, 1}, {}, nullptr), Status::queue_full);
    ASSERT_LT(from_alice.send(third, {alices.data, 1000}, {}, nullptr), Status::queue_full);
    const Notification n = next_message();
    EXPECT_EQ(n.length, 401000u);
    std::size_t at = 0;
    for (const Piece& piece : pieces) {
      EXPECT_TRUE(same({area.data() + at, piece.length}, {alices.data + piece.offset, piece.length}));
      at += piece.length;
    }
    EXPECT_TRUE(same({area.data() + 300000, 100000}, {carols.data + 5, 100000}));
    EXPECT_TRUE(same({area.data() + 400000, 1000}, {alices.data, 1000}));
    rest();
    EXPECT_TRUE(queue->empty()) << "one notification for all";
  }
  EXPECT_TRUE(shown(alices));
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(AreaSends, of_a_share_refuse_what_would_sum_wrongly) {
  TestSlot slot(bob, area, queue, {.entries = 1});
  ASSERT_EQ(slot.disarm(0), Status::ok);
  Terminus terminus(alice.core, 8);
  ASSERT_EQ(terminus.bind(0, make_source(alice, 1).number), Status::ok);
  GroupShares shares = slot.arm_group(0, 1);
  Share share;
  ASSERT_EQ(shares.next(share), Status::ok);
  const Piece piece{0, 0, 100000};
  Share small = share;
  small.count = 1562;  // one less than packets of 64 bytes
  SendHandle handle{7, 7};
  EXPECT_EQ(terminus.send_gathered(small, {&piece, 1}, {}, &handle), Status::share_too_small);
  EXPECT_EQ(terminus.status(handle), Status::ok) << "a handle of nothing";
  EXPECT_EQ(terminus.send_gathered(share, {&piece, 1}, {.acknowledged = true}, nullptr), Status::invalid);
  EXPECT_EQ(terminus.send(share, {}, {.acknowledged = true}, nullptr), Status::invalid);
  small.count = 0;
  EXPECT_EQ(terminus.send_gathered(small, {&piece, 1}, {}, nullptr), Status::invalid);
  share.ticket.bound = 99999;
  EXPECT_EQ(terminus.send_gathered(share, {&piece, 1}, {}, nullptr), Status::out_of_bounds);
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u) << "nothing has left";
  EXPECT_TRUE(queue->empty());
  // What is left of the share is as good as before.
  share.ticket.bound = 100000;
  ASSERT_LT(terminus.send_gathered(share, {&piece, 1}, {}, nullptr), Status::queue_full);
  EXPECT_EQ(next_message().length, 100000u);
}

TEST_P(AreaSends, have_at_most_64_areas) {
  std::vector<Source> sources;
  for (std::uint32_t i = 0; i < interface::kAreaLimit; ++i) sources.push_back(make_source(alice, i, 4096));
  try {
    make_source(alice, 64, 4096);
    ADD_FAILURE() << "there is one more";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  }
  alice.core.drop_area(17);
  EXPECT_EQ(make_source(alice, 65, 4096).number, 17u);
}

// A mapped slot: the data is stored straight away, and only the notification comes as a packet.
class InPlace : public AreaSends {
 protected:
  InPlace() : slot(bob, area, queue, {.base = 4096, .bound = 300000, .entries = 2}) {
    slot.record().mapping = &generation;
    alice.core.find_link(bob.id)->mapped.push_back({this, slot.index(), slot.record().generation,
                                                    slot.record().key, slot.base(), 300000, &generation,
                                                    generation});
  }
  std::uint64_t generation = 0x10007;
  TestSlot slot;
};

TEST_P(InPlace, messages_come_as_one_packet_whatever_their_length) {
  Terminus terminus(alice.core, 8);
  for (const std::size_t bytes : {0u, 16u, 17u, 8193u, 200000u}) {
    const std::vector<std::byte> data = pattern(bytes, bytes);
    const std::vector<std::byte> metadata = pattern(33, bytes);
    const std::uint64_t packets = packets_in();
    ASSERT_EQ(terminus.send(slot.ticket(0), data, {.offset = 5, .metadata = metadata}, nullptr), Status::ok);
    const Notification n = next();
    EXPECT_EQ(n.offset, 5u);
    ASSERT_EQ(n.length, bytes);
    EXPECT_TRUE(same(slot.bytes(n), data));
    EXPECT_TRUE(same(slot.metadata(0), metadata));
    EXPECT_EQ(packets_in() - packets, 1u);
    ASSERT_EQ(slot.arm(0), Status::ok);
  }
  EXPECT_EQ(terminus.send(slot.ticket(0), pattern(300000, 1), {.offset = 1}, nullptr), Status::out_of_bounds);
}

TEST_P(InPlace, messages_go_through_the_link_after_a_revocation) {
  Terminus terminus(alice.core, 8);
  const std::vector<std::byte> data = pattern(100000, 1);
  ++generation;
  const std::uint64_t packets = packets_in();
  ASSERT_LT(terminus.send(slot.ticket(0), data, {}, nullptr), Status::queue_full);
  EXPECT_TRUE(same(slot.bytes(next()), data));
  EXPECT_GT(packets_in() - packets, 1u);
}

TEST_P(InPlace, what_is_only_said_to_be_there_is_refused) {
  TestSlot guarded(bob, area, queue, {.base = 524288, .bound = 4096, .entries = 1});
  inject_part(guarded.ticket(0), {interface::kInPlace, 7, 16, 0});
  EXPECT_EQ(bob.refused(Refusal::bad_area), 1u) << "the slot is not mapped";
  inject_part(slot.ticket(0), {interface::kInPlace, 6, 16, 0});
  EXPECT_EQ(bob.refused(Refusal::bad_area), 2u) << "the mapping was revoked";
  inject_part(slot.ticket(0), {interface::kInPlace, 7, 300001, 0});
  EXPECT_EQ(bob.refused(Refusal::out_of_bounds), 1u);
  Ticket beyond = slot.ticket(0);
  beyond.base = 300000;
  inject_part(beyond, {interface::kInPlace, 7, 1, 0});
  EXPECT_EQ(bob.refused(Refusal::out_of_bounds), 2u);
  Ticket wrong = slot.ticket(0);
  wrong.key ^= 1;
  inject_part(wrong, {interface::kInPlace, 7, 16, 0});
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
  inject_part(slot.ticket(0), {interface::kInPlace, 7, 300000, 0});
  EXPECT_EQ(next_message().length, 300000u);
}

const FabricKind kFabrics[] = {{"shm", make_shm_fabric}, {"sim", make_sim_fabric}};
INSTANTIATE_TEST_SUITE_P(fabric, AreaSends, testing::ValuesIn(kFabrics), fabric_name);
INSTANTIATE_TEST_SUITE_P(fabric, InPlace, testing::ValuesIn(kFabrics), fabric_name);

}  // namespace
}  // namespace hamlyn::test
