// Messages to posted buffers (paper 2, section 3.1): each takes the oldest buffer, whatever its length.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "test/conformance/conformance.h"
#include "test/simulation/books/owned_posted_slot.h"

namespace hamlyn::test {
namespace {

using interface::EntryState;
using interface::Operation;
using interface::Packet;
using interface::PostedPart;
using interface::Terminus;
using simulation::OwnedPostedSlot;

class Posted : public Conformance {
 protected:
  static constexpr std::size_t kBuffer = 8192;

  std::span<std::byte> buffer(std::size_t which, std::size_t length = kBuffer) {
    return std::span(memory).subspan(which * kBuffer, length);
  }
  void post(OwnedPostedSlot& slot, std::size_t which, std::size_t length = kBuffer) {
    ASSERT_EQ(slot.post(buffer(which, length), which), Status::ok);
  }
  // Bytes of a message that may be pending for as long as the test.
  std::span<const std::byte> kept(std::size_t length, std::uint64_t seed) {
    return sent_.emplace_back(pattern(length, seed));
  }
  Status end_of(Terminus& terminus, const SendHandle& handle) {
    until([&] { return terminus.status(handle) != Status::pending; });
    return terminus.status(handle);
  }
  Status send(Terminus& terminus, const Ticket& ticket, std::span<const std::byte> data,
              std::uint64_t word = 0) {
    SendHandle handle;
    const Status status = terminus.send_posted(ticket, data, word, {.acknowledged = true}, &handle);
    return status == Status::pending ? end_of(terminus, handle) : status;
  }
  // A packet of a message that nobody has sent.
  static Packet part_of(const Ticket& ticket, const PostedPart& part,
                        Operation operation = Operation::write) {
    Packet packet{};
    set_lead(packet, operation, part.length, 0);
    set_slot(packet, ticket);
    set_posted(packet, part);
    return packet;
  }
  void arrives(const Packet& packet) {
    inject(packet);
    rest();
  }
  // Forgets what was told of refusals.
  std::optional<Notification> told() {
    while (const auto n = take(bob, queue)) {
      if (!of_refusals(*n)) return n;
    }
    return std::nullopt;
  }
  std::uint32_t posted_under_way() {
    const auto& all = alice.core.find_link(bob.id)->posted_under_way;
    return std::accumulate(all.begin(), all.end(), 0u);
  }
  static bool keeps_order() { return std::string(GetParam().name) != "sim"; }
  // Where packets overtake one another, another of the message may have been refused first.
  static void expect_cause(Refusal got, Refusal cause, std::size_t length) {
    const bool overtaken = length > kMtu && !keeps_order() && got == Refusal::stale_message;
    EXPECT_TRUE(got == cause || overtaken) << name(got);
  }
  bool untouched() const {
    return std::ranges::all_of(memory, [](std::byte each) { return each == std::byte{0xEE}; });
  }

  std::vector<std::byte> memory = std::vector<std::byte>(32 * kBuffer, std::byte{0xEE});

 private:
  std::deque<std::vector<std::byte>> sent_;
};

TEST_P(Posted, take_messages_of_any_length_with_the_senders_word) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  Terminus terminus(alice.core, 4);
  std::uint64_t word = 0x0123456789ABCDEFu;
  for (const std::size_t length : {0u, 1u, 15u, 16u, 17u, 100u, 1024u, 1025u, 5000u, 8192u}) {
    post(slot, 0);
    const auto data = pattern(length, length);
    ASSERT_EQ(send(terminus, slot.ticket(), data, ++word), Status::ok) << length;
    const Notification n = next();
    EXPECT_EQ(n.kind, Notification::Kind::message);
    EXPECT_FALSE(n.fast);
    EXPECT_EQ(n.slot, slot.number());
    EXPECT_EQ(n.offset, 0u) << "the buffer's number";
    EXPECT_EQ(n.length, length);
    EXPECT_EQ(n.word, word);
    EXPECT_EQ(n.peer, alice.id);
    EXPECT_TRUE(same(buffer(0, length), data));
    std::fill(memory.begin(), memory.end(), std::byte{0xEE});
  }
}

TEST_P(Posted, are_taken_oldest_first_and_keep_their_numbers) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 8});
  Terminus terminus(alice.core, 16);
  for (const std::size_t which : {5u, 2u, 7u}) post(slot, which);
  EXPECT_EQ(slot.posted(), 3u);
  for (const std::size_t which : {5u, 2u, 7u}) {
    ASSERT_EQ(send(terminus, slot.ticket(), pattern(100, which)), Status::ok);
    EXPECT_EQ(next().offset, which);
    EXPECT_TRUE(same(buffer(which, 100), pattern(100, which)));
  }
  EXPECT_EQ(slot.posted(), 0u);
}

TEST_P(Posted, scatter_a_message_over_their_pieces) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  Terminus terminus(alice.core, 4);
  for (const std::size_t length : {3u, 16u, 20u, 1500u, 2900u}) {
    std::vector<std::span<std::byte>> pieces;
    std::size_t at = 0, sum = 0;
    for (const std::size_t piece : {0u, 1u, 2u, 13u, 700u, 0u, 1300u, 884u}) {
      pieces.push_back(std::span(memory).subspan(at, piece));
      at += piece + 64;
      sum += piece;
    }
    ASSERT_EQ(sum, 2900u);
    ASSERT_EQ(slot.post(pieces, 9), Status::ok);
    const auto data = pattern(length, length);
    ASSERT_EQ(send(terminus, slot.ticket(), data), Status::ok);
    EXPECT_EQ(next().length, length);
    std::vector<std::byte> read;
    for (const auto piece : pieces) read.insert(read.end(), piece.begin(), piece.end());
    EXPECT_TRUE(same(std::span(read).first(length), data));
    EXPECT_TRUE(std::ranges::all_of(read.begin() + static_cast<std::ptrdiff_t>(length), read.end(),
                                    [](std::byte each) { return each == std::byte{0xEE}; }));
    for (std::size_t gap = 0, i = 0; i < pieces.size(); ++i) {
      gap += pieces[i].size();
      EXPECT_EQ(memory[gap + 63], std::byte{0xEE}) << "nothing lands between pieces";
      gap += 64;
    }
    std::fill(memory.begin(), memory.end(), std::byte{0xEE});
  }
}

TEST_P(Posted, go_to_several_senders_each_message_whole) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 16});
  std::vector<std::unique_ptr<Terminus>> termini;
  for (std::size_t i = 0; i < 12; ++i)
    termini.push_back(std::make_unique<Terminus>(i % 2 == 0 ? alice.core : carol.core, 4));
  for (std::size_t i = 0; i < 12; ++i) post(slot, i);
  std::vector<std::vector<std::byte>> sent;
  for (std::size_t i = 0; i < 12; ++i) sent.push_back(pattern(3000 + 400 * i, i));
  for (std::size_t i = 0; i < 12; ++i) {
    const Status status = termini[i]->send_posted(slot.ticket(), sent[i], i, {}, nullptr);
    ASSERT_TRUE(status == Status::ok || status == Status::pending);
  }
  std::map<std::uint64_t, std::uint64_t> buffer_of;
  for (std::size_t i = 0; i < 12; ++i) {
    const Notification n = next();
    ASSERT_EQ(n.kind, Notification::Kind::message);
    ASSERT_LT(n.word, 12u);
    EXPECT_EQ(n.length, sent[n.word].size());
    EXPECT_TRUE(buffer_of.emplace(n.offset, n.word).second) << "each buffer has one message";
    EXPECT_TRUE(same(buffer(n.offset, n.length), sent[n.word]));
  }
  EXPECT_EQ(bob.core.find_link(alice.id)->lost_messages.empty(), true);
}

// An honest sender begins no more messages of several packets than a receiver lets a link fill buffers with.
// (Where packets overtake one another more may be under way: no link of the product lets them.)
TEST_P(Posted, may_be_wanted_by_more_messages_of_one_process_than_a_link_fills_at_a_time) {
  const std::size_t many = interface::kPostedUnderWay + (keeps_order() ? 8 : 0);
  OwnedPostedSlot slot(bob, queue, {.buffers = 64});
  std::vector<std::unique_ptr<Terminus>> termini;
  for (std::size_t i = 0; i < many; ++i) termini.push_back(std::make_unique<Terminus>(alice.core, 4));
  for (std::size_t i = 0; i < many; ++i) post(slot, i);
  const auto data = pattern(kBuffer, 1);
  for (auto& terminus : termini) {
    const Status status = terminus->send_posted(slot.ticket(), data, 0, {}, nullptr);
    ASSERT_TRUE(status == Status::ok || status == Status::pending);
  }
  for (std::size_t i = 0; i < many; ++i) {
    const Notification n = next();
    ASSERT_EQ(n.kind, Notification::Kind::message);
    EXPECT_TRUE(same(buffer(n.offset), data));
  }
  EXPECT_EQ(posted_under_way(), 0u);
}

TEST_P(Posted, that_are_missing_are_told_to_who_asks) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  Terminus terminus(alice.core, 8);
  for (const std::size_t length : {8u, 5000u}) {
    SendHandle handle;
    ASSERT_EQ(terminus.send_posted(slot.ticket(), kept(length, 1), 0, {.acknowledged = true}, &handle),
              Status::pending);
    EXPECT_EQ(end_of(terminus, handle), Status::refused);
    expect_cause(terminus.refusal(handle), Refusal::no_buffer, length);
    rest();
  }
  EXPECT_GE(bob.refused(Refusal::no_buffer), 2u);
  EXPECT_FALSE(told().has_value());
  post(slot, 3);
  EXPECT_EQ(send(terminus, slot.ticket(), pattern(8, 2)), Status::ok) << "it does not halt unless it is to";
  EXPECT_EQ(told()->offset, 3u);
  EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
}

TEST_P(Posted, that_are_too_short_stay_for_the_next_message) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  Terminus terminus(alice.core, 8);
  post(slot, 0, 100);
  for (const std::size_t length : {101u, 5000u}) {
    SendHandle handle;
    ASSERT_EQ(terminus.send_posted(slot.ticket(), kept(length, 1), 0, {.acknowledged = true}, &handle),
              Status::pending);
    EXPECT_EQ(end_of(terminus, handle), Status::refused);
    expect_cause(terminus.refusal(handle), Refusal::too_long, length);
    rest();
  }
  EXPECT_TRUE(untouched());
  EXPECT_EQ(slot.posted(), 1u);
  EXPECT_EQ(send(terminus, slot.ticket(), pattern(100, 2)), Status::ok);
  EXPECT_EQ(told()->length, 100u);
}

TEST_P(Posted, halt_their_slot_so_that_nothing_overtakes_the_message_that_had_none) {
  for (const bool short_buffer : {false, true}) {
    OwnedPostedSlot slot(bob, queue, {.buffers = 4, .halts = true});
    Terminus terminus(alice.core, 8);
    if (short_buffer) post(slot, 0, 8);
    const Refusal cause = short_buffer ? Refusal::too_long : Refusal::no_buffer;
    EXPECT_EQ(send(terminus, slot.ticket(), pattern(16, 1)), Status::refused);
    const auto halted = told();
    ASSERT_TRUE(halted.has_value());
    EXPECT_EQ(halted->kind, Notification::Kind::halted);
    EXPECT_EQ(halted->cause, cause);
    EXPECT_EQ(halted->slot, slot.number());
    EXPECT_EQ(halted->peer, alice.id);
    post(slot, 1);
    for (const std::size_t length : {8u, 3000u}) {
      SendHandle handle;
      ASSERT_EQ(terminus.send_posted(slot.ticket(), kept(length, 1), 0, {.acknowledged = true}, &handle),
                Status::pending);
      EXPECT_EQ(end_of(terminus, handle), Status::refused);
      expect_cause(terminus.refusal(handle), cause, length);
    }
    rest();
    EXPECT_FALSE(told().has_value()) << "it is told of once";
    slot.resume();
    EXPECT_EQ(send(terminus, slot.ticket(), pattern(8, 1)), Status::ok);
    EXPECT_EQ(told()->offset, short_buffer ? 0u : 1u);
  }
}

TEST_P(Posted, are_told_of_once_while_a_halt_is_not_read) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4, .halts = true});
  Terminus terminus(alice.core, 8);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(send(terminus, slot.ticket(), pattern(16, 1)), Status::refused);
    slot.resume();
  }
  EXPECT_EQ(told()->kind, Notification::Kind::halted);
  EXPECT_FALSE(told().has_value());
}

TEST_P(Posted, are_as_many_as_their_slot_has_with_what_is_not_read) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 3});
  Terminus terminus(alice.core, 8);
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < 3; ++i) post(slot, i);
    EXPECT_EQ(slot.post(buffer(3), 3), Status::queue_full);
    ASSERT_EQ(send(terminus, slot.ticket(), pattern(16, 1)), Status::ok);
    EXPECT_EQ(slot.post(buffer(3), 3), Status::queue_full) << "its notification stands in the queue";
    EXPECT_EQ(next().offset, 0u);
    EXPECT_EQ(slot.post(buffer(3), 3), Status::ok);
    std::uint64_t number;
    for (const std::uint64_t expected : {1u, 2u, 3u}) {
      ASSERT_EQ(slot.take_back(number), Status::ok);
      EXPECT_EQ(number, expected);
    }
    EXPECT_EQ(slot.take_back(number), Status::not_ready);
  }
  std::vector<std::span<std::byte>> many(17, buffer(0, 1));
  EXPECT_EQ(slot.post(many, 0), Status::invalid);
  EXPECT_EQ(slot.post(buffer(0), std::uint64_t{1} << 63), Status::invalid);
  const std::array<std::span<std::byte>, 2> long_ones{std::span(memory.data(), 0xFFFFFFFFu), buffer(0, 1)};
  EXPECT_EQ(slot.post(long_ones, 0), Status::too_long);
}

TEST_P(Posted, fail_when_the_link_that_fills_them_ends) {
  if (GetParam().oneself) GTEST_SKIP() << "its one link is both ends'";
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  post(slot, 0);
  post(slot, 1);
  arrives(part_of(slot.ticket(), {.at = 0, .length = 16, .total = 40, .message = 7, .word = 1}));
  EXPECT_EQ(slot.posted(), 1u);
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  rest();
  std::optional<Notification> failed;
  while (const auto n = take(bob, queue)) {
    if (n->kind == Notification::Kind::failed) failed = n;
  }
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->failure(), Failure::link_ended);
  EXPECT_EQ(failed->offset, 0u);
  EXPECT_EQ(failed->slot, slot.number());
  // Both of its buffers are the owner's: one to post again, one to take back.
  for (std::size_t i = 2; i < 5; ++i) post(slot, i);
  EXPECT_EQ(slot.post(buffer(5), 5), Status::queue_full);
}

TEST_P(Posted, fail_when_their_sender_gives_up) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  std::vector<std::byte> large = pattern(4u << 20, 1), room(4u << 20);
  ASSERT_EQ(slot.post(room, 77), Status::ok);
  Terminus terminus(alice.core, 4);
  SendHandle handle;
  ASSERT_EQ(terminus.send_posted(slot.ticket(), large, 0, {}, &handle), Status::pending);
  turns(20);
  ASSERT_EQ(terminus.cancel(handle), Status::ok);
  const Notification failed = next();
  EXPECT_EQ(failed.failure(), Failure::abandoned);
  EXPECT_EQ(failed.offset, 77u);
  rest();
  EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
  EXPECT_EQ(posted_under_way(), 0u);
  post(slot, 1);
  EXPECT_EQ(send(terminus, slot.ticket(), pattern(3000, 3)), Status::ok);
  EXPECT_EQ(told()->offset, 1u);
}

// Whatever comes first of a message of which a part is given up: a buffer that is posted later takes nothing
// of it.
TEST_P(Posted, take_nothing_that_is_late) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 2});
  const Ticket ticket = slot.ticket();
  Packet abandon = part_of(ticket, {.at = 0, .length = 0, .total = 48, .message = 7});
  set_lead(abandon, Operation::abandon, 0, 0);
  set_entry(abandon, ticket.entry, 16);  // bytes that will not come
  const std::array<Packet, 3> packets{part_of(ticket, {.at = 0, .length = 16, .total = 48, .message = 7}),
                                      part_of(ticket, {.at = 16, .length = 16, .total = 48, .message = 7}),
                                      abandon};
  std::array<std::size_t, 3> order{0, 1, 2};
  do {
    if (keeps_order() && order[0] == 1) continue;  // no packet of an honest sender comes so
    post(slot, 0);
    for (const std::size_t which : order) arrives(packets[which]);
    EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
    const auto failed = told();
    if (order[0] == 2) {
      EXPECT_FALSE(failed.has_value()) << "it was given up before any of it had come";
      std::uint64_t number;
      EXPECT_EQ(slot.take_back(number), Status::ok);
    } else {
      ASSERT_TRUE(failed.has_value());
      EXPECT_EQ(failed->failure(), Failure::abandoned);
    }
    EXPECT_FALSE(told().has_value());
  } while (std::ranges::next_permutation(order).found);
}

TEST_P(Posted, begin_with_the_first_packet_where_links_keep_the_order) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 2});
  post(slot, 0);
  arrives(part_of(slot.ticket(), {.at = 16, .length = 16, .total = 48, .message = 7}));
  EXPECT_EQ(slot.posted(), keeps_order() ? 1u : 0u) << "it could never be whole";
}

TEST_P(Posted, refuse_what_no_sender_sends) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  Area area{4096};
  TestSlot other(bob, area, queue, {.entries = 2});
  post(slot, 0);
  const Ticket ticket = slot.ticket();
  struct Case {
    const char* what;
    Packet packet;
    Refusal cause;
  };
  Ticket guessed = ticket;
  ++guessed.key;
  Ticket stale = ticket;
  --stale.generation;
  Ticket not_posted = other.ticket(0);
  Packet with_metadata = part_of(ticket, {.length = 8, .total = 8});
  set_lead(with_metadata, Operation::write, 8, 8);
  Packet of_entry = hand_made(ticket, 16);
  set_entry(of_entry, 0, 0);
  of_entry.word = interface::message_word(7, slot.record().entries[0].incarnation);
  Packet fast = hand_made(ticket, 16);
  set_entry(fast, interface::kNoEntry, 0);
  Packet open = hand_made(ticket, 0);
  set_lead(open, Operation::open, 0, 0);
  Packet get = hand_made(ticket, 0);
  set_lead(get, Operation::get, 0, 0);
  get.delta = 8;
  const Case cases[] = {
      {"a guessed key", part_of(guessed, {.length = 8, .total = 8}), Refusal::bad_key},
      {"an old generation", part_of(stale, {.length = 8, .total = 8}), Refusal::stale_generation},
      {"a slot without buffers", part_of(not_posted, {.length = 8, .total = 8}), Refusal::bad_entry},
      {"metadata", with_metadata, Refusal::malformed},
      {"nothing of something", part_of(ticket, {.at = 0, .length = 0, .total = 8}), Refusal::malformed},
      {"more than there is", part_of(ticket, {.at = 0, .length = 16, .total = 8}), Refusal::malformed},
      {"beyond its end", part_of(ticket, {.at = 8, .length = 16, .total = 20}), Refusal::malformed},
      {"an entry by its number", of_entry, Refusal::out_of_bounds},
      {"fast mode", fast, Refusal::mode_forbids},
      {"an opening", open, Refusal::mode_forbids},
      {"a get", get, Refusal::out_of_bounds},
  };
  for (const Case& each : cases) {
    const std::uint64_t before = bob.refused(each.cause);
    arrives(each.packet);
    EXPECT_EQ(bob.refused(each.cause), before + 1) << each.what;
    EXPECT_EQ(slot.posted(), 1u) << each.what;
  }
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(told().has_value());
}

TEST_P(Posted, that_are_being_filled_refuse_other_lengths_and_their_own_number) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  post(slot, 0);
  post(slot, 1);
  const Ticket ticket = slot.ticket();
  arrives(part_of(ticket, {.at = 0, .length = 16, .total = 48, .message = 7}));
  const std::uint64_t malformed = bob.refused(Refusal::malformed);
  arrives(part_of(ticket, {.at = 16, .length = 16, .total = 5000, .message = 7}));
  EXPECT_EQ(bob.refused(Refusal::malformed), malformed + 1);
  // The entry that it fills has a number, by which nobody may name it.
  Packet by_number = hand_made(ticket, 16);
  set_entry(by_number, 0, 1);
  for (const Operation operation : {Operation::write, Operation::abandon}) {
    for (const std::uint32_t length : {0u, 16u}) {
      if (operation == Operation::abandon && length != 0) continue;
      const Refusal cause = length == 0 ? Refusal::entry_not_armed : Refusal::out_of_bounds;
      const std::uint64_t before = bob.refused(cause);
      set_lead(by_number, operation, length, 0);
      by_number.word = interface::message_word(operation == Operation::abandon ? 8 : 7,
                                               slot.record().entries[0].incarnation);
      arrives(by_number);
      EXPECT_EQ(bob.refused(cause), before + 1);
    }
  }
  // Bytes that come again and again never reach beyond the message.
  arrives(part_of(ticket, {.at = 16, .length = 16, .total = 48, .message = 7}));
  arrives(part_of(ticket, {.at = 16, .length = 16, .total = 48, .message = 7}));
  const auto whole = told();
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->length, 48u);
  EXPECT_TRUE(std::ranges::all_of(std::span(memory).subspan(48),
                                  [](std::byte each) { return each == std::byte{0xEE}; }));
}

TEST_P(Posted, are_filled_by_so_many_messages_of_one_link_and_no_more) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 30});
  for (std::size_t i = 0; i < 30; ++i) post(slot, i);
  const std::uint64_t before = bob.refused(Refusal::over_budget);
  for (std::uint32_t i = 0; i < 20; ++i)
    arrives(part_of(slot.ticket(), {.at = 0, .length = 16, .total = 32, .message = 100 + i}));
  EXPECT_EQ(bob.refused(Refusal::over_budget), before + 20 - interface::kPostedUnderWay);
  EXPECT_EQ(slot.posted(), 30 - interface::kPostedUnderWay);
  if (GetParam().oneself) return;
  Terminus terminus(carol.core, 4);
  EXPECT_EQ(send(terminus, slot.ticket(), pattern(3000, 3)), Status::ok) << "others are not held up";
}

TEST_P(Posted, are_no_ones_when_their_slot_or_its_key_has_gone) {
  Terminus terminus(alice.core, 8);
  Ticket old;
  {
    OwnedPostedSlot slot(bob, queue, {.buffers = 4});
    post(slot, 0);
    old = slot.ticket();
    slot.change_key();
    EXPECT_EQ(send(terminus, old, pattern(16, 1)), Status::refused);
    EXPECT_EQ(send(terminus, slot.ticket(), pattern(16, 1)), Status::ok);
    // In the middle of an acknowledged message.
    post(slot, 1);
    ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
    arrives(part_of(slot.ticket(), {.at = 0, .length = 16, .total = 48, .message = 7},
                    Operation::write_acknowledged));
    EXPECT_EQ(bob.core.find_link(alice.id)->acknowledgements.promised_count, 1u);
    old = slot.ticket();
  }
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u) << "it was told";
  const auto n = told();
  ASSERT_TRUE(n.has_value());
  EXPECT_EQ(n->offset, 0u) << "what stands in the queue stays";
  EXPECT_EQ(send(terminus, old, pattern(16, 1)), Status::refused);
}

TEST_P(Posted, that_are_being_filled_fail_when_the_key_changes) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  post(slot, 0);
  ASSERT_TRUE(alice.core.find_link(bob.id)->acknowledgements.await(7));
  arrives(part_of(slot.ticket(), {.at = 0, .length = 16, .total = 48, .message = 7},
                  Operation::write_acknowledged));
  slot.change_key();
  const auto failed = told();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->failure(), Failure::abandoned);
  EXPECT_EQ(failed->offset, 0u);
  EXPECT_EQ(failed->peer, alice.id);
  rest();
  EXPECT_EQ(alice.core.find_link(bob.id)->acknowledgements.awaited_count, 0u) << "its sender was told";
  for (std::size_t i = 0; i != 4; ++i) post(slot, i);
}

TEST_P(Posted, tell_their_queue_of_the_ends_of_links) {
  if (GetParam().oneself) GTEST_SKIP() << "its one link is both ends'";
  interface::Queue* const other = bob.core.make_queue(16);
  {
    OwnedPostedSlot slot(bob, other, {.buffers = 4});
    fabric->kill(alice, bob);
    fabric->end(bob, alice);
    const auto ended = take(bob, other);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->kind, Notification::Kind::link_ended);
    EXPECT_EQ(ended->peer, alice.id);
    EXPECT_FALSE(take(bob, other).has_value()) << "once";
  }
  EXPECT_TRUE(bob.core.drop_queue(other));
}

// The short way lends a handle the number of a free entry: where there is none it is not taken.
TEST_P(Posted, are_sent_to_the_long_way_while_all_entries_await_acknowledgements) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  for (std::size_t i = 0; i != 4; ++i) post(slot, i);
  Terminus terminus(alice.core, 1);
  SendHandle handle;
  until([&] { return terminus.send_posted(slot.ticket(), kept(8, 1), 0, {}, &handle) == Status::ok; });
  const bool local = alice.core.find_link(bob.id)->local() != nullptr;
  EXPECT_EQ(terminus.cached_posted(slot.ticket()) != nullptr, local);
  ASSERT_EQ(terminus.send_posted(slot.ticket(), kept(8, 1), 0, {.acknowledged = true}, &handle),
            Status::pending);
  EXPECT_EQ(terminus.cached_posted(slot.ticket()), nullptr);
  EXPECT_EQ(terminus.send_posted(slot.ticket(), kept(8, 1), 0, {}, nullptr), Status::queue_full);
  EXPECT_EQ(end_of(terminus, handle), Status::ok);
  EXPECT_EQ(terminus.cached_posted(slot.ticket()) != nullptr, local);
}

TEST_P(Posted, senders_are_refused_what_cannot_be) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 4});
  Area area{4096};
  TestSlot other(bob, area, queue, {.entries = 2});
  Terminus terminus(alice.core, 8);
  const std::array<std::byte, 4> some{};
  EXPECT_EQ(terminus.send_posted(other.ticket(0), some, 0, {}, nullptr), Status::invalid);
  EXPECT_EQ(terminus.send_posted(slot.ticket(), some, 0, {.offset = 4}, nullptr), Status::invalid);
  EXPECT_EQ(terminus.send_posted(slot.ticket(), some, 0, {.metadata = some}, nullptr), Status::invalid);
  EXPECT_EQ(terminus.send_posted(slot.ticket(), some, 0, {.element = 4}, nullptr), Status::invalid);
  EXPECT_EQ(terminus.send_posted(slot.ticket(), {some.data(), std::size_t{1} << 32}, 0, {}, nullptr),
            Status::too_long);
  EXPECT_EQ(terminus.send(slot.ticket(), some, {}, nullptr), Status::invalid);
  EXPECT_EQ(terminus.send_fast(slot.ticket(), some, 0, 0), Status::invalid);
  EXPECT_EQ(terminus.put(slot.ticket(), some, {}, nullptr), Status::invalid);
}

// The owner that polls takes messages as they come, without their standing in the queue; others find them
// there. Both in the order in which they were sent.
TEST_P(Posted, are_filled_in_the_order_of_the_sends) {
  OwnedPostedSlot slot(bob, queue, {.buffers = 16});
  Terminus terminus(alice.core, 32);
  std::uint64_t sent = 0, got = 0, next_buffer = 0;
  for (int round = 0; round < 50; ++round) {
    while (slot.post(buffer(next_buffer % 16), next_buffer) == Status::ok) ++next_buffer;
    for (int i = 0; i < 8; ++i) {
      const auto data = pattern(round % 3 == 0 ? 8 : 1500, sent);
      SendHandle handle;
      const Status status = terminus.send_posted(slot.ticket(), data, sent, {}, &handle);
      ASSERT_TRUE(status == Status::ok || end_of(terminus, handle) == Status::ok);
      ++sent;
    }
    for (int i = 0; i < 8; ++i) {
      const Notification n = next();
      ASSERT_EQ(n.kind, Notification::Kind::message);
      if (keeps_order()) {
        EXPECT_EQ(n.word, got);
        EXPECT_EQ(n.offset, got);
      }
      EXPECT_TRUE(same(buffer(n.offset % 16, n.length), pattern(n.length, n.word)));
      ++got;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(fabric, Posted, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
