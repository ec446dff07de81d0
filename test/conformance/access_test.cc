// What peers may do at a slot (paper 1, section 3.5.2): read, write, or both.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Terminus;

class Accesses : public Conformance {
 protected:
  Accesses() { std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0xAB}); }

  Outcome end_of(RemoteHandle handle) {
    EXPECT_TRUE(until([&] { return asks.outcome(handle).status != Status::pending; }));
    return asks.outcome(handle);
  }
  Refusal get(const Ticket& ticket, std::size_t length) {
    RemoteHandle handle;
    EXPECT_EQ(asks.get(ticket, {landing.index(), 0, length}, {}, nullptr, &handle), Status::pending);
    return end_of(handle).cause;
  }
  Refusal fetch(const Ticket& ticket) {
    RemoteHandle handle;
    EXPECT_EQ(asks.fetch(ticket, {.op = FetchOp::add, .operand = 1}, {}, nullptr, &handle), Status::pending);
    return end_of(handle).cause;
  }
  Ticket for_fetch(TestSlot& slot, std::uint32_t entry) {
    Ticket ticket = slot.ticket(entry);
    if (slot.record().mode == Mode::guarded) {
      ticket.entry = Ticket::kRemote;
      ticket.incarnation = 0;
    }
    return ticket;
  }
  bool untouched() const {
    const auto bytes = const_cast<Area&>(area).bytes();
    return std::count(bytes.begin(), bytes.end(), std::byte{0xAB}) ==
           static_cast<std::ptrdiff_t>(bytes.size());
  }

  Area area{8192};  // bob's
  Area own{8192};   // alice's
  interface::Queue* alices = alice.core.make_queue(16);
  TestSlot landing{alice, own, alices, {}};
  Terminus terminus{alice.core, 8};
  interface::Requests& asks = terminus.requests();
  const std::vector<std::byte> data = pattern(3000, 1);
};

TEST_P(Accesses, a_read_only_slot_gives_and_takes_nothing) {
  for (const Mode mode : {Mode::guarded, Mode::paranoid}) {
    TestSlot slot(bob, area, queue,
                  {.mode = mode, .access = Access::read_only, .entries = 2, .fetches = true, .gets = 4096});
    if (mode != Mode::guarded) {
      ASSERT_EQ(slot.arm(0, {0, 4096}), Status::ok);
      ASSERT_EQ(slot.arm(1, {4096, 64}), Status::ok);
    }
    const Ticket ticket = for_fetch(slot, 0);
    EXPECT_EQ(get(ticket, 4096), Refusal::none);
    EXPECT_EQ(own.bytes()[4095], std::byte{0xAB});
    EXPECT_EQ(fetch(ticket), Refusal::mode_forbids);
    // Messages, short and long, asking to be acknowledged or not.
    const std::uint64_t before = bob.refused(Refusal::mode_forbids);
    for (const std::size_t length : {std::size_t{8}, data.size()}) {
      SendHandle handle;
      ASSERT_EQ(terminus.send(slot.ticket(0), std::span(data).first(length), {.acknowledged = true}, &handle),
                Status::pending);
      rest();
      EXPECT_EQ(terminus.status(handle), Status::refused);
      static_cast<void>(terminus.send(slot.ticket(0), std::span(data).first(length), {}, nullptr));
      rest();
    }
    EXPECT_GE(bob.refused(Refusal::mode_forbids), before + 4);
    // Packets that no honest sender makes: fast mode, and a request for places there.
    interface::Packet packet = hand_made(slot.ticket(0), 16);
    packet.key = slot.record().key;
    packet.entry = interface::kNoEntry;
    inject(packet);
    set_lead(packet, Operation::open, 0, 0);
    packet.word = 0;
    inject(packet);
    rest();
    EXPECT_EQ(bob.refused(Refusal::mode_forbids), bob.refused_in_all());
    EXPECT_TRUE(untouched());
    // Its entries are open to readers until they are closed, and to nobody else.
    EXPECT_EQ(slot.arm(0), Status::invalid);
    EXPECT_EQ(slot.fail_at(0, 5), Status::invalid) << "there is nothing to wait for";
    EXPECT_EQ(slot.expect(0, alice), Status::invalid);
    ASSERT_EQ(slot.disarm(0), Status::ok);
    EXPECT_EQ(slot.arm_group(0, 2).left(), 0u);
    EXPECT_EQ(get(ticket, 64), mode == Mode::guarded ? Refusal::none : Refusal::stale_message);
    while (!queue->empty()) next();
  }
}

TEST_P(Accesses, a_wrong_key_is_no_hint_of_what_a_slot_is) {
  TestSlot slot(bob, area, queue, {.access = Access::read_only, .entries = 1});
  Ticket ticket = slot.ticket(0);
  ticket.key ^= 1;
  inject(hand_made(ticket, 16));
  rest();
  EXPECT_EQ(bob.refused(Refusal::bad_key), 1u);
  EXPECT_EQ(bob.refused_in_all(), 1u);
}

TEST_P(Accesses, a_write_only_slot_takes_and_gives_nothing) {
  TestSlot slot(bob, area, queue,
                {.access = Access::write_only, .entries = 1, .fetches = true, .gets = 4096});
  const Ticket ticket = for_fetch(slot, 0);
  EXPECT_EQ(get(ticket, 8), Refusal::mode_forbids);
  EXPECT_EQ(fetch(ticket), Refusal::mode_forbids);
  EXPECT_TRUE(untouched());
  EXPECT_NE(own.bytes()[0], std::byte{0xAB});
  ASSERT_EQ(terminus.send(slot.ticket(0), std::span(data).first(8), {}, nullptr), Status::ok);
  EXPECT_TRUE(until([&] { return same(area.bytes().first(8), std::span(data).first(8)); }));
  EXPECT_EQ(send_fast(terminus, slot.ticket(), std::span(data).first(16)), Status::ok);
  rest();
  EXPECT_TRUE(same(area.bytes().first(16), std::span(data).first(16)));
}

TEST_P(Accesses, slots_on_one_area_have_each_its_own) {
  TestSlot feeds(bob, area, queue, {.access = Access::write_only, .entries = 1});
  TestSlot looks(bob, area, queue, {.access = Access::read_only, .fast = false, .gets = 4096});
  ASSERT_LT(terminus.send(feeds.ticket(0), data, {}, nullptr), Status::queue_full);
  EXPECT_EQ(next().length, data.size());
  Ticket ticket = looks.ticket();
  ticket.entry = Ticket::kRemote;
  EXPECT_EQ(get(ticket, data.size()), Refusal::none);
  EXPECT_TRUE(same(own.bytes().first(data.size()), data));
}

INSTANTIATE_TEST_SUITE_P(fabric, Accesses, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
