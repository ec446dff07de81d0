// The owner of a slot is told of gets and fetch-ops that ask for it (paper 4, section 3.4.5), on every
// fabric, and never of more than it has places.
#include "interface/packets/put_packet.h"
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Terminus;
using NotificationKind = Notification::Kind;

class Told : public Conformance {
 protected:
  Outcome end_of(Status status, RemoteHandle handle) {
    if (status != Status::pending) return {status, Refusal::none, 0};
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    return terminus.requests().outcome(handle);
  }
  // Until it is none of those that only want another try.
  template <class Ask>
  Outcome asked(Ask ask) {
    RemoteHandle handle;
    Status status = Status::connecting;
    until([&] {
      status = ask(&handle);
      return status != Status::connecting && status != Status::queue_full;
    });
    return end_of(status, handle);
  }
  Outcome get(const Ticket& ticket, std::uint64_t offset, std::size_t length, bool notify = true) {
    return asked([&](RemoteHandle* handle) {
      return terminus.requests().get(ticket, {landing.index(), 0, length},
                                     {.offset = offset, .notify = notify}, nullptr, handle);
    });
  }
  Outcome fetch(const Ticket& ticket, std::uint64_t offset, bool notify = true) {
    return asked([&](RemoteHandle* handle) {
      return terminus.requests().fetch(ticket, {.operand = 1}, {.offset = offset, .notify = notify}, nullptr,
                                       handle);
    });
  }
  std::vector<Notification> told() {
    rest();
    std::vector<Notification> all;
    while (const auto one = take(bob, queue)) {
      if (!of_refusals(*one)) all.push_back(*one);
    }
    return all;
  }
  // With an entry that its requester made up.
  void forge(Operation operation, std::uint32_t entry, std::uint32_t delta) {
    Packet packet = hand_made(slot.ticket(), operation == Operation::fetch ? 16 : 0);
    set_lead(packet, operation, operation == Operation::fetch ? 16 : 0, 0);
    set_entry(packet, entry, delta);
    inject(packet);
  }

  Area area{1u << 17};
  Area own{1u << 17};
  TestSlot slot{bob, area, queue, {.fast = false, .places = 4, .fetches = true, .gets = 65536, .puts = true}};
  interface::Queue* alices = alice.core.make_queue(16);
  TestSlot landing{alice, own, alices, {}};
  Terminus terminus{alice.core, 63};
};

TEST_P(Told, of_gets_and_fetches_that_ask_for_it) {
  EXPECT_EQ(get(slot.ticket(), 100, 40, false).status, Status::ok);
  EXPECT_EQ(fetch(slot.ticket(), 8, false).status, Status::ok);
  EXPECT_TRUE(told().empty());
  for (const std::size_t length : {1u, 48u, 49u, 65536u}) {
    ASSERT_EQ(get(slot.ticket(), 104, length).status, Status::ok);
    const auto all = told();
    ASSERT_EQ(all.size(), 1u) << length;
    EXPECT_EQ(all[0].kind, NotificationKind::got);
    EXPECT_EQ(all[0].slot, slot.number());
    EXPECT_EQ(all[0].offset, 104u);
    EXPECT_EQ(all[0].length, length);
    EXPECT_EQ(all[0].word, 1u);
    EXPECT_EQ(all[0].peer, alice.id);
  }
  ASSERT_EQ(fetch(slot.ticket(), 16).status, Status::ok);
  const auto all = told();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, NotificationKind::fetched);
  EXPECT_EQ(all[0].offset, 16u);
  EXPECT_EQ(all[0].length, 8u);
  EXPECT_EQ(all[0].peer, alice.id);
}

TEST_P(Told, of_a_gathered_get_from_its_first_byte_to_its_last) {
  const Strides plane{.chunk = 8, .x_chunks = 4, .y_chunks = 3, .x_stride = 24, .y_stride = 1000};
  const Outcome outcome = asked([&](RemoteHandle* handle) {
    return terminus.requests().get(slot.ticket(), {landing.index(), 0, 96},
                                   {.offset = 7, .strides = &plane, .notify = true}, nullptr, handle);
  });
  ASSERT_EQ(outcome.status, Status::ok);
  const auto all = told();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].offset, 7u);
  EXPECT_EQ(all[0].length, 2080u);
}

TEST_P(Told, of_no_more_than_there_are_places) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(get(slot.ticket(), 0, 8).status, Status::ok);
    EXPECT_EQ(fetch(slot.ticket(), 0).status, Status::ok);
    EXPECT_EQ(get(slot.ticket(), 0, 300).status, Status::ok);
    EXPECT_EQ(fetch(slot.ticket(), 0).status, Status::ok);
    EXPECT_EQ(get(slot.ticket(), 0, 8).status, Status::no_place);
    EXPECT_EQ(fetch(slot.ticket(), 0).status, Status::no_place);
    EXPECT_EQ(fetch(slot.ticket(), 0, false).status, Status::ok);
    EXPECT_EQ(told().size(), 4u);
    rest();
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Told, never_if_the_owner_says_so) {
  bob.core.set_control(slot.index(), Control::never);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(get(slot.ticket(), 0, 8).status, Status::ok) << i;
    ASSERT_EQ(fetch(slot.ticket(), 0).status, Status::ok) << i;
    rest();
  }
  EXPECT_TRUE(told().empty());
}

TEST_P(Told, always_if_the_owner_says_so_together_with_others) {
  bob.core.set_control(slot.index(), Control::always);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(get(slot.ticket(), 800 + 8 * i, 8, false).status, Status::ok);
    ASSERT_EQ(fetch(slot.ticket(), 80 + 8 * i, false).status, Status::ok);
  }
  const auto all = told();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, NotificationKind::got);
  EXPECT_EQ(all[0].word, 10u);
  EXPECT_EQ(all[0].offset, 800u);
  EXPECT_EQ(all[0].length, 80u);
  EXPECT_EQ(all[1].kind, NotificationKind::fetched);
  EXPECT_EQ(all[1].word, 10u);
  EXPECT_EQ(all[1].offset, 80u);
  EXPECT_EQ(all[1].peer, alice.id);
}

TEST_P(Told, of_nothing_that_was_refused_and_the_place_comes_back) {
  bob.core.pin_puts(slot.index(), 4096, 8192, false);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(get(slot.ticket(), 4096, 8).cause, Refusal::not_pinned) << i;
    ASSERT_EQ(fetch(slot.ticket(), 4096).cause, Refusal::not_pinned) << i;
    ASSERT_EQ(fetch(slot.ticket(), 4).cause, Refusal::misaligned) << i;
    rest();
  }
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(fetch(slot.ticket(), 0).status, Status::ok);
  EXPECT_EQ(told().size(), 1u);
}

TEST_P(Told, only_by_slots_that_take_puts) {
  TestSlot plain(bob, area, queue, {.fetches = true, .gets = 64});
  EXPECT_EQ(get(plain.ticket(), 0, 8).cause, Refusal::mode_forbids);
  EXPECT_EQ(fetch(plain.ticket(), 0).cause, Refusal::mode_forbids);
  Ticket none = slot.ticket();
  none.entry = 0;
  EXPECT_EQ(fetch(none, 0).status, Status::invalid) << "who has no places has none to name";
  EXPECT_TRUE(told().empty());
}

TEST_P(Told, packets_that_lie_are_refused_and_nobody_is_told) {
  ASSERT_EQ(fetch(slot.ticket(), 0).status, Status::ok);
  ASSERT_EQ(told().size(), 1u);
  const auto opening = terminus.opening_of(terminus.credit_of(slot.ticket()));
  const std::uint32_t add = interface::fetch_delta(1, 8, false);
  using interface::telling_entry;
  for (const Operation operation : {Operation::get, Operation::fetch}) {
    const std::uint32_t delta = operation == Operation::get ? 8 : add;
    const std::uint64_t stale = bob.refused(Refusal::stale_generation);
    forge(operation, telling_entry(opening ^ 1), delta);
    forge(operation, telling_entry(opening ^ 255), delta);
    forge(operation, telling_entry(opening ^ 1u << interface::kNameBits), delta);
    forge(operation, interface::kTells, delta);
    rest();
    EXPECT_GE(bob.refused(Refusal::stale_generation), stale + 3) << "the last may be the opening itself";
  }
  told();
  for (int i = 0; i < 12; ++i)
    forge(Operation::fetch, telling_entry(opening), add);  // without asking for places
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 8u);
  EXPECT_EQ(told().size(), 4u) << "what is not told of is not done";

  // Announcements of what was read through a mapping, and of what nobody knows.
  Packet packet = hand_made(slot.ticket(), 0);
  set_lead(packet, Operation::put_block, 0, 0);
  set_word(packet, interface::kSlotWord, interface::put_word(opening, 0, true, 0));
  set_word(packet, interface::kEntryWord, 100);
  packet.offset = 50;
  packet.word = 1;
  inject(packet);
  rest();
  packet.word = 2;
  inject(packet);
  packet.word = 3;
  inject(packet);
  packet.word = 1;
  packet.offset = (1u << 17) - 99;
  inject(packet);
  const auto all = told();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, NotificationKind::got);
  EXPECT_EQ(all[0].offset, 50u);
  EXPECT_EQ(all[0].length, 100u);
  EXPECT_EQ(all[1].kind, NotificationKind::fetched);
  EXPECT_EQ(bob.refused(Refusal::malformed), 1u);
  EXPECT_EQ(bob.refused(Refusal::out_of_bounds), 1u);
}

TEST_P(Told, by_an_opening_of_that_slot_and_of_no_other) {
  interface::Queue* const others = bob.core.make_queue(16);
  TestSlot other(bob, area, others, {.fast = false, .places = 4, .fetches = true, .gets = 64, .puts = true});
  for (TestSlot* each : {&slot, &other}) ASSERT_EQ(fetch(each->ticket(), 0).status, Status::ok);
  EXPECT_EQ(told().size(), 1u);
  EXPECT_TRUE(take(bob, others));
  const auto opening = terminus.opening_of(terminus.credit_of(other.ticket()));
  forge(Operation::get, interface::telling_entry(opening), 8);
  forge(Operation::fetch, interface::telling_entry(opening), interface::fetch_delta(1, 8, false));
  EXPECT_TRUE(told().empty());
  EXPECT_TRUE(others->empty()) << "it was told of what was not done there";
  EXPECT_EQ(bob.refused(Refusal::stale_generation), 2u);
}

TEST_P(Told, of_what_was_done_through_a_mapping) {
  const auto tell = [&](const PutOptions& options) {
    Status status = Status::connecting;
    until([&] {
      status = terminus.put(slot.ticket(), {}, options, nullptr);
      return status != Status::connecting && status != Status::queue_full;
    });
    return status;
  };
  EXPECT_EQ(tell({.offset = 8, .notify = true, .stored = 90, .touched = Touched::read}), Status::ok);
  rest();
  EXPECT_EQ(tell({.offset = 16, .notify = true, .stored = 8, .touched = Touched::swapped}), Status::ok);
  const auto all = told();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, NotificationKind::got);
  EXPECT_EQ(all[0].length, 90u);
  EXPECT_EQ(all[1].kind, NotificationKind::fetched);
  EXPECT_EQ(all[1].offset, 16u);
  EXPECT_EQ(tell({.notify = true, .touched = Touched::read}), Status::invalid);
  EXPECT_EQ(tell({.stored = 8, .touched = Touched::read}), Status::invalid);
  EXPECT_EQ(tell({.notify = true, .stored = 8, .touched = static_cast<Touched>(3)}), Status::invalid);
}

INSTANTIATE_TEST_SUITE_P(fabric, Told, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
