// Messages to durable areas (paper 1, section 3.5.1): acknowledged when a sync that began after they had
// landed is over, and not before.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::kAcknowledgementLimit;
using interface::StoredRange;
using interface::Terminus;

constexpr std::size_t kBase = 4096;  // of the slot in its area

class Durable : public Conformance {
 protected:
  Durable() { store.data = area.data(); }

  // A slot that does not begin where its area does.
  std::unique_ptr<TestSlot> make_slot(std::uint32_t entries) {
    auto slot =
        std::make_unique<TestSlot>(bob, area, queue, Slot::Options{.base = kBase, .entries = entries});
    slot->record().store = &store;
    return slot;
  }
  SendHandle send(Terminus& terminus, const Ticket& ticket, std::size_t length, std::uint64_t offset = 0) {
    SendHandle handle;
    EXPECT_EQ(terminus.send(ticket, std::span(data).first(length), {.offset = offset, .acknowledged = true},
                            &handle),
              Status::pending);
    return handle;
  }
  std::vector<StoredRange> begin() {
    std::vector<StoredRange> ranges;
    bob.core.begin_sync(store, ranges);
    return ranges;
  }
  void end(bool done) {
    EXPECT_TRUE(bob.core.end_sync(store, done)) << "there is room for replies";
    rest();
  }
  std::uint32_t promised() { return bob.core.find_link(alice.id)->acknowledgements.promised_count; }

  Area area{1u << 17};
  interface::Store store;
  const std::vector<std::byte> data = pattern(20000, 1);
};

TEST_P(Durable, messages_are_told_of_at_once_and_acknowledged_after_the_sync) {
  const auto slot = make_slot(1);
  Terminus terminus(alice.core, 4);
  for (const std::size_t length : {16u, 1000u, 20000u}) {
    const SendHandle handle = send(terminus, slot->ticket(0), length, 8);
    const Notification n = next();
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_TRUE(same(slot->bytes(n), std::span(data).first(length)));
    rest();
    EXPECT_EQ(terminus.status(handle), Status::pending) << "it is only in memory";
    EXPECT_EQ(bob.to_sync.count(&store), 1u) << "whoever writes the file was told";
    EXPECT_FALSE(bob.core.something_to_do()) << "what waits for a disk keeps nobody awake";
    const std::vector<StoredRange> ranges = begin();
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_EQ(ranges[0].offset, kBase + 8);
    EXPECT_EQ(ranges[0].length, length);
    rest();
    EXPECT_EQ(terminus.status(handle), Status::pending);
    end(true);
    EXPECT_EQ(terminus.status(handle), Status::ok);
    EXPECT_EQ(promised(), 0u);
    bob.to_sync.clear();
    ASSERT_EQ(slot->arm(0), Status::ok);
  }
}

TEST_P(Durable, a_sync_covers_what_had_landed_when_it_began_and_no_more) {
  const auto slot = make_slot(4);
  Terminus terminus(alice.core, 4);
  const SendHandle first = send(terminus, slot->ticket(0), 16);
  const SendHandle second = send(terminus, slot->ticket(1), 5000, 100);
  rest();
  EXPECT_EQ(begin().size(), 2u);
  bob.to_sync.clear();
  const SendHandle late = send(terminus, slot->ticket(2), 16, 6000);
  rest();
  EXPECT_EQ(bob.to_sync.count(&store), 1u) << "another sync is asked for";
  end(true);
  EXPECT_EQ(terminus.status(first), Status::ok);
  EXPECT_EQ(terminus.status(second), Status::ok);
  EXPECT_EQ(terminus.status(late), Status::pending);
  EXPECT_EQ(begin().size(), 1u);
  end(true);
  EXPECT_EQ(terminus.status(late), Status::ok);
}

TEST_P(Durable, a_message_that_is_not_whole_is_not_synced) {
  const auto slot = make_slot(1);
  ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
  interface::Packet part = hand_made(slot->ticket(0), 16);
  set_lead(part, interface::Operation::write_acknowledged, 16, 0);
  part.delta = ~0u;  // another one is to come
  inject(part);
  rest();
  EXPECT_TRUE(begin().empty());
  end(true);
  EXPECT_EQ(promised(), 1u);
  set_lead(part, interface::Operation::write, 16, 0);
  part.delta = 1;
  inject(part);
  rest();
  const std::vector<StoredRange> ranges = begin();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].length, 32u) << "the same bytes, twice: more than one has, never more than there are";
  end(true);
  EXPECT_EQ(promised(), 0u);
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u);
}

TEST_P(Durable, nothing_that_is_written_reaches_beyond_the_slot) {
  const auto slot = make_slot(1);
  const auto bound = slot->record().bound;
  ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
  interface::Packet part = hand_made(slot->ticket(0), 16);
  part.offset = bound - 16;
  set_lead(part, interface::Operation::write_acknowledged, 16, 0);
  part.delta = ~0u;
  inject(part);
  set_lead(part, interface::Operation::write, 16, 0);
  part.delta = 1;
  inject(part);
  rest();
  const std::vector<StoredRange> ranges = begin();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].offset, kBase + bound - 16);
  EXPECT_EQ(ranges[0].length, 16u);
  end(true);
}

TEST_P(Durable, a_sync_that_fails_is_told_and_nothing_counts_from_then_on) {
  const auto slot = make_slot(4);
  Terminus terminus(alice.core, 4);
  const SendHandle covered = send(terminus, slot->ticket(0), 16);
  rest();
  begin();
  const SendHandle later = send(terminus, slot->ticket(1), 16);
  rest();
  end(false);
  EXPECT_EQ(terminus.status(covered), Status::not_durable);
  EXPECT_EQ(terminus.status(later), Status::not_durable) << "it would wait for ever";
  bob.to_sync.clear();
  const SendHandle after = send(terminus, slot->ticket(2), 5000);
  rest();
  EXPECT_EQ(terminus.status(after), Status::not_durable);
  EXPECT_TRUE(bob.to_sync.empty()) << "a later sync may say nothing of what the failed one has lost";
  EXPECT_EQ(promised(), 0u);
  EXPECT_EQ(bob.refused_in_all(), 0u) << "nobody has broken a rule";
}

TEST_P(Durable, a_refusal_waits_for_no_disk) {
  const auto slot = make_slot(2);
  Terminus terminus(alice.core, 4);
  const Ticket revoked = slot->ticket(0);
  slot->change_key();
  const SendHandle handle = send(terminus, revoked, 16);
  rest();
  EXPECT_EQ(terminus.status(handle), Status::refused);
}

TEST_P(Durable, the_link_may_end_while_the_sync_runs) {
  const auto slot = make_slot(2);
  Terminus from_alice(alice.core, 4), from_carol(carol.core, 4);
  const SendHandle lost = send(from_alice, slot->ticket(0), 16);
  const SendHandle kept = send(from_carol, slot->ticket(1), 16);
  rest();
  EXPECT_EQ(begin().size(), 2u);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  EXPECT_EQ(from_alice.status(lost), Status::link_ended);
  end(true);
  EXPECT_EQ(from_carol.status(kept), Status::ok);
}

TEST_P(Durable, the_slot_may_go_and_the_entry_be_used_again_while_the_sync_runs) {
  auto slot = make_slot(2);
  Terminus terminus(alice.core, 4);
  const SendHandle first = send(terminus, slot->ticket(0), 16);
  const SendHandle second = send(terminus, slot->ticket(1), 16, 32);
  for (int i = 0; i < 2; ++i) next();
  ASSERT_EQ(slot->arm(0), Status::ok);
  ASSERT_EQ(slot->disarm(1), Status::ok);
  EXPECT_EQ(promised(), 2u) << "both have landed";
  EXPECT_EQ(begin().size(), 2u);
  slot->drop();
  end(true);
  EXPECT_EQ(terminus.status(first), Status::ok);
  EXPECT_EQ(terminus.status(second), Status::ok);
}

TEST_P(Durable, as_many_may_wait_for_the_disk_as_may_wait_for_their_rest) {
  constexpr std::uint32_t kMessages = 2 * kAcknowledgementLimit + 5;
  const auto slot = make_slot(kMessages);
  Terminus terminus(alice.core, kMessages);
  std::vector<SendHandle> handles;
  for (std::uint32_t i = 0; i < kMessages; ++i)
    handles.push_back(send(terminus, slot->ticket(i), 16, 16 * i));
  std::size_t syncs = 0;
  for (; syncs < 10; ++syncs) {
    rest();
    const std::size_t ranges = begin().size();
    EXPECT_LE(ranges, kAcknowledgementLimit);
    if (ranges == 0) break;
    bob.core.end_sync(store, true);  // the replies that find no room follow
  }
  EXPECT_EQ(syncs, 3u) << "each covers all that wait";
  for (const SendHandle handle : handles) EXPECT_EQ(terminus.status(handle), Status::ok);
  EXPECT_EQ(bob.refused_in_all(), 0u);
  // One that sends more than it may is refused, and has no more remembered.
  for (std::uint32_t i = 0; i < kMessages && promised() <= kAcknowledgementLimit; ++i) {
    if (!queue->empty()) next();
    if (slot->arm(i) != Status::ok) continue;
    interface::Packet packet = hand_made(slot->ticket(i), 16);
    set_lead(packet, interface::Operation::write_acknowledged, 16, 0);
    inject(packet);
    rest();
  }
  EXPECT_EQ(promised(), kAcknowledgementLimit);
  EXPECT_GT(bob.refused(Refusal::over_budget), 0u);
}

TEST_P(Durable, pieces_of_areas_are_acknowledged_in_the_same_way) {
  const auto slot = make_slot(2);
  Terminus terminus(alice.core, 4);
  std::byte* const memory = fabric->area_memory(65536);
  std::copy(data.begin(), data.end(), memory);
  const std::uint32_t number = alice.core.add_area(memory, 65536);
  ASSERT_EQ(terminus.bind(0, number), Status::ok);
  for (std::uint32_t entry = 0; entry < 2; ++entry) {  // the second time it is shown
    const Piece pieces[] = {{0, 0, 10000}, {0, 10000, 10000}};
    SendHandle handle;
    ASSERT_EQ(terminus.send_gathered(slot->ticket(entry), pieces, {.acknowledged = true}, &handle),
              Status::pending);
    rest();
    EXPECT_EQ(terminus.status(handle), Status::pending);
    const std::vector<StoredRange> ranges = begin();
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_TRUE(same({area.data() + ranges[0].offset, ranges[0].length}, data));
    end(true);
    EXPECT_EQ(terminus.status(handle), Status::ok);
  }
  alice.core.drop_area(number);
}

INSTANTIATE_TEST_SUITE_P(fabric, Durable, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
