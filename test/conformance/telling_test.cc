// Puts of which a posted buffer tells: the data lands in one slot, and the oldest buffer of another says so;
// or neither happens.
#include <deque>
#include <optional>
#include <string>

#include "test/conformance/puts.h"
#include "test/simulation/books/owned_posted_slot.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using simulation::OwnedPostedSlot;

class Telling : public Puts {
 protected:
  void SetUp() override {
    Puts::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(put(slot.ticket(), pattern(8, 0), {.offset = kOpened}), Status::ok);  // the slot is open now
    rest();
  }
  void post(OwnedPostedSlot& at, std::uint64_t number = 7) { ASSERT_EQ(at.post(buffer, number), Status::ok); }
  // Until it can be taken; how it ends, if it ends later. Asks for an acknowledgement: it says why not.
  Status tell(const Ticket& to, const Ticket& of, std::span<const std::byte> data, std::uint64_t offset = 0,
              bool acknowledged = true) {
    Status status = Status::queue_full;
    until([&] {
      status =
          terminus.put_telling(to, kWord, of, data, offset, {.acknowledged = acknowledged}, &handle, nullptr);
      return status != Status::queue_full && status != Status::connecting;
    });
    if (status != Status::pending) return status;
    until([&] { return terminus.status(handle) != Status::pending; });
    return terminus.status(handle);
  }
  Refusal cause() const { return terminus.refusal(handle); }
  // The first notification of a message or a halt.
  std::optional<Notification> first_told() {
    const std::vector<Notification> all = told();
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  bool buffer_untouched() const {
    return std::ranges::all_of(buffer, [](std::byte each) { return each == kBefore; });
  }
  std::uint64_t opening() { return terminus.opening_of(terminus.credit_of(slot.ticket())); }
  static Packet by_hand(const Ticket& to, std::uint64_t where, std::size_t length,
                        Operation operation = Operation::write) {
    Packet packet{};
    set_lead(packet, operation, length, 0);
    set_slot(packet, to);
    packet.offset = where;
    set_word(packet, interface::kEntryWord, interface::telling_entry_word(kWord));
    packet.word = interface::telling_user_word(1000, kWord);
    return packet;
  }

  static constexpr std::uint64_t kWord = 0x0123456789ABCDEFu;
  static constexpr std::size_t kOpened = 65528;  // where the put lands that opens the slot
  std::vector<std::byte> buffer = std::vector<std::byte>(64, kBefore);
  SendHandle handle;
};

TEST_P(Telling, puts_land_in_one_slot_and_take_a_buffer_of_another) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 4});
  for (const bool acknowledged : {true, false}) {
    for (const std::size_t length : {0u, 1u, 8u, 16u, 17u, 48u, 1023u, 1024u, 1025u, 5000u, 40000u}) {
      post(inbox, length + 1);
      const auto data = pattern(length, length + acknowledged);
      ASSERT_EQ(tell(inbox.ticket(), slot.ticket(), data, 3, acknowledged), Status::ok) << length;
      const Notification n = next();
      EXPECT_EQ(n.kind, Notification::Kind::message);
      EXPECT_EQ(n.slot, inbox.number());
      EXPECT_EQ(n.offset, length + 1) << "the buffer's number";
      EXPECT_EQ(n.length, 0u);
      EXPECT_EQ(n.word, kWord);
      EXPECT_EQ(n.peer, alice.id);
      EXPECT_TRUE(there(3, data)) << length;
      EXPECT_TRUE(buffer_untouched());
    }
  }
  EXPECT_EQ(bob.refused_in_all(), 0u);
  EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
}

TEST_P(Telling, puts_stay_in_the_order_of_their_terminus) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 64});
  std::deque<std::vector<std::byte>> sent;
  for (std::uint64_t i = 0; i != 40; ++i) ASSERT_NO_FATAL_FAILURE(post(inbox, i));
  for (std::uint64_t i = 0; i != 40; ++i) {
    const auto& data = sent.emplace_back(pattern(i % 3 == 0 ? 3000 : 16, i));
    Status status = Status::queue_full;
    until([&] {
      status =
          i % 4 == 3
              ? terminus.send_posted(inbox.ticket(), std::span(data).first(16), i, {}, nullptr, nullptr)
              : terminus.put_telling(inbox.ticket(), i, slot.ticket(), data, i * 1600, {}, nullptr, nullptr);
      return status != Status::queue_full && status != Status::connecting;
    });
    ASSERT_TRUE(status == Status::ok || status == Status::pending);
  }
  for (std::uint64_t i = 0; i != 40; ++i) {
    const Notification n = next();
    ASSERT_EQ(n.word, i);
    ASSERT_EQ(n.offset, i);
    if (i % 4 != 3) {
      EXPECT_TRUE(there(i * 1600, std::span(sent[i]).first(std::min<std::size_t>(sent[i].size(), 1600))));
    }
  }
}

TEST_P(Telling, puts_of_a_slot_that_has_gone_take_no_buffer) {
  for (const bool halts : {false, true}) {
    for (const std::size_t length : {16u, 5000u}) {
      TestSlot window(bob, area, queue, {.fast = false, .puts = true});
      OwnedPostedSlot inbox(bob, queue, {.buffers = 4, .halts = halts});
      ASSERT_NO_FATAL_FAILURE(post(inbox));
      ASSERT_EQ(tell(inbox.ticket(), window.ticket(), {}), Status::ok);
      ASSERT_TRUE(first_told().has_value());
      ASSERT_NO_FATAL_FAILURE(post(inbox));
      const auto data = pattern(length, 1);
      // The put is on its way when the slot goes.
      const Ticket gone = window.ticket();
      const Status status = terminus.put_telling(inbox.ticket(), kWord, gone, data, 0, {.acknowledged = true},
                                                 &handle, nullptr);
      ASSERT_EQ(status, Status::pending);
      window.drop();
      until([&] { return terminus.status(handle) != Status::pending; });
      EXPECT_EQ(terminus.status(handle), Status::refused);
      EXPECT_EQ(cause(), Refusal::stale_generation);
      EXPECT_EQ(inbox.posted(), 1u);
      const auto told = first_told();
      EXPECT_EQ(told.has_value(), halts);
      if (!halts) continue;
      EXPECT_EQ(told->kind, Notification::Kind::halted);
      EXPECT_EQ(told->cause, Refusal::stale_generation);
      EXPECT_EQ(told->peer, alice.id);
      EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(8, 1)), Status::refused)
          << "nothing overtakes what was refused";
      EXPECT_EQ(inbox.posted(), 1u);
    }
  }
}

TEST_P(Telling, puts_that_find_no_buffer_land_nowhere) {
  for (const bool halts : {false, true}) {
    OwnedPostedSlot inbox(bob, queue, {.buffers = 4, .halts = halts});
    EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, 1)), Status::refused);
    EXPECT_EQ(cause(), Refusal::no_buffer);
    EXPECT_FALSE(there(0, pattern(16, 1)));
    EXPECT_EQ(first_told().has_value(), halts);
  }
}

TEST_P(Telling, puts_are_refused_with_those_before_them) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 4});
  ASSERT_NO_FATAL_FAILURE(post(inbox));
  bob.core.inhibit_puts(slot.index());
  EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, 1)), Status::refused);
  EXPECT_EQ(cause(), Refusal::inhibited) << "it would be told of before it lands";
  for (int i = 0; i < 10; ++i) ASSERT_EQ(put(slot.ticket(), pattern(1000, 1)), Status::ok);
  rest();
  bob.core.release_puts(slot.index());
  EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, 1)), Status::refused);
  EXPECT_EQ(cause(), Refusal::hold_full) << "nobody has heard of it";
  EXPECT_EQ(fence(slot.ticket()).cause, Refusal::hold_full);
  EXPECT_EQ(inbox.posted(), 1u);
  EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, 2)), Status::ok);
  EXPECT_TRUE(there(0, pattern(16, 2)));
}

TEST_P(Telling, puts_have_nothing_to_do_with_those_of_other_slots) {
  Area other_area{4096};
  TestSlot other(bob, other_area, queue, {.fast = false, .puts = true, .hold = 256});
  OwnedPostedSlot inbox(bob, queue, {.buffers = 64, .halts = true});
  ASSERT_EQ(put(other.ticket(), pattern(8, 1)), Status::ok);
  bob.core.inhibit_puts(other.index());
  for (std::uint64_t i = 0; i != 20; ++i) {
    ASSERT_EQ(put(other.ticket(), pattern(100, 1)), Status::ok);  // is refused
    ASSERT_NO_FATAL_FAILURE(post(inbox));
    ASSERT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, i)), Status::ok);
  }
  EXPECT_GT(bob.refused_in_all(), 0u);
  const Ticket gone = other.ticket();
  static_cast<void>(terminus.put(gone, pattern(8, 1), {}, nullptr));
  other.drop();
  ASSERT_NO_FATAL_FAILURE(post(inbox));
  EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, 9)), Status::ok);
}

// While many are under way their right ends: each that is told of stands there whole, and the others nowhere.
TEST_P(Telling, puts_under_way_when_their_slot_goes_are_told_of_and_stand_there_or_neither) {
  for (std::uint64_t round = 0; round != 30; ++round) {
    SCOPED_TRACE(round);
    Area room{1u << 16};
    std::fill(room.bytes().begin(), room.bytes().end(), kBefore);
    TestSlot window(bob, room, queue, {.fast = false, .puts = true});
    OwnedPostedSlot inbox(bob, queue, {.buffers = 64});
    const Ticket of = window.ticket();
    ASSERT_EQ(tell(inbox.ticket(), of, {}), Status::refused) << "no buffer yet";
    for (std::uint64_t i = 0; i != 20; ++i) ASSERT_NO_FATAL_FAILURE(post(inbox, i));
    std::deque<std::vector<std::byte>> sent;
    bool dropped = false;
    std::uint64_t left = 0;
    for (std::uint64_t i = 0; i != 20; ++i) {
      const auto& data = sent.emplace_back(pattern(i % 2 == 0 ? 16 : 3000, i));
      const Status status = terminus.put_telling(inbox.ticket(), i, of, data, i * 3072, {}, nullptr, nullptr);
      left += status == Status::ok || status == Status::pending;
      if (i == round % 20) turns(static_cast<int>(round % 7));
      if (!dropped && i == 10 + round % 5) {
        window.drop();
        dropped = true;
      }
    }
    std::uint64_t heard = 0;
    for (const Notification& n : told()) {
      ASSERT_EQ(n.kind, Notification::Kind::message);
      ++heard;
      EXPECT_TRUE(same(room.bytes().subspan(n.word * 3072, sent[n.word].size()), sent[n.word])) << n.word;
    }
    EXPECT_LE(heard, left);
    EXPECT_EQ(inbox.posted(), 20u - heard) << "what is refused takes none";
  }
}

TEST_P(Telling, puts_that_are_given_up_leave_nothing_behind) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 64});
  const auto data = pattern(60000, 1);
  for (int i = 0; i != 100; ++i) {
    SendHandle given_up;
    const Status status = terminus.put_telling(inbox.ticket(), kWord, slot.ticket(), data, 0,
                                               {.acknowledged = true}, &given_up, nullptr);
    if (status == Status::pending) static_cast<void>(terminus.cancel(given_up));
    if (i % 10 == 0) rest();
  }
  rest();
  std::uint64_t number = 0;
  while (inbox.take_back(number) == Status::ok) {
  }
  ASSERT_NO_FATAL_FAILURE(post(inbox));
  EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), data), Status::ok) << "there is room to await an answer";
  EXPECT_TRUE(there(0, data));
  EXPECT_TRUE(bob.core.find_link(alice.id)->lost_messages.empty());
}

TEST_P(Telling, puts_without_a_right_are_counted_at_both_sides) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 4});
  ASSERT_NO_FATAL_FAILURE(post(inbox));
  const std::uint64_t before = bob.refused(Refusal::not_permitted);
  for (int i = 0; i != 5; ++i) EXPECT_EQ(tell(inbox.ticket(), {}, {}, 0, false), Status::ok);
  rest();
  EXPECT_EQ(bob.refused(Refusal::not_permitted), before + 5);
  EXPECT_EQ(inbox.posted(), 1u);
  EXPECT_FALSE(first_told().has_value());
  EXPECT_EQ(tell(inbox.ticket(), {}, pattern(1, 1)), Status::invalid) << "data without a place";
}

TEST_P(Telling, puts_are_checked_before_they_leave) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 4});
  Area room{4096};
  TestSlot closed(bob, room, queue, {.fast = true, .places = 4});
  TestSlot elsewhere(carol, room, carol.core.make_queue(8), {.fast = false, .puts = true});
  EXPECT_EQ(tell(inbox.ticket(), slot.ticket(), pattern(16, 1), 65521), Status::out_of_bounds);
  EXPECT_EQ(tell(inbox.ticket(), closed.ticket(), pattern(16, 1)), Status::refused) << "it takes no puts";
  EXPECT_EQ(tell(closed.ticket(), slot.ticket(), pattern(16, 1)), Status::invalid) << "no posted buffers";
  if (carol.id != bob.id) {
    EXPECT_EQ(tell(inbox.ticket(), elsewhere.ticket(), pattern(16, 1)), Status::invalid) << "of two owners";
  }
}

// Whatever a peer puts together by hand: no more lands than an opening allows, and nothing is told of that
// has not.
TEST_P(Telling, puts_that_are_made_by_hand_change_nothing) {
  OwnedPostedSlot inbox(bob, queue, {.buffers = 4});
  ASSERT_NO_FATAL_FAILURE(post(inbox));
  const std::uint64_t good = opening();
  const std::size_t before = touched();
  const auto wrong = [&](Packet packet, Refusal cause) {
    const std::uint64_t refused = bob.refused(cause);
    inject(packet);
    rest();
    EXPECT_EQ(bob.refused(cause), refused + 1) << name(cause);
    EXPECT_EQ(inbox.posted(), 1u) << name(cause);
    EXPECT_EQ(touched(), before) << name(cause);
    for (const Notification& n : told()) EXPECT_NE(n.kind, Notification::Kind::message);
    for (interface::Link* link : bob.core.links()) link->sweep.guilt = 0;
  };
  const auto where = [&](std::uint64_t offset) { return interface::telling_where(good, offset); };
  const Ticket to = inbox.ticket();
  wrong(by_hand(to, where(65536), 1), Refusal::out_of_bounds);
  wrong(by_hand(to, where(65528), 16), Refusal::out_of_bounds);
  wrong(by_hand(to, where(~std::uint64_t{0}), 16), Refusal::out_of_bounds);
  wrong(by_hand(to, where(0) ^ 0xFE, 16), Refusal::stale_generation);                        // no such name
  wrong(by_hand(to, where(0) ^ 1u << interface::kNameBits, 16), Refusal::stale_generation);  // serial
  wrong(by_hand(to, where(0) | 1u << (interface::kNameBits + interface::kSerialBits), 16),
        Refusal::malformed);  // a length
  wrong(by_hand(to, interface::telling_where(interface::kNoRight, 0), 0), Refusal::not_permitted);
  wrong(by_hand(to, where(0) | interface::kNoRight, 16), Refusal::not_permitted);
  Packet other_key = by_hand(to, where(0), 16);
  other_key.key ^= 1;
  wrong(other_key, Refusal::bad_key);
  Packet metadata = by_hand(to, where(0), 16);
  set_lead(metadata, Operation::write, 16, 4);
  wrong(metadata, Refusal::malformed);
  wrong(by_hand(to, where(0), 0, Operation::abandon), Refusal::bad_entry);
  Packet no_inbox = by_hand(to, where(0), 16);
  set_slot(no_inbox, slot.ticket());
  wrong(no_inbox, Refusal::bad_entry);
  // One that is right lands.
  inject(by_hand(to, where(0), 16));
  rest();
  EXPECT_EQ(inbox.posted(), 0u);
}

// An opening is a link's own.
TEST_P(Telling, puts_by_another_processs_opening_are_refused) {
  if (carol.id == alice.id) GTEST_SKIP() << "SKIPPED: on this fabric one link is both ends'";
  OwnedPostedSlot inbox(bob, queue, {.buffers = 4});
  ASSERT_NO_FATAL_FAILURE(post(inbox));
  const std::uint64_t refused = bob.refused(Refusal::stale_generation);
  inject(by_hand(inbox.ticket(), interface::telling_where(opening(), 0), 16), carol, bob);
  rest();
  EXPECT_EQ(bob.refused(Refusal::stale_generation), refused + 1);
  EXPECT_EQ(inbox.posted(), 1u);
}

INSTANTIATE_TEST_SUITE_P(fabric, Telling, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
