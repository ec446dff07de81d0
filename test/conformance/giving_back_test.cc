// Openings that are given back for others: a link holds places at 256 slots at a time, and a process may use
// as many slots of another as there are.
#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

using interface::Link;
using interface::Operation;
using interface::Terminus;

class GivingBack : public Puts {
 protected:
  static constexpr std::size_t kMany = Link::kPlacesLimit;
  static constexpr Strides kShape{.chunk = 60, .x_chunks = 1, .y_chunks = 1};

  TestSlot& make(const Slot::Options& options) {
    return *slots.emplace_back(std::make_unique<TestSlot>(bob, small, large, options));
  }
  void make(std::size_t count, const Slot::Options& options) {
    while (count-- != 0) make(options);
  }
  // Everything that has come, but for the protocol errors.
  std::vector<Notification> arrivals() {
    rest();
    std::vector<Notification> all;
    while (const auto one = take(bob, large)) {
      if (!of_refusals(*one)) all.push_back(*one);
    }
    return all;
  }
  Link& to_bob() { return *alice.core.find_link(bob.id); }
  // Asks for places at `target`, by a name that no honest sender has in use there.
  void open(const Ticket& ticket, std::uint64_t word, Party& from) {
    interface::Packet packet = hand_made(ticket, 0);
    set_lead(packet, Operation::open, 0, 0);
    packet.word = word;
    inject(packet, from, bob);
    rest();
  }
  void open(const Ticket& ticket, std::uint64_t word) { open(ticket, word, alice); }
  // Of alice's at `target`.
  const interface::ReceiveCredit* opening_of(const TestSlot& target) {
    for (const std::uint32_t record : bob.core.find_link(alice.id)->places) {
      const interface::ReceiveCredit& places = bob.core.places()[record];
      if (places.slot == target.index() && !places.over) return &places;
    }
    return nullptr;
  }

  Area small{64};
  interface::Queue* large = bob.core.make_queue(4096);
  std::vector<std::unique_ptr<TestSlot>> slots;
};

TEST_P(GivingBack, more_slots_that_last_are_used_one_after_the_other_than_are_open_at_a_time) {
  make(2 * kMany, {.places = 4, .puts = true});
  const std::vector<std::byte> data = pattern(8, 1);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      ASSERT_EQ(send_fast(terminus, slots[i]->ticket(), {}, i), Status::ok) << i;
      const Notification n = next(bob, large);
      ASSERT_EQ(n.word, i);
      ASSERT_EQ(n.slot, slots[i]->number());
      if (i % 8 != 0) continue;
      ASSERT_EQ(put(slots[i]->ticket(), data), Status::ok) << i;
      ASSERT_EQ(fence(slots[i]->ticket()).status, Status::ok) << i;
    }
  }
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_EQ(alice.refused_in_all(), 0u);
  EXPECT_EQ(bob.core.find_link(alice.id)->places.size(), kMany);
  EXPECT_LE(large->reserved(), 4 * kMany);
}

// What has left by it is not overtaken by the question that gives it back, whatever the order of the link.
TEST_P(GivingBack, loses_nothing_that_was_under_way) {
  make(2 * kMany, {.places = 8});
  std::size_t sent = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i >= kMany) {  // the one that was asked for longest ago
      for (int more = 0; more < 3; ++more)
        sent += terminus.send_fast(slots[i - kMany]->ticket(), {}, 0, 0) == Status::ok;
    }
    ASSERT_EQ(send_fast(terminus, slots[i]->ticket(), {}, 0), Status::ok) << i;
    ++sent;
  }
  EXPECT_GT(sent, slots.size());
  EXPECT_EQ(arrivals().size(), sent);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(GivingBack, is_asked_of_none_by_which_a_fence_is_to_tell_of_puts) {
  make(kMany + 1, {.fast = false, .puts = true});
  const std::vector<std::byte> data = pattern(8, 1);
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(put(slots[i]->ticket(), data), Status::ok) << i;
  EXPECT_EQ(put(slots[kMany]->ticket(), data), Status::no_place);
  EXPECT_EQ(fence(slots[7]->ticket()).status, Status::ok);
  EXPECT_EQ(put(slots[kMany]->ticket(), data), Status::ok) << "in the place of the one that was asked";
  EXPECT_EQ(put(slots[7]->ticket(), data), Status::no_place);
}

// A get of which the owner is to be told, a fence, and a put that has not left whole.
TEST_P(GivingBack, is_asked_of_none_by_which_something_is_under_way) {
  make(kMany + 1, {.places = 4, .gets = 64, .puts = true});
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(send_fast(terminus, slots[i]->ticket(), {}), Status::ok);
    next(bob, large);
  }
  Area own{4096};
  TestSlot landing(alice, own, alice.core.make_queue(16), {});
  const std::vector<std::byte> data = pattern(60, 1);
  ASSERT_EQ(terminus.put(slots[0]->ticket(), std::span(data).first(8), {}, nullptr), Status::ok);
  RemoteHandle handle;
  ASSERT_TRUE(until([&] {
    return terminus.requests().fence(slots[0]->ticket(), {}, nullptr, &handle) == Status::pending;
  }));
  ASSERT_EQ(terminus.requests().get(slots[1]->ticket(), {landing.index(), 0, 8}, {.notify = true}, nullptr,
                                    &handle),
            Status::pending);
  Terminus full(alice.core, 4);  // with what fills the link
  for (Status left = Status::ok; left == Status::ok;)
    left = full.put(slots[3]->ticket(), data, {.strides = &kShape}, nullptr);
  SendHandle sending;
  ASSERT_EQ(terminus.put(slots[2]->ticket(), data, {.strides = &kShape}, &sending), Status::pending);
  static_cast<void>(terminus.send_fast(slots[kMany]->ticket(), {}, 0, 0));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NE(interface::Core::find_credit(to_bob(), slots[i]->ticket()), nullptr) << i;
  EXPECT_EQ(interface::Core::find_credit(to_bob(), slots[4]->ticket()), nullptr);
  ASSERT_EQ(send_fast(terminus, slots[kMany]->ticket(), {}, 5), Status::ok);
  std::size_t told = 0;
  for (const Notification& n : arrivals()) told += n.kind == Notification::Kind::got;
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(GivingBack, forgets_no_put_that_was_refused) {
  TestSlot& held = make({.fast = false, .puts = true, .hold = 64});
  bob.core.inhibit_puts(held.index());
  ASSERT_EQ(put(held.ticket(), pattern(60, 1)), Status::ok);
  for (std::size_t i = 0; i < kMany + 20; ++i) {
    ASSERT_EQ(send_fast(terminus, make({.places = 2}).ticket(), {}), Status::ok) << i;
    next(bob, large);
  }
  EXPECT_EQ(fence(held.ticket()).cause, Refusal::hold_full);
}

TEST_P(GivingBack, forgets_no_put_that_may_be_lost) {
  make(kMany + 1, {.fast = false, .puts = true});
  const std::vector<std::byte> data = pattern(8, 1);
  ASSERT_EQ(put(slots[0]->ticket(), data), Status::ok);
  rest();
  bob.core.set_guests(slots[0]->index(), nullptr);  // its opening ends
  rest();
  for (std::size_t i = 1; i <= kMany; ++i) {
    ASSERT_EQ(put(slots[i]->ticket(), data), Status::ok) << i;
    ASSERT_EQ(fence(slots[i]->ticket()).status, Status::ok) << i;
  }
  EXPECT_EQ(fence(slots[0]->ticket()).cause, Refusal::stale_generation);
  EXPECT_EQ(fence(slots[0]->ticket()).status, Status::ok);
}

// The slot goes while a fence of it is under way, and another's opening may have the place of its own.
TEST_P(GivingBack, tells_nobody_of_a_slot_what_a_fence_was_answered_of_another) {
  make(kMany + 1, {.fast = false, .puts = true});
  const std::vector<std::byte> data = pattern(8, 1);
  for (std::size_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(put(slots[i]->ticket(), data), Status::ok) << i;
    if (i != 0) {
      ASSERT_EQ(fence(slots[i]->ticket()).status, Status::ok) << i;
    }
  }
  rest();
  const Ticket gone = slots[0]->ticket();
  slots[0].reset();
  bob.core.run();
  interface::Requests& requests = terminus.requests();
  RemoteHandle handle;
  ASSERT_EQ(requests.fence(gone, {}, nullptr, &handle), Status::pending);
  const interface::SendCredit& credit = *interface::Core::find_credit(to_bob(), gone);
  for (int i = 0; !credit.refused && i < 10000; ++i) {
    fabric->pass();
    alice.core.run();
  }
  ASSERT_TRUE(credit.refused);
  ASSERT_EQ(requests.outcome(handle).status, Status::pending) << "the case is not this one";
  ASSERT_EQ(terminus.ready(slots[kMany]->ticket()), Status::connecting);
  fabric->end(alice, bob);
  fabric->end(bob, alice);
  fabric->join(alice, bob);
  ASSERT_EQ(put(slots[kMany]->ticket(), data), Status::ok);
  EXPECT_EQ(fence(slots[kMany]->ticket()).status, Status::ok);
  EXPECT_EQ(fence(gone).cause, Refusal::stale_generation);
}

TEST_P(GivingBack, is_kept_from_by_no_puts_of_a_terminus_that_has_gone) {
  make(kMany + 70, {.fast = false, .puts = true});
  const std::vector<std::byte> data = pattern(8, 1);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Terminus one(alice.core, 4);
    ASSERT_TRUE(until([&] { return one.put(slots[i]->ticket(), data, {}, nullptr) == Status::ok; })) << i;
  }
  for (const auto& credit : to_bob().credits) EXPECT_EQ(credit->unfenced, 0u);
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(GivingBack, comes_by_the_level_that_was_used_and_of_two_when_all_was_taken) {
  make(kMany + 1, {.places = 8});
  Terminus urgent(alice.core, 63, Priority::urgent);
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(send_fast(urgent, slots[i]->ticket(), {}), Status::ok);
  for (int more = 0; more < 3; ++more) EXPECT_EQ(urgent.send_fast(slots[0]->ticket(), {}, 0, 0), Status::ok);
  EXPECT_EQ(send_fast(terminus, slots[kMany]->ticket(), {}), Status::ok);
  for (std::size_t i = 1; i < kMany; ++i) EXPECT_EQ(send_fast(terminus, slots[i]->ticket(), {}), Status::ok);
  EXPECT_EQ(send_fast(urgent, slots[kMany]->ticket(), {}), Status::ok);
  EXPECT_EQ(terminus.send_fast(slots[1]->ticket(), {}, 0, 0), Status::ok);
  EXPECT_EQ(urgent.send_fast(slots[1]->ticket(), {}, 0, 0), Status::ok);
  const std::uint64_t asked = to_bob().questions;
  to_bob().taken_wanted = 0;  // by those before
  EXPECT_EQ(terminus.send_fast(slots[0]->ticket(), {}, 0, 0), Status::connecting);
  EXPECT_EQ(to_bob().questions, asked) << "it could overtake what has left by the other level";
  EXPECT_FALSE(to_bob().wanted_was_taken());
  rest();
  EXPECT_EQ(to_bob().questions, asked);
  EXPECT_TRUE(to_bob().wanted_was_taken());
  EXPECT_FALSE(to_bob().wanted_was_taken()) << "nobody is kept awake by it";
  EXPECT_EQ(send_fast(terminus, slots[0]->ticket(), {}), Status::ok);
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

TEST_P(GivingBack, is_not_done_with_one_whose_notifications_stand) {
  make(kMany + 1, {.places = 2});
  for (std::size_t i = 0; i < kMany; ++i) {
    for (int twice = 0; twice < 2; ++twice)
      ASSERT_EQ(send_fast(terminus, slots[i]->ticket(), {}, i), Status::ok);
  }
  EXPECT_EQ(send_fast(terminus, slots[kMany]->ticket(), {}), Status::no_place);
  next(bob, large);
  rest();
  EXPECT_EQ(send_fast(terminus, slots[kMany]->ticket(), {}), Status::ok);
  EXPECT_EQ(arrivals().size(), 2 * kMany);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

// --- who asks as no honest sender does

TEST_P(GivingBack, gives_nobody_more_places_at_a_slot_than_it_has_for_a_link) {
  TestSlot& open_to_all = make({.places = 8});
  const Ticket ticket = open_to_all.ticket();
  Terminus from_carol(carol.core, 63);
  ASSERT_EQ(send_fast(from_carol, ticket, {}), Status::ok);  // by the same name as alice's
  next(bob, large);
  const std::size_t carols = large->reserved();
  const auto fill = [&] {
    for (int i = 0; i < 10; ++i) inject(hand_made(ticket, 0));
    rest();
  };
  for (std::uint64_t time = 0; time < 20; ++time) {
    open(ticket, time << 8 | time % 3);  // again by the same name, and by another
    fill();
    ASSERT_LE(large->reserved(), carols + 8) << time;
  }
  EXPECT_EQ(opening_of(open_to_all), nullptr) << "eight stand";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(bob, large).peer, alice.id);
  open(ticket, 100 << 8);
  ASSERT_NE(opening_of(open_to_all), nullptr);
  EXPECT_EQ(opening_of(open_to_all)->granted, 3u);
  fill();
  std::size_t from_alice = 0;
  while (const auto one = take(bob, large)) from_alice += one->kind == Notification::Kind::message;
  EXPECT_EQ(from_alice, 8u);
  rest();
  EXPECT_EQ(large->reserved(), carols + 3);
  EXPECT_EQ(send_fast(from_carol, ticket, {}, 9), Status::ok) << "nobody else's was given back";
  EXPECT_EQ(next(bob, large).word, 9u);
}

TEST_P(GivingBack, refuses_what_comes_by_an_opening_that_was_given_back) {
  TestSlot& first = make({.places = 4, .puts = true});
  TestSlot& second = make({.places = 4, .puts = true});
  ASSERT_EQ(send_fast(terminus, first.ticket(), {}), Status::ok);
  next(bob, large);
  ASSERT_EQ(put(first.ticket(), pattern(8, 1)), Status::ok);
  rest();
  const std::uint64_t opening = to_bob().credits.front()->opening;
  open(second.ticket(), 77 << 8);  // by the name of the first
  interface::Packet late = hand_made(first.ticket(), 0);
  inject(late);
  rest();
  EXPECT_EQ(bob.refused(Refusal::no_place), 1u);
  interface::Packet put {};
  set_lead(put, Operation::put, interface::kInlineData, 0);
  set_word(put, interface::kSlotWord, interface::put_word(opening, 8, false, 0));
  inject(put);
  rest();
  EXPECT_EQ(bob.refused(Refusal::stale_generation), 1u);
  EXPECT_TRUE(arrivals().empty());
  EXPECT_EQ(opening_of(first), nullptr);
  EXPECT_NE(opening_of(second), nullptr);
}

// However many ask, each is answered, and a link has as many records as a sender has names.
TEST_P(GivingBack, has_at_most_256_records_for_a_link) {
  make(4 * kMany, {.places = 1});
  for (std::size_t i = 0; i < slots.size(); ++i) {
    interface::Packet packet = hand_made(slots[i]->ticket(), 0);
    set_lead(packet, Operation::open, 0, 0);
    packet.word = i << 8 | (i * 7) % kMany;
    inject(packet);
  }
  rest();
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_LE(bob.core.find_link(alice.id)->places.size(), kMany);
  EXPECT_EQ(large->reserved(), kMany);
  EXPECT_LE(bob.core.places().size(), kMany + 8);
}

INSTANTIATE_TEST_SUITE_P(fabric, GivingBack, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
