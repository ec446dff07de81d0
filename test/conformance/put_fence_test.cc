// Fences and looks of puts: what has landed, what was refused, and what may be lost with its opening or its
// link.
#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class PutFence : public Puts {};

TEST_P(PutFence, a_fence_says_that_all_before_it_has_landed) {
  for (std::uint64_t i = 0; i < 30; ++i) {
    const auto data = pattern(1 + i * 333, i);
    ASSERT_EQ(put(slot.ticket(), data, {.offset = i}), Status::ok);
    ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
    ASSERT_TRUE(there(i, data));
  }
}

TEST_P(PutFence, a_fence_tells_once_of_a_put_that_was_refused) {
  bob.core.inhibit_puts(slot.index());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  const Outcome first = fence(slot.ticket());
  EXPECT_EQ(first.status, Status::refused);
  EXPECT_EQ(first.cause, Refusal::hold_full);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

// Whoever has waited in vain asks again, before the answer has come or behind it.
TEST_P(PutFence, the_next_fence_tells_what_nobody_waited_for) {
  bob.core.inhibit_puts(slot.index());
  for (const bool answered : {false, true}) {
    for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
    interface::Requests& requests = terminus.requests();
    RemoteHandle handle;
    ASSERT_TRUE(
        until([&] { return requests.fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
    requests.give_up(requests.find(handle));
    if (answered) rest();
    const Outcome next = fence(slot.ticket());
    EXPECT_EQ(next.status, Status::refused);
    EXPECT_EQ(next.cause, Refusal::hold_full);
    EXPECT_EQ(fence(slot.ticket()).status, Status::ok) << "and only that one";
  }
  RemoteHandle handle;
  interface::Requests& requests = terminus.requests();
  ASSERT_TRUE(until([&] { return requests.fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
  requests.give_up(requests.find(handle));
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok)
      << "of one whose puts have all landed there is nothing to say";
}

// Each of what it would have been told, though others ask by the same opening, and by the next.
TEST_P(PutFence, what_nobody_waited_for_is_told_to_its_terminus_as_it_was) {
  Terminus other{alice.core, 63};
  const auto give_up = [&](Terminus& by) {
    RemoteHandle handle;
    ASSERT_TRUE(
        until([&] { return by.requests().fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
    by.requests().give_up(by.requests().find(handle));
    rest();
  };
  Ticket wide = slot.ticket();
  wide.bound += 8;
  ASSERT_EQ(put(wide, pattern(8, 1), {.offset = area.size()}), Status::ok);
  give_up(terminus);
  ASSERT_TRUE(until([&] { return other.put(slot.ticket(), pattern(8, 1), {}, nullptr) == Status::ok; }));
  bob.core.inhibit_puts(slot.index());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  give_up(other);
  give_up(terminus);  // and what it would say stays what it was first
  const std::uint64_t one = 1;
  const auto word = std::as_bytes(std::span(&one, 1));
  EXPECT_EQ(put(slot.ticket(), word, {.offset = 64, .signal = Signal::set}), Status::refused);
  bob.core.set_guests(slot.index(), nullptr);
  rest();
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::out_of_bounds);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  RemoteHandle handle;
  ASSERT_TRUE(
      until([&] { return other.requests().fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
  ASSERT_TRUE(until([&] { return other.requests().outcome(handle).status != Status::pending; }));
  EXPECT_EQ(other.requests().outcome(handle).cause, Refusal::hold_full);
}

// A fence that somebody waits for is answered while one that nobody does is still to be.
TEST_P(PutFence, one_that_is_waited_for_takes_nothing_from_one_that_is_not) {
  ASSERT_EQ(put(slot.ticket(), {}), Status::ok);
  ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
  Ticket wide = slot.ticket();
  wide.bound += 8;
  interface::Requests& requests = terminus.requests();
  RemoteHandle first, second;
  ASSERT_EQ(terminus.put(slot.ticket(), pattern(8, 1), {}, nullptr), Status::ok);
  ASSERT_TRUE(until([&] { return requests.fence(slot.ticket(), {}, nullptr, &first) == Status::pending; }));
  ASSERT_EQ(terminus.put(wide, pattern(8, 1), {.offset = area.size()}, nullptr), Status::ok);
  ASSERT_TRUE(until([&] { return requests.fence(slot.ticket(), {}, nullptr, &second) == Status::pending; }));
  requests.give_up(requests.find(second));
  rest();
  EXPECT_EQ(requests.outcome(first).status, Status::ok);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::out_of_bounds);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

// Its link ends before the fence that would have said it is answered.
TEST_P(PutFence, what_nobody_waited_for_outlives_the_link) {
  bob.core.inhibit_puts(slot.index());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  interface::Requests& requests = terminus.requests();
  RemoteHandle handle;
  ASSERT_TRUE(until([&] { return requests.fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
  requests.give_up(requests.find(handle));
  rest();
  for (const bool asked : {true, false}) {
    if (asked) {
      ASSERT_EQ(requests.fence(slot.ticket(), {}, nullptr, &handle), Status::pending);
    }
    fabric->end(alice, bob);
    fabric->end(bob, alice);
    fabric->join(alice, bob);
  }
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::hold_full);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

TEST_P(PutFence, a_fence_tells_of_the_first_of_several_refusals) {
  Ticket wide = slot.ticket();
  wide.bound += 8;
  ASSERT_EQ(put(wide, pattern(8, 1), {.offset = area.size()}), Status::ok);
  rest();
  bob.core.inhibit_puts(slot.index());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::out_of_bounds);
  EXPECT_GT(bob.refused(Refusal::hold_full), 0u);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok) << "and of no other later";
}

TEST_P(PutFence, a_look_says_whether_it_is_open_now_and_answers_for_no_fence) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  rest();
  EXPECT_EQ(look().status, Status::ok);
  bob.core.inhibit_puts(slot.index());
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  EXPECT_EQ(look().status, Status::ok);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::hold_full) << "the look has taken what is a fence's";
  const auto let_in = [&](std::uint32_t mode) {
    const interface::User owner { 7, 70 };
    bob.core.set_guests(slot.index(),
                        std::make_unique<interface::Guests>(Protection{.mode = mode, .users = {}}, owner));
  };
  bob.core.find_link(alice.id)->user = {7, 70};
  let_in(0400);
  EXPECT_EQ(look().cause, Refusal::stale_generation) << "it is open, and otherwise than it was";
  rest();
  EXPECT_EQ(look().status, Status::connecting);
  until([&] { return terminus.ready(slot.ticket()) == Status::ok; });
  EXPECT_EQ(look().status, Status::ok);
  let_in(0);
  EXPECT_EQ(look().cause, Refusal::not_permitted);
}

TEST_P(PutFence, a_look_of_an_earlier_key_is_refused) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  rest();
  RemoteHandle handle;
  const Ticket old = slot.ticket();
  slot.change_key();
  ASSERT_EQ(terminus.requests().look(old, &handle), Status::pending);
  until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
  EXPECT_EQ(terminus.requests().outcome(handle).cause, Refusal::bad_key);
}

// Alice's side of the opening ends while a put is on its way; its end is told of when bob runs.
TEST_P(PutFence, a_fence_that_could_not_leave_forgets_nothing) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  bob.core.set_guests(slot.index(), nullptr);
  rest();
  interface::Queue* const own = alice.core.make_queue(1);
  ASSERT_EQ(own->reserve(1), 1u);
  RemoteHandle handle;
  Status status = Status::queue_full;
  until([&] {
    status = terminus.requests().fence(slot.ticket(), {}, own, &handle);
    return status != Status::queue_full;
  });
  ASSERT_EQ(status, Status::no_place);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::stale_generation);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  own->release(1);
}

TEST_P(PutFence, a_fence_of_another_terminus_says_nothing_of_what_has_not_left) {
  Terminus other{alice.core, 63};
  const auto data = pattern(60000, 1);
  ASSERT_EQ(put(slot.ticket(), {}), Status::ok);
  ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
  SendHandle handle;
  // More than any of the links takes before the fence is answered.
  for (int i = 0; i < 5; ++i) static_cast<void>(terminus.put(slot.ticket(), data, {}, &handle));
  // It is answered while more of the other one's has yet to leave.
  RemoteHandle asked;
  ASSERT_TRUE(
      until([&] { return other.requests().fence(slot.ticket(), {}, nullptr, &asked) == Status::pending; }));
  ASSERT_TRUE(until([&] { return other.requests().outcome(asked).status == Status::ok; }));
  ASSERT_EQ(terminus.status(handle), Status::pending) << "the case is not this one";
  bob.core.set_guests(slot.index(), nullptr);
  ASSERT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::stale_generation);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

TEST_P(PutFence, a_fence_of_another_terminus_does_not_answer_for_this_one) {
  Terminus other{alice.core, 63, Priority::urgent};
  ASSERT_EQ(put(slot.ticket(), {}), Status::ok);
  ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
  bob.core.inhibit_puts(slot.index());
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  rest();
  RemoteHandle asked;
  ASSERT_TRUE(
      until([&] { return other.requests().fence(slot.ticket(), {}, nullptr, &asked) == Status::pending; }));
  ASSERT_TRUE(until([&] { return other.requests().outcome(asked).status == Status::ok; }));
  bob.core.set_guests(slot.index(), nullptr);  // what waits is forgotten
  rest();
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::stale_generation);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

TEST_P(PutFence, a_fence_says_that_puts_may_be_lost_with_their_link) {
  for (const bool fenced : {true, false}) {
    ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
    if (fenced) {
      ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
    }
    fabric->end(alice, bob);
    fabric->end(bob, alice);
    fabric->join(alice, bob);
    EXPECT_EQ(fence(slot.ticket()).status, fenced ? Status::ok : Status::link_ended) << "nobody took it back";
    EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  }
  // Nor does a fence that is not answered answer for them.
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  rest();
  RemoteHandle handle;
  ASSERT_EQ(terminus.requests().fence(slot.ticket(), {}, nullptr, &handle), Status::pending);
  fabric->end(alice, bob);
  ASSERT_EQ(terminus.requests().outcome(handle).status, Status::link_ended);
  fabric->end(bob, alice);
  fabric->join(alice, bob);
  EXPECT_EQ(fence(slot.ticket()).status, Status::link_ended);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

TEST_P(PutFence, a_fence_says_why_the_link_ended_with_which_puts_may_be_lost) {
  const auto again = [&](WhyNoLink why) {
    ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
    fabric->end(alice, bob, why);
    fabric->end(bob, alice);
    fabric->join(alice, bob);
  };
  again({LinkReason::stalled, true});
  const Outcome first = fence(slot.ticket());
  EXPECT_EQ(first.status, Status::link_ended);
  EXPECT_EQ(first.why(), (WhyNoLink{LinkReason::stalled, true}));
  again({LinkReason::died, false});
  Ticket wide = slot.ticket();
  wide.bound += 8;
  ASSERT_EQ(put(wide, pattern(8, 1), {.offset = area.size()}), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::out_of_bounds) << "a refusal is said first";
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok) << "each fence is of all before it";
}

// A sender that has waited in vain for what a fence says of an earlier link hears it from the next.
TEST_P(PutFence, what_was_lost_with_a_link_is_told_to_who_waits) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  fabric->end(alice, bob);
  fabric->end(bob, alice);
  fabric->join(alice, bob);
  interface::Requests& requests = terminus.requests();
  RemoteHandle handle;
  ASSERT_TRUE(until([&] { return requests.fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; }));
  requests.give_up(requests.find(handle));
  rest();
  EXPECT_EQ(fence(slot.ticket()).status, Status::link_ended);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
}

// A slot that was taken back meanwhile says so, whatever has become of the link.
TEST_P(PutFence, a_slot_that_has_gone_with_a_link_is_gone) {
  const Ticket before = slot.ticket();
  ASSERT_EQ(put(before, pattern(8, 1)), Status::ok);
  fabric->end(alice, bob);
  fabric->end(bob, alice);
  slot.change_key();
  fabric->join(alice, bob);
  EXPECT_EQ(fence(before).cause, Refusal::bad_key);
}

TEST_P(PutFence, what_was_lost_with_a_link_keeps_no_other_slot_from_being_opened) {
  std::vector<std::unique_ptr<TestSlot>> slots;
  for (std::size_t i = 0; i < interface::Link::kPlacesLimit; ++i) {
    slots.push_back(std::make_unique<TestSlot>(
        bob, area, queue, Slot::Options{.fast = false, .places = 0, .puts = true, .hold = 0}));
    ASSERT_EQ(put(slots.back()->ticket(), pattern(8, i)), Status::ok);
  }
  fabric->end(alice, bob);
  fabric->end(bob, alice);
  slots.clear();
  fabric->join(alice, bob);
  EXPECT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
}

TEST_P(PutFence, a_signal_is_refused_when_what_it_signals_may_be_lost_with_an_opening) {
  const std::uint64_t one = 1;
  const auto word = std::as_bytes(std::span(&one, 1));
  const auto signal = [&] { return put(slot.ticket(), word, {.offset = 64, .signal = Signal::set}); };
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  ASSERT_EQ(signal(), Status::ok);
  ASSERT_EQ(put(slot.ticket(), pattern(8, 2)), Status::ok);
  bob.core.set_guests(slot.index(), nullptr);
  rest();
  EXPECT_EQ(signal(), Status::refused);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::stale_generation);
  EXPECT_EQ(signal(), Status::ok);
}

// A fence that was given up had waited for less.
TEST_P(PutFence, a_fence_waits_for_all_that_its_terminus_has_put_before_it) {
  for (int round = 0; round < 30; ++round) {
    RemoteHandle handle;
    ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
    static_cast<void>(terminus.requests().fence(slot.ticket(), {}, nullptr, &handle));
    bob.core.inhibit_puts(slot.index());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(put(slot.ticket(), pattern(40, 1), {.offset = 1024}), Status::ok);
    EXPECT_EQ(fence(slot.ticket()).cause, Refusal::hold_full) << round;
    rest();
    EXPECT_NE(fence(slot.ticket()).status, Status::timed_out);
    bob.core.release_puts(slot.index());
  }
}

TEST_P(PutFence, a_fence_needs_a_ticket_like_everything) {
  Ticket other = slot.ticket();
  other.generation += 1;
  EXPECT_EQ(fence(other).cause, Refusal::stale_generation);
  other = slot.ticket();
  other.key += 1;
  EXPECT_EQ(fence(other).cause, Refusal::bad_key);
  EXPECT_EQ(fence(Ticket{}).status, Status::invalid);
  TestSlot closed{bob, area, queue, {.fetches = true}};
  EXPECT_EQ(fence(closed.ticket()).cause, Refusal::mode_forbids);
}

INSTANTIATE_TEST_SUITE_P(fabric, PutFence, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
