// Watches: a peer asks for a word of a slot once it is another, on every fabric.
#include <cstring>
#include <memory>
#include <vector>

#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

using interface::kMostWatches;
using interface::kWatchNoMore;
using interface::Operation;
using interface::Packet;
using interface::Requests;
using interface::Terminus;

class Watch : public Puts {
 protected:
  Watch() { set(kAt, 5); }

  void set(std::size_t offset, std::uint64_t value) {
    std::memcpy(area.bytes().data() + offset, &value, sizeof value);
  }
  RemoteHandle ask(std::uint64_t seen, std::size_t offset = kAt) {
    RemoteHandle handle;
    EXPECT_TRUE(until([&] {
      return requests().watch(slot.ticket(), 8, seen, {.offset = offset}, &handle) == Status::pending;
    }));
    return handle;
  }
  Requests& requests() { return terminus.requests(); }
  Outcome outcome(RemoteHandle handle) { return requests().outcome(handle); }
  Outcome end_of(RemoteHandle handle) {
    EXPECT_TRUE(until([&] { return outcome(handle).status != Status::pending; }));
    return outcome(handle);
  }
  // One that is held: nothing comes, whatever else is done.
  RemoteHandle held(std::size_t offset = kAt) {
    const RemoteHandle handle = ask(5, offset);
    rest();
    EXPECT_EQ(outcome(handle).status, Status::pending);
    return handle;
  }
  interface::Link& link_of_bob() {
    return *bob.core.find_link(alice.id);
  }
  // A question that alice's side would not ask.
  void forge(std::uint32_t delta, std::uint64_t offset, const Ticket& ticket, std::uint64_t word = 0) {
    Packet packet = hand_made(ticket, 0);
    set_lead(packet, Operation::watch, interface::kInlineData, 0);
    set_entry(packet, ticket.entry, delta);
    packet.offset = offset;
    packet.word = word;
    inject(packet);
    rest();
  }

  static constexpr std::size_t kAt = 64;
};

TEST_P(Watch, is_answered_at_once_if_the_word_is_another) {
  const Outcome ended = end_of(ask(4));
  EXPECT_EQ(ended.status, Status::ok);
  EXPECT_EQ(ended.value, 5u);
}

TEST_P(Watch, is_answered_when_something_lands) {
  const RemoteHandle handle = held();
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1), {.offset = kAt + 8}), Status::ok);
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending) << "that word has not changed";
  const std::uint64_t value = 77;
  for (int i = 0; i < 3; ++i)  // the first of them might open a short way
    ASSERT_EQ(put(slot.ticket(), std::as_bytes(std::span(&value, 1)), {.offset = kAt + 16}), Status::ok);
  ASSERT_EQ(put(slot.ticket(), std::as_bytes(std::span(&value, 1)), {.offset = kAt}), Status::ok);
  EXPECT_EQ(end_of(handle).value, 77u);
}

TEST_P(Watch, is_answered_whatever_lands) {
  const std::uint64_t one = 1;
  const auto bytes = std::as_bytes(std::span(&one, 1));
  RemoteHandle handle = held();
  ASSERT_EQ(put(slot.ticket(), bytes, {.offset = kAt, .signal = Signal::add}), Status::ok);
  EXPECT_EQ(end_of(handle).value, 6u);
  set(kAt, 5);
  handle = held();
  ASSERT_EQ(put(slot.ticket(), pattern(900, 3), {.offset = 0}), Status::ok);
  EXPECT_EQ(end_of(handle).status, Status::ok);
  set(kAt, 5);
  handle = held();
  const Strides strides{.chunk = 8, .x_chunks = 2, .x_stride = kAt};
  ASSERT_EQ(put(slot.ticket(), pattern(16, 4), {.offset = 0, .strides = &strides}), Status::ok);
  EXPECT_EQ(end_of(handle).status, Status::ok);
  set(kAt, 5);
  handle = held();
  RemoteHandle fetched;
  ASSERT_TRUE(until([&] {
    return requests().fetch(slot.ticket(), {.operand = 2}, {.offset = kAt}, nullptr, &fetched) ==
           Status::pending;
  }));
  EXPECT_EQ(end_of(handle).value, 7u);
}

TEST_P(Watch, is_answered_when_what_was_held_lands) {
  const RemoteHandle handle = held();
  bob.core.inhibit_puts(slot.index());
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1), {.offset = kAt}), Status::ok);
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending);
  bob.core.release_puts(slot.index());
  EXPECT_EQ(end_of(handle).status, Status::ok);
}

TEST_P(Watch, is_answered_when_its_owner_says_that_it_has_changed) {
  const RemoteHandle handle = held();
  set(kAt, 9);
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending) << "a store wakes nobody";
  bob.core.slot_changed(slot.index());
  EXPECT_EQ(end_of(handle).value, 9u);
}

TEST_P(Watch, of_four_bytes_looks_at_no_more) {
  RemoteHandle handle;
  ASSERT_TRUE(until(
      [&] { return requests().watch(slot.ticket(), 4, 5, {.offset = kAt}, &handle) == Status::pending; }));
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending);
  set(kAt, std::uint64_t{3} << 32 | 5);
  bob.core.slot_changed(slot.index());
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending);
  set(kAt, 8);
  bob.core.slot_changed(slot.index());
  EXPECT_EQ(end_of(handle).value, 8u);
}

TEST_P(Watch, ends_with_its_slot_its_key_or_its_link) {
  RemoteHandle handle = held();
  bob.core.change_key(slot.index());
  EXPECT_EQ(end_of(handle).cause, Refusal::bad_key);
  EXPECT_EQ(bob.core.slot(slot.index()).watches, 0u);
  Area other_area{1u << 12};
  std::ranges::fill(other_area.bytes(), std::byte{0});
  auto other = std::make_unique<TestSlot>(
      bob, other_area, queue,
      SlotOptions{.fast = false, .places = 4, .fetches = true, .gets = 4096, .puts = true});
  ASSERT_TRUE(until([&] { return requests().watch(other->ticket(), 8, 0, {}, &handle) == Status::pending; }));
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending);
  other.reset();
  EXPECT_EQ(end_of(handle).cause, Refusal::stale_generation);
  handle = held();
  fabric->kill(alice, bob);
  EXPECT_EQ(end_of(handle).status, Status::link_ended);
  fabric->kill(bob, alice);
  EXPECT_EQ(bob.core.slot(slot.index()).watches, 0u);
}

TEST_P(Watch, that_is_given_up_gives_its_place_back) {
  for (std::uint32_t i = 0; i < 4 * kMostWatches; ++i) {
    const RemoteHandle handle = held();
    requests().give_up(requests().find(handle));
    rest();
    EXPECT_NE(outcome(handle).status, Status::pending);
    EXPECT_EQ(link_of_bob().remote.held(), 0u);
  }
  EXPECT_EQ(bob.core.slot(slot.index()).watches, 0u);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(Watch, of_a_terminus_that_goes_gives_its_place_back) {
  {
    Terminus other(alice.core, 8);
    RemoteHandle handle;
    ASSERT_TRUE(until([&] {
      return other.requests().watch(slot.ticket(), 8, 5, {.offset = kAt}, &handle) == Status::pending;
    }));
    rest();
    EXPECT_NE(link_of_bob().remote.held(), 0u);
  }
  rest();
  EXPECT_EQ(link_of_bob().remote.held(), 0u);
  EXPECT_TRUE(alice.core.find_link(bob.id)->remote.asks_nothing());
}

TEST_P(Watch, leaves_half_of_the_places_to_others) {
  std::vector<RemoteHandle> all;
  for (std::uint32_t i = 0; i < kMostWatches; ++i) all.push_back(held(kAt));
  RemoteHandle handle;
  EXPECT_EQ(requests().watch(slot.ticket(), 8, 5, {.offset = kAt}, &handle), Status::queue_full);
  RemoteHandle fetched;
  ASSERT_EQ(requests().fetch(slot.ticket(), {.operand = 1}, {.offset = 0}, nullptr, &fetched),
            Status::pending);
  EXPECT_EQ(end_of(fetched).status, Status::ok);
  for (const RemoteHandle each : all) EXPECT_EQ(outcome(each).status, Status::pending);
  set(kAt, 6);
  bob.core.slot_changed(slot.index());
  for (const RemoteHandle each : all) EXPECT_EQ(end_of(each).value, 6u);
}

TEST_P(Watch, that_is_taken_back_before_it_comes_is_not_held) {
  const std::uint32_t id = alice.core.find_link(bob.id)->remote.next(Priority::normal).id;
  forge(kWatchNoMore, 0, slot.ticket(), id);
  const RemoteHandle handle = ask(5);
  EXPECT_EQ(end_of(handle).status, Status::ok);
  held();
}

TEST_P(Watch, of_what_cannot_be_is_refused) {
  RemoteHandle handle;
  EXPECT_EQ(requests().watch(slot.ticket(), 3, 5, {}, &handle), Status::invalid);
  EXPECT_EQ(requests().watch(slot.ticket(), 8, 5, {.offset = (1u << 16) - 4}, &handle),
            Status::out_of_bounds);
  EXPECT_EQ(end_of(ask(5, kAt + 4)).cause, Refusal::misaligned);
  Ticket wrong = slot.ticket();
  wrong.key ^= 1;
  ASSERT_TRUE(until([&] { return requests().watch(wrong, 8, 5, {}, &handle) == Status::pending; }));
  EXPECT_EQ(end_of(handle).cause, Refusal::bad_key);
  Area other_area{1u << 12};
  TestSlot no_puts(bob, other_area, queue, {.fetches = true, .gets = 4096});
  ASSERT_TRUE(
      until([&] { return requests().watch(no_puts.ticket(), 8, 5, {}, &handle) == Status::pending; }));
  EXPECT_EQ(end_of(handle).cause, Refusal::mode_forbids);
  EXPECT_EQ(bob.core.slot(slot.index()).watches, 0u);
}

TEST_P(Watch, that_is_made_up_is_refused_and_bounded) {
  for (const std::uint32_t delta : {0u, 1u, 16u, kWatchNoMore | 8u, ~0u}) forge(delta, kAt, slot.ticket());
  EXPECT_EQ(bob.refused(Refusal::malformed), 5u);
  forge(8, 1u << 16, slot.ticket());
  forge(8, ~std::uint64_t{0} - 3, slot.ticket());
  EXPECT_EQ(bob.refused(Refusal::out_of_bounds), 2u);
  // Asks for more than a link may have under way, of a word that is as they have seen it: 0.
  set(kAt, 0);
  for (std::uint32_t i = 0; i < 3 * interface::kOutstanding; ++i) {
    Packet packet = hand_made(slot.ticket(), 0);
    set_lead(packet, Operation::watch, interface::kInlineData, 0);
    set_entry(packet, slot.ticket().entry, 8);
    packet.offset = kAt;
    packet.word = i;
    inject(packet);
  }
  rest();
  EXPECT_EQ(bob.refused(Refusal::over_budget), 3u * interface::kOutstanding - kMostWatches);
  EXPECT_EQ(bob.core.slot(slot.index()).watches, kMostWatches);
  ASSERT_EQ(put(slot.ticket(), pattern(8, 2), {.offset = kAt}), Status::ok);
  rest();
  EXPECT_EQ(bob.core.slot(slot.index()).watches, 0u);
}

TEST_P(Watch, of_what_is_not_pinned_is_refused) {
  const RemoteHandle handle = held();
  bob.core.pin_puts(slot.index(), 0, 4096, false);
  EXPECT_EQ(end_of(handle).cause, Refusal::not_pinned);
  EXPECT_EQ(end_of(ask(5)).cause, Refusal::not_pinned);
  bob.core.pin_puts(slot.index(), 0, 4096, true);
  held();
}

// An empty put says that something was stored: it lands where nothing may.
TEST_P(Watch, is_looked_at_when_somebody_has_stored_while_puts_are_inhibited) {
  const RemoteHandle handle = held();
  bob.core.inhibit_puts(slot.index());
  for (int i = 0; i < 200; ++i) ASSERT_EQ(put(slot.ticket(), {}), Status::ok);
  rest();
  EXPECT_EQ(outcome(handle).status, Status::pending);
  set(kAt, 6);
  ASSERT_EQ(put(slot.ticket(), {}), Status::ok);
  EXPECT_EQ(end_of(handle).value, 6u);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

// A guest who loses the right to read hears no more of it.
TEST_P(Watch, of_a_guest_ends_with_its_right) {
  link_of_bob().user = {8, 80};
  const RemoteHandle handle = held();
  bob.core.set_guests(slot.index(), std::make_unique<interface::Guests>(Protection{.mode = 0600, .users = {}},
                                                                        interface::User{7, 70}));
  EXPECT_EQ(end_of(handle).cause, Refusal::not_permitted);
}

INSTANTIATE_TEST_SUITE_P(fabric, Watch, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
