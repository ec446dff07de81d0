// The notification queue alone.
#include "interface/queue.h"

#include <gtest/gtest.h>

namespace hamlyn::test {
namespace {

using interface::kNoPlaces;
using interface::Queue;

Notification completion(std::uint32_t entry) {
  Notification made;
  made.entry = entry;
  return made;
}
Notification event(Notification::Kind kind, Refusal cause, std::uint64_t peer, std::uint64_t word) {
  Notification made;
  made.kind = kind;
  made.cause = cause;
  made.peer = peer;
  made.word = word;
  return made;
}

TEST(Queue, gives_what_was_pushed_in_order_with_the_wrap_flag_once_per_turn) {
  Queue queue(16);
  queue.expect(100);
  Notification out;
  for (std::uint32_t i = 0; i < 200; ++i) {
    queue.push(completion(i), 1);
    EXPECT_EQ(queue.take(out), kNoPlaces);
    EXPECT_EQ(out.entry, i);
    EXPECT_EQ(out.wrap, i % 16 == 0);
    EXPECT_TRUE(queue.empty());
  }
}

TEST(Queue, fills_in_every_field_of_a_fast_notification) {
  Queue queue(16);
  ASSERT_EQ(queue.reserve(2), 2u);
  queue.push_fast(7, 3, 100, 16, 0xABCDEF0123456789u, 42);
  queue.push_fast(8, 4, 0, 0, 0, 43);
  Notification out;
  EXPECT_EQ(queue.take(out), 7u);
  EXPECT_EQ(out.kind, Notification::Kind::message);
  EXPECT_TRUE(out.wrap);
  EXPECT_TRUE(out.fast);
  EXPECT_EQ(out.cause, Refusal::none);
  EXPECT_EQ(out.slot, 3u);
  EXPECT_EQ(out.entry, Ticket::kFast);
  EXPECT_EQ(out.message_id, 0u);
  EXPECT_EQ(out.offset, 100u);
  EXPECT_EQ(out.length, 16u);
  EXPECT_EQ(out.word, 0xABCDEF0123456789u);
  EXPECT_EQ(out.peer, 42u);
  EXPECT_EQ(queue.take(out), 8u);
  EXPECT_FALSE(out.wrap);
}

TEST(Queue, keeps_completions_that_find_no_place_and_their_order) {
  Queue queue(16);
  queue.expect(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) queue.push(completion(i), 1);
  Notification out;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_FALSE(queue.empty());
    queue.take(out);
    EXPECT_EQ(out.entry, i);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(Queue, never_has_more_in_its_ring_than_it_has_places) {
  Queue queue(16);
  queue.expect(100);
  EXPECT_EQ(queue.reserve(1000), 14u) << "an eighth stays for completions";
  EXPECT_EQ(queue.reserve(1), 0u);
  for (std::uint32_t i = 0; i < 14; ++i) queue.push_fast(0, i, 0, 0, i, 0);
  for (std::uint32_t i = 0; i < 100; ++i) queue.push(completion(i), 1);
  Notification out;
  std::uint64_t fast = 0, counted = 0;
  while (!queue.empty()) {
    queue.take(out);
    EXPECT_EQ(out.fast ? out.word : out.entry, out.fast ? fast : counted);
    ++(out.fast ? fast : counted);
  }
  EXPECT_EQ(fast, 14u);
  EXPECT_EQ(counted, 100u);
}

TEST(Queue, what_is_released_can_be_reserved_or_used_by_what_waits) {
  Queue queue(16);
  queue.expect(20);
  ASSERT_EQ(queue.reserve(14), 14u);
  for (std::uint32_t i = 0; i < 20; ++i) queue.push(completion(i), 1);
  queue.release(14);  // now those that waited stand in the ring
  EXPECT_EQ(queue.reserve(14), 0u) << "their places are taken";
  Notification out;
  for (std::uint32_t i = 0; i < 20; ++i) queue.take(out);
  EXPECT_EQ(queue.reserve(100), 14u);
}

TEST(Queue, merges_events_that_wait_and_loses_no_end_of_a_link) {
  Queue queue(16);
  queue.expect(16);
  for (std::uint32_t i = 0; i < 16; ++i) queue.push(completion(i), 1);
  using Kind = Notification::Kind;
  EXPECT_TRUE(queue.push_event(event(Kind::protocol_error, Refusal::bad_key, 1, 3)));
  EXPECT_TRUE(queue.push_event(event(Kind::protocol_error, Refusal::bad_key, 1, 4)));
  EXPECT_TRUE(queue.push_event(event(Kind::resource_exhausted, Refusal::no_place, 1, 1)));
  EXPECT_TRUE(queue.push_event(event(Kind::link_ended, Refusal::none, 1, 1)));
  EXPECT_TRUE(queue.push_event(event(Kind::link_ended, Refusal::none, 1, 1)));
  for (std::uint64_t peer = 2; peer != 1000; ++peer)
    EXPECT_TRUE(queue.push_event(event(Kind::link_ended, Refusal::none, peer, 1)));
  // Room for 256 events, 3 of them taken by peer 1, and one for all others; but each link has refusals again.
  EXPECT_FALSE(queue.push_event(event(Kind::protocol_error, Refusal::bad_slot, 2, 1)));
  Notification out;
  for (std::uint32_t i = 0; i < 16; ++i) queue.take(out);
  queue.take(out);
  EXPECT_EQ(out.word, 7u);
  EXPECT_EQ(out.cause, Refusal::bad_key);
  queue.take(out);
  EXPECT_EQ(out.kind, Kind::resource_exhausted);
  EXPECT_EQ(out.cause, Refusal::no_place);
  for (std::uint64_t from = 1; from < 255; ++from) {
    ASSERT_FALSE(queue.empty());
    queue.take(out);
    EXPECT_EQ(out.kind, Kind::link_ended);
    EXPECT_EQ(out.peer, from);
    EXPECT_EQ(out.word, from == 1 ? 2u : 1u);
  }
  queue.take(out);
  EXPECT_EQ(out.kind, Kind::link_ended);
  EXPECT_EQ(out.peer, 0u) << "of several";
  EXPECT_EQ(out.word, 1000u - 255u);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.push_event(event(Kind::link_ended, Refusal::none, 1, 1))) << "there is room again";
}

// Slots come and go; completions of those that are gone still wait, and must not be overwritten.
TEST(Queue, loses_nothing_when_slots_come_and_go) {
  Queue queue(16);
  std::uint32_t pushed = 0, taken = 0;
  Notification out;
  for (int round = 0; round < 100; ++round) {
    queue.expect(400);
    for (int i = 0; i < 400; ++i) queue.push(completion(pushed++), 1);
    queue.expect_no_more(400);
    // So much is left that the room for events beside it would not do.
    for (int i = 0; i < (round % 2 == 0 ? 10 : 790); ++i) {
      ASSERT_FALSE(queue.empty());
      queue.take(out);
      ASSERT_EQ(out.entry, taken++);
    }
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(taken, pushed);
}

}  // namespace
}  // namespace hamlyn::test
