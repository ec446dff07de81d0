// Open runs of messages to posted buffers against Core::deposit: a packet that is right, or has any of its
// bits turned over, does the same. Bob takes it by deposit, carol in a run.
#include <algorithm>
#include <functional>

#include "test/conformance/short_ways.h"
#include "test/simulation/books/owned_posted_slot.h"

namespace hamlyn::test {
namespace {

using interface::Packet;
using interface::PostedPart;
using simulation::OwnedPostedSlot;

// An owner of posted buffers, of 64 bytes and of 8, and of a slot that takes puts.
struct Receiver {
  explicit Receiver(Party& owner, bool halts = false)
      : party(owner), queue(owner.core.make_queue(64)), slot(owner, queue, {.buffers = 64, .halts = halts}) {}
  void post_anew() {
    std::uint64_t number = 0;
    while (slot.take_back(number) == Status::ok) {
    }
    if (slot.record().posted->halts()) slot.resume();
    std::ranges::fill(memory, std::byte{0xEE});
    std::ranges::fill(area.bytes(), std::byte{0xEE});
    EXPECT_EQ(slot.post(std::span(memory).first(64), 5), Status::ok);
    EXPECT_EQ(slot.post(std::span(memory).subspan(64, 8), 6), Status::ok);
  }
  Packet packet(std::uint32_t length, std::uint32_t message) {
    Packet out{};
    set_lead(out, interface::Operation::write, length, 0);
    set_slot(out, slot.ticket());
    set_posted(out, {.at = 0, .length = length, .total = length, .message = message, .word = 0x123456789A});
    std::fill(std::begin(out.data), std::end(out.data), std::byte{0x5A});
    return out;
  }
  // A put of which a buffer tells.
  Packet telling(std::uint32_t length, std::uint32_t message) {
    Packet out = packet(length, message);
    out.offset = interface::telling_where(opening, 8);
    set_word(out, interface::kEntryWord, interface::telling_entry_word(0x123456789A));
    return out;
  }
  std::vector<Notification> told() {
    std::vector<Notification> all;
    for (const auto& each : party.core.queues())
      while (const std::optional<Notification> next = take(party, each.get())) all.push_back(*next);
    std::ranges::stable_partition(
        all, [](const Notification& each) { return each.kind == Notification::Kind::message; });
    return all;
  }

  Party& party;
  interface::Queue* queue;
  OwnedPostedSlot slot;
  std::vector<std::byte> memory = std::vector<std::byte>(72);
  Area area{512};
  TestSlot window{party, area, queue, {.fast = false, .puts = true}};
  std::uint64_t opening = 0;  // alice's there
};

class PostedRuns : public ShortWays {
 protected:
  void send(const Packet& packet, Party& to) {
    const std::byte* const data = packet.lead.length <= interface::kInlineData ? packet.data : junk;
    ASSERT_EQ(alice.core.find_link(to.id)->put(packet, data, junk), Status::ok);
  }
  // Carol takes what is there in a run. False: the run has not taken it.
  bool take_in_run(Receiver& at, std::vector<Notification>& heard) {
    shm::ShmLink& link = link_of(at.party);
    shm::ShortWay way(at.party.core);
    way.ran(&link);
    way.open_posted(*at.queue);
    EXPECT_FALSE(way.open_for(*at.queue)) << "such a run takes nothing else";
    Notification n;
    // Where a ring or the queue begins anew there is none.
    const bool taken =
        way.open_for_posted(*at.queue) && way.take_posted(*at.queue, n) == shm::ShortWay::Found::message;
    if (taken) heard.push_back(n);
    return taken;
  }
  // Has carol's link remember that the last message was for her queue.
  void remember(Receiver& one, Receiver& two) {
    one.post_anew(), two.post_anew();
    send(one.packet(3, 1), bob);
    send(two.packet(3, 1), carol);
    Notification n;
    EXPECT_TRUE(take_message(carol, link_of(carol), *two.queue, n));
    rest();
    one.told(), two.told();
  }
  bool compare(const Packet& to_bob, const Packet& to_carol, Receiver& one, Receiver& two) {
    forget_guilt();
    one.post_anew(), two.post_anew();
    send(to_bob, bob);
    send(to_carol, carol);
    std::vector<Notification> heard;
    link_of(carol).cached.posted = two.queue;
    const bool taken = take_in_run(two, heard);
    turns(2);
    for (const Notification& each : two.told()) heard.push_back(each);
    const std::vector<Notification> wanted = one.told();
    EXPECT_TRUE(std::ranges::equal(wanted, heard, alike)) << written(wanted) << "by deposit, in a run\n"
                                                          << written(heard);
    EXPECT_TRUE(same(one.memory, two.memory));
    EXPECT_TRUE(same(one.area.bytes(), two.area.bytes()));
    EXPECT_EQ(bob.core.landed_bytes(one.window.index()), carol.core.landed_bytes(two.window.index()));
    EXPECT_EQ(one.slot.posted(), two.slot.posted());
    EXPECT_EQ(one.slot.record().posted->filling().size(), two.slot.record().posted->filling().size());
    EXPECT_EQ(one.slot.record().posted->halted(), two.slot.record().posted->halted());
    EXPECT_EQ(one.slot.record().counters->messages, two.slot.record().counters->messages);
    EXPECT_EQ(one.slot.record().counters->bytes, two.slot.record().counters->bytes);
    for (std::size_t i = 0; i < static_cast<std::size_t>(Refusal::count); ++i)
      EXPECT_EQ(bob.refused(static_cast<Refusal>(i)), carol.refused(static_cast<Refusal>(i)))
          << name(static_cast<Refusal>(i));
    EXPECT_EQ(link_of(bob).counters->packets_in, link_of(carol).counters->packets_in);
    EXPECT_EQ(link_of(bob).counters->bytes_in, link_of(carol).counters->bytes_in);
    EXPECT_EQ(link_of(bob).broken, link_of(carol).broken);
    return taken;
  }
  // Has alice put to the slots that take it.
  void open(interface::Terminus& by, Receiver& one, Receiver& two) {
    for (Receiver* each : {&one, &two}) {
      const Ticket to = each->window.ticket();
      EXPECT_TRUE(until([&] { return by.put(to, std::span(junk).first(8), {}, nullptr) == Status::ok; }));
      each->opening = by.opening_of(by.credit_of(to));
    }
    rest();
  }
  static bool may_stand(const Packet& packet) {
    return interface::invalid(packet.lead, kMtu) == nullptr &&
           packet.lead.operation != interface::Operation::continue_ring &&
           interface::cells_of(packet.lead) < shm::kHomeCells - 2;
  }
};

TEST_P(PostedRuns, do_what_deposit_does_with_each_bit_of_each_packet) {
  carol.core.make_queue(64);  // bob has one
  for (const bool halts : {false, true}) {
    Receiver one(bob, halts), two(carol, halts);
    remember(one, two);
    int taken = 0;
    std::uint32_t message = 1;
    for (const std::uint32_t length : {16u, 5u, 0u, 64u, 65u}) {
      for (std::size_t bit = 32; bit < 8 * interface::kCell; ++bit) {
        ++message;
        Packet to_bob = one.packet(length, message), to_carol = two.packet(length, message);
        if (bit != 32)
          for (Packet* each : {&to_bob, &to_carol})
            reinterpret_cast<std::byte*>(each)[bit / 8] ^= std::byte{1} << bit % 8;
        if (may_stand(to_bob)) taken += compare(to_bob, to_carol, one, two);
        ASSERT_FALSE(HasFailure()) << length << " bytes, bit " << bit << (halts ? ", halts" : "");
      }
    }
    EXPECT_GT(taken, 500);
  }
}

TEST_P(PostedRuns, do_what_deposit_does_with_each_bit_of_a_put_that_a_buffer_tells_of) {
  carol.core.make_queue(64);  // bob has one
  interface::Terminus puts(alice.core, 4);
  for (const bool halts : {false, true}) {
    Receiver one(bob, halts), two(carol, halts);
    open(puts, one, two);
    remember(one, two);
    int taken = 0;
    std::uint32_t message = 1;
    for (const std::uint32_t length : {16u, 5u, 0u, 64u, 65u}) {
      for (std::size_t bit = 32; bit < 8 * interface::kCell; ++bit) {
        if (bit / 8 == offsetof(interface::Lead, operation)) continue;  // others end the opening
        ++message;
        Packet to_bob = one.telling(length, message), to_carol = two.telling(length, message);
        if (bit != 32)
          for (Packet* each : {&to_bob, &to_carol})
            reinterpret_cast<std::byte*>(each)[bit / 8] ^= std::byte{1} << bit % 8;
        if (may_stand(to_bob)) taken += compare(to_bob, to_carol, one, two);
        ASSERT_FALSE(HasFailure()) << length << " bytes, bit " << bit << (halts ? ", halts" : "");
      }
    }
    EXPECT_GT(taken, 500);
  }
}

// The long way sees to all else that a slot does with a put, or forbids.
TEST_P(PostedRuns, leave_puts_to_deposit_that_do_more_than_land) {
  carol.core.make_queue(64);
  interface::Terminus puts(alice.core, 4);
  Receiver one(bob), two(carol);
  open(puts, one, two);
  remember(one, two);
  EXPECT_TRUE(compare(one.telling(16, 2), two.telling(16, 2), one, two));
  for (Receiver* each : {&one, &two}) each->party.core.set_control(each->window.index(), Control::always);
  EXPECT_FALSE(compare(one.telling(16, 3), two.telling(16, 3), one, two));
  for (Receiver* each : {&one, &two}) {
    each->party.core.set_control(each->window.index(), Control::never);
    each->party.core.inhibit_puts(each->window.index());
  }
  EXPECT_FALSE(compare(one.telling(16, 4), two.telling(16, 4), one, two));
  for (Receiver* each : {&one, &two}) {
    each->party.core.release_puts(each->window.index());
    each->party.core.change_key(each->window.index());  // openings are over
  }
  EXPECT_FALSE(compare(one.telling(16, 5), two.telling(16, 5), one, two));
}

TEST_P(PostedRuns, take_nothing_for_another_queue_without_a_buffer_or_behind_a_changed_key) {
  carol.core.make_queue(64);
  Receiver one(bob), two(carol);
  remember(one, two);
  OwnedPostedSlot other(carol, carol.core.make_queue(64), {.buffers = 2});
  std::vector<std::byte> room(64);
  ASSERT_EQ(other.post(room, 9), Status::ok);
  std::vector<Notification> heard;
  Packet packet = two.packet(16, 40);
  set_slot(packet, other.ticket());
  send(packet, carol);
  EXPECT_FALSE(take_in_run(two, heard)) << "it is for another queue";
  turns(2);
  EXPECT_EQ(two.told().size(), 1u);

  packet = two.packet(16, 41);
  std::uint64_t number = 0;
  while (two.slot.take_back(number) == Status::ok) {
  }
  send(packet, carol);
  EXPECT_FALSE(take_in_run(two, heard)) << "there is no buffer";
  turns(2);

  two.post_anew();
  two.slot.change_key();
  link_of(carol).cached.posted = two.queue;  // though it was forgotten
  send(packet, carol);
  EXPECT_FALSE(take_in_run(two, heard)) << "its key is of before";
  turns(2);
  EXPECT_EQ(two.slot.posted(), 2u);
  EXPECT_TRUE(heard.empty());
}

// A run of two cells: the first was taken, and the run goes on.
class BatchInRun : public PostedRuns {
 protected:
  BatchInRun() {
    carol.core.make_queue(64);
    // Rings and queues begin anew now and then: where a run of two is short of that, it is tried again.
    for (int tries = 0; tries != 8 && !begun; ++tries) begin();
    EXPECT_TRUE(begun) << "no run was opened";
  }
  // Sends two cells, and takes the first.
  void begin() {
    rest();
    two.told(), one.told();
    remember(one, two);
    two.post_anew();
    ASSERT_EQ(two.slot.post(std::span(memory).first(64), 7), Status::ok);
    way.ran(&link_of(carol));
    link_of(carol).cached.posted = two.queue;
    send(two.packet(16, 1), carol);
    send(second(), carol);
    way.open_posted(*two.queue);
    Notification n;
    if (!way.open_for_posted(*two.queue) || way.run().left < 3) return way.close();
    ASSERT_EQ(way.take_posted(*two.queue, n), shm::ShortWay::Found::message);
    EXPECT_EQ(n.offset, 5u);
    begun = way.open_for_posted(*two.queue);
  }
  // Has 8 bytes, for which the second buffer has room.
  Packet second() { return two.packet(8, 2); }
  // The run, if it is still open, leaves the second cell to deposit, which refuses it.
  void expect_refused(Refusal cause) {
    const std::uint64_t before = carol.refused(cause);
    Notification n;
    if (way.open_for_posted(*two.queue)) {
      EXPECT_EQ(way.take_posted(*two.queue, n), shm::ShortWay::Found::other);
    }
    rest();
    EXPECT_EQ(carol.refused(cause), before + 1) << name(cause);
    EXPECT_TRUE(std::ranges::all_of(std::span(two.memory).subspan(64), untouched)) << "it has landed";
    EXPECT_TRUE(std::ranges::all_of(memory, untouched)) << "it has landed";
    for (const Notification& each : two.told())
      EXPECT_NE(each.kind, Notification::Kind::message) << "it was told of";
  }
  static bool untouched(std::byte each) { return each == std::byte{0xEE}; }

  Receiver one{bob}, two{carol};
  std::vector<std::byte> memory = std::vector<std::byte>(64, std::byte{0xEE});
  shm::ShortWay way{carol.core};
  bool begun = false;
};

TEST_P(BatchInRun, goes_on) {
  Notification n;
  ASSERT_EQ(way.take_posted(*two.queue, n), shm::ShortWay::Found::message);
  EXPECT_EQ(n.offset, 6u);
  EXPECT_EQ(n.length, 8u);
  EXPECT_EQ(way.take_posted(*two.queue, n), shm::ShortWay::Found::elsewhere) << "there are no more";
}

TEST_P(BatchInRun, is_refused_at_the_very_next_cell_when_the_key_has_changed) {
  two.slot.change_key();
  expect_refused(Refusal::bad_key);
}

TEST_P(BatchInRun, is_refused_at_the_very_next_cell_when_the_slot_has_gone) {
  two.slot.drop();
  expect_refused(Refusal::stale_generation);
}

TEST_P(BatchInRun, is_refused_at_the_very_next_cell_when_another_slot_is_in_that_place) {
  two.slot.drop();
  OwnedPostedSlot other(carol, two.queue, {.buffers = 2});
  ASSERT_EQ(other.ticket().slot, two.slot.ticket().slot);
  ASSERT_EQ(other.post(memory, 9), Status::ok);
  expect_refused(Refusal::stale_generation);
}

TEST_P(BatchInRun, is_refused_at_the_very_next_cell_when_its_buffer_was_taken_back) {
  std::uint64_t number = 0;
  while (two.slot.take_back(number) == Status::ok) {
  }
  expect_refused(Refusal::no_buffer);
}

TEST_P(BatchInRun, is_refused_at_the_very_next_cell_when_its_buffer_is_too_short) {
  std::uint64_t number = 0;
  while (two.slot.take_back(number) == Status::ok) {
  }
  ASSERT_EQ(two.slot.post(std::span(memory).first(7), 9), Status::ok);
  expect_refused(Refusal::too_long);
}

TEST_P(BatchInRun, ends_with_its_link_and_with_its_queue) {
  fabric->kill(alice, carol);
  fabric->end(carol, alice);
  EXPECT_FALSE(way.open_for_posted(*two.queue));
  two.told();
  two.slot.drop();
  two.window.drop();
  EXPECT_TRUE(carol.core.drop_queue(two.queue));
  EXPECT_EQ(way.run().posted, nullptr);
}

TEST_P(BatchInRun, ends_when_anything_looks_everywhere) {
  turn();
  EXPECT_FALSE(way.open_for_posted(*two.queue)) << "what stands in the queue comes first";
  EXPECT_EQ(two.told().size(), 1u);
}

// In between comes what no run takes: it is taken in its turn, and what is behind it after that.
TEST_P(BatchInRun, leaves_packets_of_other_kinds_in_their_order) {
  Notification n;
  ASSERT_EQ(way.take_posted(*two.queue, n), shm::ShortWay::Found::message);
  Area area(256);
  TestSlot other(carol, area, two.queue, {.entries = 1, .places = 4, .gets = 64});
  Packet message = hand_made(other.ticket(0), 16), fence = hand_made(other.ticket(), 0),
         parts = two.packet(16, 3);
  set_lead(fence, interface::Operation::fence, 0, 0);
  set_entry(fence, interface::kNoEntry, interface::kNoOpening);
  set_posted(parts, {.at = 0, .length = 16, .total = 20, .message = 3, .word = 1});
  std::uint64_t number = 8;
  const std::vector<std::pair<Packet, std::vector<std::size_t>>> all = {
      {message, {5, 16, 6}}, {fence, {5, 6}}, {parts, {5, 6}}};
  for (const auto& [between, told] : all) {
    while (two.slot.posted() != 0) ASSERT_EQ(two.slot.take_back(number), Status::ok);
    for (int i = 0; i != 3; ++i) ASSERT_EQ(two.slot.post(std::span(memory).first(32), number++), Status::ok);
    two.told();
    send(two.packet(5, 10), carol);
    send(between, carol);
    send(two.packet(6, 11), carol);
    std::vector<std::size_t> lengths;
    for (int looks = 0; looks != 8; ++looks) {
      link_of(carol).cached.posted = two.queue;
      way.close(), way.ran(&link_of(carol)), way.open_posted(*two.queue);
      if (way.open_for_posted(*two.queue) &&
          way.take_posted(*two.queue, n) == shm::ShortWay::Found::message) {
        lengths.push_back(n.length);
        continue;
      }
      turn();
      while (const std::optional<Notification> next = take(carol, two.queue))
        if (next->kind == Notification::Kind::message) lengths.push_back(next->length);
    }
    EXPECT_EQ(lengths, told);
  }
  EXPECT_EQ(carol.refused_in_all(), 0u);
}

// Messages of several packets that wait for the room of their level keep none of the other level back, which
// would look for its turn again and again.
TEST_P(PostedRuns, of_one_level_wait_for_no_room_of_the_other) {
  constexpr std::size_t kLong = 64 * kMtu;
  OwnedPostedSlot slot(bob, queue, {.buffers = 64});
  std::vector<std::byte> memory(kLong);
  for (std::uint64_t i = 0; i != 64; ++i) ASSERT_EQ(slot.post(memory, i), Status::ok);
  const auto data = pattern(kLong, 1);
  std::vector<std::unique_ptr<interface::Terminus>> termini;
  const auto begin = [&](Priority level) {
    termini.push_back(std::make_unique<interface::Terminus>(alice.core, 4, level));
    ASSERT_EQ(termini.back()->send_posted(slot.ticket(), data, 0, {}, nullptr), Status::pending);
  };
  for (std::uint32_t i = 0; i != interface::kPostedUnderWay + 2; ++i) begin(Priority::normal);
  while (alice.core.run()) {
  }
  const std::uint64_t packets = alice.core.find_link(bob.id)->counters->packets_out;
  begin(Priority::urgent);
  while (alice.core.run()) {
  }
  EXPECT_GT(alice.core.find_link(bob.id)->counters->packets_out, packets) << "there is room for urgent ones";
  EXPECT_FALSE(alice.core.something_to_do()) << "there is none any more, and nobody looks for any";
  for (std::uint32_t i = 0; i != interface::kPostedUnderWay + 3; ++i)
    EXPECT_EQ(next().kind, Notification::Kind::message);
  EXPECT_EQ(bob.refused_in_all(), 0u);
}

INSTANTIATE_TEST_SUITE_P(fabric, BatchInRun, testing::Values(FabricKind{"shm", make_shm_fabric}),
                         fabric_name);
INSTANTIATE_TEST_SUITE_P(fabric, PostedRuns, testing::Values(FabricKind{"shm", make_shm_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
