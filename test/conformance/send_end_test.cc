// Sends whose end a queue is told of, and bytes that have landed in a slot.
#include "test/conformance/conformance.h"

namespace hamlyn::test {
namespace {

using interface::Terminus;

class SendEnds : public Conformance {
 protected:
  Status send(Terminus& from, std::span<const std::byte> bytes, std::uint64_t word, bool acknowledged,
              const Ticket& ticket) {
    return from.send(ticket, bytes, {.acknowledged = acknowledged, .word = word}, &handle, ends);
  }
  Status send(std::span<const std::byte> bytes, std::uint64_t word, bool acknowledged = true) {
    return send(terminus, bytes, word, acknowledged, slot.ticket(0));
  }
  void expect_end(Notification::Kind kind, std::uint64_t word, std::uint64_t length,
                  Refusal cause = Refusal::none) {
    const Notification end = next(alice, ends);
    EXPECT_EQ(static_cast<int>(end.kind), static_cast<int>(kind));
    EXPECT_EQ(end.word, word);
    EXPECT_EQ(end.length, length);
    EXPECT_EQ(end.cause, cause);
    EXPECT_EQ(end.peer, bob.id);
  }
  void take_message() {
    EXPECT_EQ(next().kind, Notification::Kind::message);
    ASSERT_EQ(slot.arm(0), Status::ok);
  }

  Area area{1u << 16};
  TestSlot slot{bob, area, queue, {.entries = 2}};
  interface::Queue* ends = alice.core.make_queue(4);
  Terminus terminus{alice.core, 16};
  SendHandle handle;
  const std::vector<std::byte> data = pattern(5000, 1);  // several packets
};

TEST_P(SendEnds, are_told_once_of_what_was_pending_and_of_nothing_else) {
  for (std::uint64_t word = 1; word <= 30; ++word) {
    const auto bytes = std::span(data).first(word * 150);
    ASSERT_EQ(send(bytes, word), Status::pending);
    take_message();
    expect_end(Notification::Kind::sent, word, bytes.size());
    EXPECT_EQ(terminus.status(handle), Status::ok);
  }
  ASSERT_TRUE(until([&] { return send(std::span(data).first(16), 99, false) == Status::ok; }));
  take_message();
  rest();
  EXPECT_TRUE(ends->empty()) << "its buffer was free when it was sent";
  EXPECT_EQ(ends->reserved(), 0u);
}

TEST_P(SendEnds, say_why_a_message_was_refused) {
  const Ticket old = slot.ticket(0);
  slot.change_key();
  ASSERT_EQ(send(terminus, data, 7, true, old), Status::pending);
  expect_end(Notification::Kind::send_failed, 7, data.size(), Refusal::bad_key);
  EXPECT_EQ(terminus.status(handle), Status::refused);
}

TEST_P(SendEnds, have_a_place_from_the_start) {
  // Four have one, in a queue of four; of a fifth nothing is taken.
  TestSlot many{bob, area, queue, {.entries = 16}};
  for (std::uint32_t i = 0; i != 4; ++i)
    ASSERT_EQ(send(terminus, std::span(data).first(64), i, true, many.ticket(i)), Status::pending);
  EXPECT_EQ(send(terminus, std::span(data).first(64), 4, true, many.ticket(4)), Status::no_place);
  EXPECT_EQ(handle.sequence, 0u);
  for (int i = 0; i != 4; ++i) EXPECT_EQ(next().kind, Notification::Kind::message);
  rest();
  EXPECT_TRUE(queue->empty()) << "the fifth has not come";
  EXPECT_EQ(send(terminus, std::span(data).first(64), 4, true, many.ticket(4)), Status::no_place)
      << "they have not been read";
  std::uint64_t words = 0;  // in any order
  for (int i = 0; i != 4; ++i) words += std::uint64_t{1} << 8 * next(alice, ends).word;
  EXPECT_EQ(words, 0x01010101u);
  ASSERT_EQ(send(terminus, std::span(data).first(64), 4, true, many.ticket(4)), Status::pending);
  expect_end(Notification::Kind::sent, 4, 64);
}

TEST_P(SendEnds, are_told_of_what_was_cancelled_by_hand_or_with_its_terminus) {
  ASSERT_EQ(send(data, 1), Status::pending);
  ASSERT_EQ(terminus.cancel(handle), Status::ok);
  expect_end(Notification::Kind::send_failed, 1, data.size());
  {
    Terminus short_lived(alice.core, 4);
    ASSERT_EQ(send(short_lived, data, 2, true, slot.ticket(1)), Status::pending);
  }
  expect_end(Notification::Kind::send_failed, 2, data.size());
  rest();
  EXPECT_TRUE(ends->empty());
  EXPECT_EQ(ends->reserved(), 0u);
}

TEST_P(SendEnds, are_told_to_nobody_when_the_queue_has_gone) {
  ASSERT_EQ(send(data, 1), Status::pending);
  ASSERT_TRUE(alice.core.drop_queue(ends));
  EXPECT_TRUE(until([&] { return terminus.status(handle) == Status::ok; }));
}

TEST_P(SendEnds, are_told_of_what_went_with_its_link) {
  ASSERT_EQ(send(data, 1), Status::pending);
  fabric->kill(bob, alice);
  fabric->end(alice, bob);
  expect_end(Notification::Kind::send_failed, 1, data.size());
  EXPECT_EQ(terminus.status(handle), Status::link_ended);
}

// --- bytes that have landed

TEST_P(SendEnds, of_a_slot_are_counted_by_bytes_whatever_they_came_as) {
  // More slots than rows of the counter page, each with a count of its own.
  std::vector<std::unique_ptr<TestSlot>> slots;
  for (int i = 0; i != 300; ++i)
    slots.push_back(std::make_unique<TestSlot>(
        bob, area, queue,
        SlotOptions{.entries = 1, .places = 4, .fetches = true, .gets = 4096, .puts = true}));
  const auto landed = [&](std::size_t i) { return bob.core.landed_bytes(slots[i]->index()); };
  for (const std::size_t i : {std::size_t{3}, std::size_t{298}, std::size_t{299}}) {
    SCOPED_TRACE(i);
    EXPECT_EQ(landed(i), 0u);
    std::uint64_t bytes = 0;
    const auto add = [&](std::uint64_t more) {
      bytes += more;
      EXPECT_TRUE(until([&] { return landed(i) == bytes; })) << landed(i) << " of " << bytes;
    };
    for (int n = 0; n != 20; ++n) {  // also in the short ways
      ASSERT_TRUE(until(
          [&] { return send_fast(terminus, slots[i]->ticket(), std::span(data).first(16)) == Status::ok; }));
      add(16);
      next();
    }
    ASSERT_EQ(send(terminus, data, 1, true, slots[i]->ticket(0)), Status::pending);
    add(data.size());
    next();
    next(alice, ends);
    ASSERT_TRUE(until([&] {
      const Status status = terminus.put(slots[i]->ticket(), data, {}, &handle);
      return status == Status::ok || status == Status::pending;
    }));
    add(data.size());
    ASSERT_TRUE(until([&] {
      return terminus.put(slots[i]->ticket(), std::span(data).first(40), {}, nullptr) == Status::ok;
    }));
    add(40);
    ASSERT_TRUE(until([&] {
      return terminus.requests().fetch(slots[i]->ticket(), {.operand = 1}, {.answered = false}, nullptr,
                                       nullptr) == Status::ok;
    }));
    rest();
    EXPECT_EQ(landed(i), bytes) << "a fetch brings none";
  }
  EXPECT_EQ(landed(4), 0u);
  EXPECT_EQ(landed(297), 0u);
}

INSTANTIATE_TEST_SUITE_P(fabric, SendEnds, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
