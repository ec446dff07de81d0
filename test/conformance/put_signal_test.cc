// Signals: of 4 and 8 bytes, of puts in another slot of that owner; and fetches without an answer that a
// fence answers for.
#include "test/conformance/puts.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;

class PutSignals : public Puts {
 protected:
  std::uint64_t word(std::size_t offset, std::size_t bytes = 8) {
    std::uint64_t value = 0;
    std::memcpy(&value, words_area.data() + offset, bytes);
    return value;
  }
  // Puts a signal in the other slot, of what this terminus has put to the first.
  Status signal(std::uint64_t value, std::uint64_t offset = 0, std::size_t bytes = 8,
                Signal how = Signal::set) {
    Status status = Status::queue_full;
    until([&] {
      status = by_words.put_signal_of(words.ticket(), std::as_bytes(std::span(&value, 1)).first(bytes),
                                      {.offset = offset, .signal = how}, terminus, slot.ticket());
      return status != Status::queue_full && status != Status::connecting;
    });
    return status;
  }
  Outcome fence_words() {
    RemoteHandle handle;
    Status status = Status::queue_full;
    until([&] {
      status = by_words.requests().fence(words.ticket(), {}, nullptr, &handle);
      return status != Status::queue_full && status != Status::connecting;
    });
    if (status != Status::pending) return {status, Refusal::none, 0};
    until([&] { return by_words.requests().outcome(handle).status != Status::pending; });
    return by_words.requests().outcome(handle);
  }
  Status update(std::uint64_t operand, std::uint64_t offset) {
    Status status = Status::queue_full;
    until([&] {
      status =
          terminus.requests().fetch(slot.ticket(), {.operand = operand},
                                    {.offset = offset, .answered = false, .fenced = true}, nullptr, nullptr);
      return status != Status::queue_full && status != Status::connecting;
    });
    return status;
  }
  static std::uint64_t opening(interface::Terminus& of, const Ticket& ticket) {
    return of.opening_of(of.credit_of(ticket));
  }

  Area words_area{4096};
  TestSlot words{bob, words_area, queue, {.fast = false, .fetches = true, .gets = 4096, .puts = true}};
  interface::Terminus by_words {
    alice.core, 63
  };
};

TEST_P(PutSignals, of_another_slot_are_never_seen_before_what_they_signal) {
  for (std::uint64_t round = 1; round <= 60; ++round) {
    const auto data = pattern(1 + round * 331 % 20000, round);
    ASSERT_EQ(put(slot.ticket(), data, {.offset = 8}), Status::ok);
    ASSERT_EQ(signal(round), Status::ok);
    ASSERT_TRUE(until([&] { return word(0) == round; }));
    ASSERT_TRUE(there(8, data));
  }
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  EXPECT_EQ(fence_words().status, Status::ok);
}

TEST_P(PutSignals, of_4_bytes_change_4_bytes) {
  std::memset(words_area.data(), 0xFF, 16);
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  ASSERT_EQ(signal(7, 4, 4), Status::ok);
  ASSERT_EQ(signal(0xFFFF'FFFF, 4, 4, Signal::add), Status::ok);
  ASSERT_EQ(fence_words().status, Status::ok);
  EXPECT_EQ(word(4, 4), 6u);
  EXPECT_EQ(word(0, 4), 0xFFFF'FFFFu);
  EXPECT_EQ(word(8, 4), 0xFFFF'FFFFu);
  EXPECT_EQ(signal(7, 2, 4), Status::misaligned);
  EXPECT_EQ(signal(7, 4, 8), Status::misaligned);
  EXPECT_EQ(signal(7, 4, 2), Status::invalid);
  EXPECT_EQ(signal(7, 4096, 4), Status::out_of_bounds);
}

TEST_P(PutSignals, of_another_slot_are_refused_until_a_fence_has_told_what_was_lost) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  bob.core.inhibit_puts(slot.index());
  ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  EXPECT_EQ(signal(1), Status::ok);
  EXPECT_EQ(fence_words().cause, Refusal::inhibited) << "what it signals waits";
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  EXPECT_EQ(signal(2), Status::ok);
  EXPECT_EQ(fence_words().cause, Refusal::hold_full);
  bob.core.release_puts(slot.index());
  EXPECT_EQ(signal(3), Status::ok);
  EXPECT_EQ(fence_words().cause, Refusal::hold_full) << "nobody has heard of it";
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::hold_full);
  EXPECT_EQ(word(0), 0u);
  EXPECT_EQ(signal(4), Status::ok);
  EXPECT_EQ(fence_words().status, Status::ok);
  EXPECT_EQ(word(0), 4u);
  // With a slot that has gone everything is that was put there.
  slot.drop();
  static_cast<void>(signal(5));  // it may be known already
  EXPECT_NE(fence_words().status, Status::pending);
  rest();
  EXPECT_EQ(word(0), 4u);
}

// Openings that a signal names are compared with those of its link.
TEST_P(PutSignals, that_are_made_by_hand_change_nothing) {
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  ASSERT_EQ(signal(1), Status::ok);
  ASSERT_EQ(fence_words().status, Status::ok);
  const std::uint64_t by = opening(by_words, words.ticket()), of = opening(terminus, slot.ticket());
  const std::uint64_t good = interface::signals_of(of);
  const auto send = [&](std::size_t length, std::uint64_t offset, std::uint64_t what, std::uint64_t named) {
    Packet packet = hand_made(words.ticket(), 0);
    set_lead(packet, Operation::put_block, length, 0);
    set_word(packet, interface::kSlotWord, interface::put_word(by, 0, false, 0));
    packet.key = named;
    packet.offset = offset;
    set_entry(packet, 0, 0);
    packet.word = what;
    inject(packet);
    rest();
    EXPECT_EQ(fence_words().status, Status::refused);
  };
  for (const std::size_t length : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{12}})
    send(length, 8, 1, 0);
  send(4, 8, 3, 0);
  send(4, 9, 2, 0);
  send(4, 10, 1, 0);
  send(4, 4096, 1, 0);
  send(8, 8, 1, good ^ 1);                             // another name
  send(8, 8, 1, good ^ 0xFF);                          // none
  send(8, 8, 1, good ^ (1u << interface::kNameBits));  // another serial
  send(8, 8, 1, interface::kSignalsOf << 1);           // not said to be one
  send(8, 8, 1, good | std::uint64_t{1} << 40);
  send(8, 8, 1, ~std::uint64_t{0});
  EXPECT_EQ(word(8), 0u);
  EXPECT_EQ(word(0), 1u);
  EXPECT_EQ(signal(2), Status::ok);
  EXPECT_EQ(fence_words().status, Status::ok);
  EXPECT_EQ(word(0), 2u);
}

// --- fetches without an answer

TEST_P(PutSignals, behind_changes_that_nobody_answers_a_fence_says_whether_they_were_done) {
  std::fill(area.bytes().begin(), area.bytes().end(), std::byte{0});
  const auto there_is = [&](std::uint64_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, area.data() + offset, sizeof value);
    return value;
  };
  for (int i = 0; i != 100; ++i) ASSERT_EQ(update(3, 8), Status::ok);
  ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
  EXPECT_EQ(there_is(8), 300u);
  bob.core.inhibit_puts(slot.index());
  ASSERT_EQ(update(3, 8), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::inhibited);
  bob.core.release_puts(slot.index());
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok) << "once";
  ASSERT_EQ(update(3, 9), Status::ok) << "where the word lies its owner knows";
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::misaligned);
  EXPECT_EQ(there_is(8), 300u);
  RemoteHandle handle;
  EXPECT_EQ(terminus.requests().fetch(slot.ticket(), {}, {.fenced = true}, nullptr, &handle), Status::invalid)
      << "with an answer there is nothing for a fence to say";
}

TEST_P(PutSignals, changes_by_hand_are_accounted_to_no_others) {
  interface::Terminus from_carol(carol.core, 63);
  const auto fence_of_carol = [&] {
    RemoteHandle handle;
    until(
        [&] { return from_carol.requests().fence(slot.ticket(), {}, nullptr, &handle) == Status::pending; });
    until([&] { return from_carol.requests().outcome(handle).status != Status::pending; });
    return from_carol.requests().outcome(handle).status;
  };
  ASSERT_EQ(put(slot.ticket(), pattern(8, 1)), Status::ok);
  until([&] { return from_carol.put(slot.ticket(), pattern(8, 1), {}, nullptr) == Status::ok; });
  ASSERT_EQ(fence_of_carol(), Status::ok);
  ASSERT_EQ(fence(slot.ticket()).status, Status::ok);
  const std::uint64_t own = opening(terminus, slot.ticket());
  Packet packet = hand_made(slot.ticket(), interface::kInlineData);
  set_lead(packet, Operation::fetch, interface::kInlineData, 0);
  packet.offset = 9;  // refused
  packet.delta = interface::fetch_delta(static_cast<std::uint32_t>(FetchOp::add), 8, false);
  for (std::uint64_t name = 0; name != 256; ++name) {
    packet.entry = interface::counting_entry((own & ~std::uint64_t{0xFF}) | name);
    if (packet.entry == interface::counting_entry(own)) continue;
    inject(packet);
  }
  rest();
  EXPECT_EQ(fence_of_carol(), Status::ok);
  EXPECT_EQ(fence(slot.ticket()).status, Status::ok);
  packet.entry = interface::counting_entry(own);
  inject(packet);
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::misaligned);
}

INSTANTIATE_TEST_SUITE_P(fabric, PutSignals, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
