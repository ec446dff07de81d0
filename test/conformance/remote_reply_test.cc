// Replies that are made up, come twice, or come when what they are for has gone, on every fabric.
#include "test/conformance/remotes.h"

namespace hamlyn::test {
namespace {

using interface::kOutstanding;
using interface::kRequestPlaces;
using interface::Operation;
using interface::Terminus;

constexpr int kUntilDead = 60'000;  // times that time passes

class RemoteReply : public Remotes {
 protected:
  // Asks for more than a link takes at a time.
  void ask_for_much(RemoteHandle* last = nullptr) {
    for (std::uint32_t i = 0; i < kOutstanding; ++i) {
      RemoteHandle handle;
      ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 65536}, {}, nullptr, &handle), Status::pending);
      if (last != nullptr) *last = handle;
    }
  }
};

TEST_P(RemoteReply, replies_that_nobody_asked_for_do_nothing) {
  const std::uint64_t ok = kFirst + kRequestPlaces;  // a number that the next request will not have
  std::uint64_t sent = 0;
  for (const std::uint64_t word : {kFirst, ok, ~std::uint64_t{0}, std::uint64_t{1} << 32}) {
    forge(bob, Operation::fetched, word, 8);
    forge(bob, Operation::get_data, word, 16);
    forge(bob, Operation::refused_request, word, 0, 0, 1);
    sent += 3;
    EXPECT_EQ(unasked(), sent);
  }
  EXPECT_EQ(landed(), 0u);
  EXPECT_EQ(alice.refused_in_all(), sent);
  EXPECT_EQ(fetch(slot.ticket(), {.operand = 1}).status, Status::ok);
}

TEST_P(RemoteReply, replies_beside_what_was_asked_for_do_nothing) {
  RemoteHandle handle;
  ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 1000, 600}, {}, nullptr, &handle), Status::pending);
  const std::uint64_t id = kFirst;
  struct Lie {
    Operation operation;
    std::uint64_t word;
    std::size_t length;
    std::uint64_t offset;
    std::uint32_t delta;
  };
  const Lie lies[] = {
      {Operation::fetched, id, 8, 0, 0},  // of another kind
      {Operation::get_data, id, 255, 0, 0},
      {Operation::get_data, id, 0, 0, 0},
      {Operation::get_data, id, 256, 1, 0},
      {Operation::get_data, id, 256, 512, 0},  // 88 belong there
      {Operation::get_data, id, 87, 512, 0},
      {Operation::get_data, id, 89, 512, 0},
      {Operation::get_data, id, 256, 768, 0},  // beyond
      {Operation::get_data, id, 256, 600, 0},
      {Operation::get_data, id, 256, ~std::uint64_t{0} - 255, 0},
      {Operation::get_data, id, 256, std::uint64_t{1} << 32, 0},
      {Operation::get_data, id + 1, 256, 0, 0},
      {Operation::get_data, id + kRequestPlaces, 256, 0, 0},
      {Operation::get_data, id | std::uint64_t{1} << 40, 256, 0, 0},
      {Operation::refused_request, id, 0, 0, 0},
      {Operation::refused_request, id, 0, 0, static_cast<std::uint32_t>(Refusal::count)},
      {Operation::refused_request, id, 0, 0, ~std::uint32_t{0}},
      {Operation::refused_request, id, 0, 601, 1},
      {Operation::refused_request, id, 0, ~std::uint64_t{0}, 1},
  };
  std::uint64_t sent = 0;
  for (const Lie& lie : lies) {
    forge(bob, lie.operation, lie.word, lie.length, lie.offset, lie.delta);
    EXPECT_EQ(unasked(), ++sent) << lie.length << " at " << lie.offset;
  }
  EXPECT_EQ(landed(), 0u);
  // The whole of it in one cell, as only a short one may be.
  interface::Packet cell {};
  set_lead(cell, Operation::got, interface::kInlineData, 0);
  interface::set_word(cell, interface::kSlotWord, id);
  interface::Link* const link = bob.core.find_link(alice.id);
  ASSERT_TRUE(until([&] { return link->put_reply(cell, cell.data) != Status::queue_full; }));
  rest_of(alice);
  EXPECT_EQ(unasked(), ++sent);
  EXPECT_EQ(landed(), 0u);
  // By another link than the one asked.
  forge(carol, Operation::get_data, id, 256, 0);
  forge(carol, Operation::refused_request, id, 0, 0, 1);
  EXPECT_EQ(unasked(), sent += 2);
  EXPECT_EQ(landed(), 0u);
  EXPECT_EQ(asks.outcome(handle).status, Status::pending);
  // A piece comes once. (This one is a lie as well, but one that bob may tell: it is he who was asked.)
  forge(bob, Operation::get_data, id, 256, 256);
  EXPECT_EQ(unasked(), sent);
  EXPECT_EQ(landed(), 256u);
  forge(bob, Operation::get_data, id, 256, 256);
  EXPECT_EQ(unasked(), ++sent);
  // Nor is it taken back.
  forge(bob, Operation::refused_request, id, 0, 255, 1);
  EXPECT_EQ(unasked(), ++sent);
  // Bob's honest answer brings it again, and it hurts nobody but him: the rest of his lies is taken.
  forge(bob, Operation::get_data, id, 256, 0);
  forge(bob, Operation::get_data, id, 88, 512);
  EXPECT_EQ(asks.outcome(handle).status, Status::ok);
  rest();
  EXPECT_EQ(unasked(), sent + 1);
  EXPECT_EQ(own.data()[999], std::byte{0xEE});
  EXPECT_EQ(own.data()[1600], std::byte{0xEE});
}

TEST_P(RemoteReply, an_answer_counts_once) {
  const Outcome outcome = fetch(slot.ticket(), {.operand = 1});
  EXPECT_EQ(outcome.status, Status::ok);
  for (const std::uint64_t word : {kFirst, kFirst + 1, kFirst + kRequestPlaces})
    forge(bob, Operation::fetched, word, 8);
  EXPECT_EQ(unasked(), 3u);
  RemoteHandle handle;
  ASSERT_EQ(asks.fetch(slot.ticket(), {.operand = 1}, {}, nullptr, &handle), Status::pending);
  forge(bob, Operation::fetched, kFirst, 8);  // the former one's number
  EXPECT_EQ(asks.outcome(handle).status, Status::pending);
  EXPECT_EQ(end_of(handle).value, 1u);
  EXPECT_EQ(unasked(), 4u);
}

TEST_P(RemoteReply, a_key_that_is_changed_stops_a_get_in_its_middle) {
  for (const bool at_bob : {true, false}) {
    const std::uint64_t before = landed();
    RemoteHandle handle;
    ask_for_much(&handle);
    ASSERT_TRUE(until([&] { return landed() > before; }));
    ASSERT_EQ(asks.outcome(handle).status, Status::pending);
    if (at_bob) {
      slot.change_key();
    } else {
      landing.change_key();
    }
    const Outcome outcome = end_of(handle);
    EXPECT_EQ(outcome.status, at_bob ? Status::refused : Status::cancelled);
    EXPECT_EQ(outcome.cause, at_bob ? Refusal::bad_key : Refusal::none);
    rest();
    std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
  }
  EXPECT_EQ(alice.refused_in_all(), 0u) << "pieces that were late are nobody's fault";
  EXPECT_EQ(bob.refused_in_all(), bob.refused(Refusal::bad_key)) << "requests that came behind the change";
}

TEST_P(RemoteReply, nothing_lands_in_a_slot_that_has_gone) {
  auto place = std::make_unique<TestSlot>(alice, own, alices, Slot::Options{});
  RemoteHandle handle;
  ASSERT_EQ(asks.get(slot.ticket(), {place->index(), 0, 16}, {}, nullptr, &handle), Status::pending);
  place.reset();
  TestSlot next_one(alice, own, alices, {});  // in the same place of the table
  EXPECT_EQ(end_of(handle).status, Status::cancelled);
  EXPECT_EQ(landed(), 0u);
}

// As long as it waits.
TEST_P(RemoteReply, what_lands_in_memory_of_the_callers_lands_while_it_waits) {
  const std::vector<std::byte> data = pattern(1000, 3);
  std::copy(data.begin(), data.end(), area.bytes().begin());
  for (const std::size_t length : {1u, 8u, 13u, 16u, 40u, 47u, 48u, 49u, 600u}) {
    for (const bool waits : {true, false}) {
      std::vector<std::byte> into(length + 16, std::byte{0xEE});
      RemoteHandle handle;
      ASSERT_EQ(asks.get(slot.ticket(), {.length = length, .to = into.data() + 8}, {.offset = 24}, nullptr,
                         &handle),
                Status::pending);
      if (!waits) asks.give_up(asks.find(handle));
      EXPECT_EQ(end_of(handle).status, waits ? Status::ok : Status::cancelled) << length;
      std::vector<std::byte> wanted(length + 16, std::byte{0xEE});
      if (waits) std::copy_n(data.begin() + 24, length, wanted.begin() + 8);
      EXPECT_TRUE(same(into, wanted)) << length;
    }
  }
  EXPECT_EQ(unasked(), 0u);
}

// Whoever keeps the links ends it in a while.
TEST_P(RemoteReply, answers_that_a_broken_link_owes_keep_nobody_awake) {
  ask_for_much();
  interface::Link& link = *bob.core.find_link(alice.id);
  rest_of(bob);
  ASSERT_TRUE(link.answers_due()) << "it was to be more than the link takes at a time";
  link.broken = true;
  bob.core.run();
  EXPECT_TRUE(link.answers_due());
  static_cast<void>(bob.core.something_to_do());  // once: whoever wanted room there is to look
  EXPECT_FALSE(bob.core.something_to_do());
}

// On fabrics whose links end of themselves: the same.
TEST_P(RemoteReply, answers_that_a_link_owes_to_somebody_dead_keep_nobody_awake) {
  ask_for_much();
  rest_of(bob);
  ASSERT_TRUE(bob.core.find_link(alice.id)->answers_due());
  fabric->kill(alice, bob);
  rest_of(bob);
  for (int i = 0; i < kUntilDead; ++i) fabric->pass();
  bob.core.run();
  static_cast<void>(bob.core.something_to_do());  // once, likewise
  EXPECT_FALSE(bob.core.something_to_do());
  fabric->end(bob, alice);
  EXPECT_FALSE(bob.core.something_to_do());
}

TEST_P(RemoteReply, a_terminus_that_goes_leaves_nothing_behind) {
  {
    Terminus other(alice.core, 63);
    for (std::uint32_t i = 0; i < kOutstanding; ++i)
      ASSERT_EQ(other.requests().get(slot.ticket(), {landing.index(), 0, 4096}, {}, alices, nullptr),
                i < 14 ? Status::pending : Status::no_place);
  }
  EXPECT_EQ(asks.get(slot.ticket(), {landing.index(), 0, 16}, {}, alices, nullptr), Status::pending)
      << "its places in the queue came back";
  EXPECT_TRUE(until([&] { return alice.core.find_link(bob.id)->remote.asks_nothing(); }));
  rest();
  EXPECT_EQ(landed(), 16u) << "only what somebody waits for lands";
  EXPECT_EQ(alice.refused_in_all(), 0u);
}

INSTANTIATE_TEST_SUITE_P(fabric, RemoteReply, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
