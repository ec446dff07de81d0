// Long answers of gets, which leave among the messages: whole, of every length, in turns with messages, and
// held by nobody.
#include <deque>
#include <ranges>

#include "test/conformance/remotes.h"

namespace hamlyn::test {
namespace {

using interface::kOutstanding;
using interface::kReplyPayload;
using interface::Operation;
using interface::Terminus;

class LongAnswers : public Remotes {
 protected:
  LongAnswers() {
    const std::vector<std::byte> data = pattern(area.bytes().size(), 11);
    std::copy(data.begin(), data.end(), area.bytes().begin());
  }
  bool brought(std::size_t offset, std::size_t at, std::size_t length) {
    return same(own.bytes().subspan(at, length), area.bytes().subspan(offset, length));
  }
  // A packet of an answer that bob makes up, among the messages.
  void forge_long(std::uint64_t word, std::size_t length, std::uint64_t offset) {
    interface::Packet packet {};
    set_lead(packet, Operation::get_data, length, 0);
    packet.word = word;
    packet.offset = offset;
    interface::Link* link = bob.core.find_link(alice.id);
    ASSERT_TRUE(until([&] { return link->put(packet, junk, nullptr) != Status::queue_full; }));
    rest_of(alice);
  }
};

TEST_P(LongAnswers, come_whole_of_every_length_and_from_every_place) {
  for (const std::size_t length :
       {256u, 257u, 511u, 512u, 513u, 1000u, 1024u, 1025u, 4095u, 4096u, 5000u, 32768u, 65535u, 65536u}) {
    for (const std::size_t offset : {0u, 8u, 3u}) {
      std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
      EXPECT_EQ(get(slot.ticket(), length, offset, 16).status, Status::ok) << length;
      EXPECT_TRUE(brought(offset, 16, length)) << length << " from " << offset;
      EXPECT_EQ(own.data()[15], std::byte{0xEE});
      EXPECT_EQ(own.data()[16 + length], std::byte{0xEE});
    }
  }
  EXPECT_EQ(alice.refused_in_all() + bob.refused_in_all(), 0u);
}

TEST_P(LongAnswers, of_many_gets_at_a_time_come_each_where_it_belongs) {
  constexpr std::size_t kEach = 4096 + 40;
  for (int round = 0; round < 3; ++round) {
    std::fill(own.bytes().begin(), own.bytes().end(), std::byte{0xEE});
    std::vector<RemoteHandle> handles(kOutstanding);
    for (std::size_t i = 0; i < kOutstanding; ++i) {
      ASSERT_TRUE(until([&] {
        return asks.get(slot.ticket(), {landing.index(), i * kEach, kEach}, {.offset = i * 8}, nullptr,
                        &handles[i]) == Status::pending;
      }));
    }
    for (std::size_t i = 0; i < kOutstanding; ++i) {
      EXPECT_EQ(end_of(handles[i]).status, Status::ok);
      EXPECT_TRUE(brought(i * 8, i * kEach, kEach)) << i;
    }
  }
  rest();
  EXPECT_TRUE(bob.core.find_link(alice.id)->remote.owes_nothing());
  EXPECT_EQ(alice.refused_in_all() + bob.refused_in_all(), 0u);
}

// A piece of several parts counts for each of them.
TEST_P(LongAnswers, that_are_forged_land_once_and_nowhere_else) {
  RemoteHandle handle;
  ASSERT_EQ(asks.get(slot.ticket(), {landing.index(), 1000, 1300}, {}, nullptr, &handle), Status::pending);
  struct Lie {
    std::size_t length;
    std::uint64_t offset;
  };
  std::uint64_t sent = 0;
  for (const Lie& lie : {Lie{0, 0},
                         {1, 0},
                         {255, 0},
                         {511, 0},
                         {1000, 0},
                         {1024, 512},
                         {1024, 256 + 1},
                         {275, 1024},
                         {277, 1024},
                         {21, 1280},
                         {19, 1280},
                         {20, 1536},
                         {256, 2048}}) {
    forge_long(kFirst, lie.length, lie.offset);
    EXPECT_EQ(unasked(), ++sent) << lie.length << " at " << lie.offset;
  }
  EXPECT_EQ(landed(), 0u);
  forge_long(kFirst, 512, 256);  // a lie that bob may tell
  EXPECT_EQ(unasked(), sent);
  EXPECT_EQ(landed(), 512u);
  for (const Lie& lie : {Lie{256, 256}, {256, 512}, {512, 0}, {512, 512}, {768, 256}, {1024, 0}}) {
    forge_long(kFirst, lie.length, lie.offset);
    EXPECT_EQ(unasked(), ++sent) << lie.length << " at " << lie.offset << ": some of it has come";
  }
  EXPECT_EQ(landed(), 512u);
  forge_long(kFirst, 256, 0);
  forge_long(kFirst, 532, 768);
  EXPECT_EQ(unasked(), sent);
  EXPECT_EQ(asks.outcome(handle).status, Status::ok);
  EXPECT_EQ(landed(), 1300u);
  forge_long(kFirst, 256, 0);
  EXPECT_EQ(unasked(), ++sent) << "it is over";
  EXPECT_EQ(own.data()[999], std::byte{0xEE});
  EXPECT_EQ(own.data()[2300], std::byte{0xEE});
}

// Neither do messages hold up answers for ever, nor the other way round.
TEST_P(LongAnswers, take_turns_with_messages_that_wait_for_room) {
  constexpr std::size_t kMessage = 1u << 16;
  Area much(1u << 17), there(1u << 17);
  interface::Queue* const alices_queue = alice.core.make_queue(64);
  TestSlot messages(alice, there, alices_queue, {.entries = 1});
  Terminus bobs(bob.core, 63);
  std::size_t gets = 0, sends = 0;
  RemoteHandle asked;
  SendHandle sent;
  const auto go_on = [&] {
    const Status get = asks.outcome(asked).status;
    gets += get == Status::ok ? 1 : 0;
    if (get != Status::pending)
      static_cast<void>(
          asks.get(slot.ticket(), {landing.index(), 0, 60000}, {}, nullptr, &asked));  // tried again
    if (!alices_queue->empty()) {
      Notification notification;
      alice.core.take(*alices_queue, notification);
      sends += notification.kind == Notification::Kind::message ? 1 : 0;
      static_cast<void>(messages.arm(0));
    }
    if (bobs.status(sent) != Status::pending)
      static_cast<void>(bobs.send(messages.ticket(0), much.bytes().first(kMessage), {}, &sent));
    return gets >= 4 && sends >= 4;
  };
  EXPECT_TRUE(until(go_on)) << gets << " gets, " << sends << " messages";
}

// Both sides owe each other all they can, and fill the link with messages beside.
TEST_P(LongAnswers, wait_for_no_answer_of_the_other_side) {
  TestSlot alices_slot(alice, own, alices, {.gets = 65536});
  TestSlot bobs_landing(bob, area, queue, {});
  Terminus bobs(bob.core, 63);
  std::vector<RemoteHandle> from_alice(kOutstanding), from_bob(kOutstanding);
  for (std::size_t i = 0; i < kOutstanding; ++i) {
    ASSERT_TRUE(until([&] {
      return asks.get(slot.ticket(), {landing.index(), 0, 60000}, {}, nullptr, &from_alice[i]) ==
             Status::pending;
    }));
    ASSERT_TRUE(until([&] {
      return bobs.requests().get(alices_slot.ticket(), {bobs_landing.index(), 0, 60000}, {}, nullptr,
                                 &from_bob[i]) == Status::pending;
    }));
  }
  const auto over = [](Terminus& from, const std::vector<RemoteHandle>& handles) {
    return std::all_of(handles.begin(), handles.end(),
                       [&](RemoteHandle each) { return from.requests().outcome(each).status == Status::ok; });
  };
  EXPECT_TRUE(until([&] { return over(terminus, from_alice) && over(bobs, from_bob); }));
}

// More links than a run has answers for: each has its turn, and nobody is forgotten.
TEST_P(LongAnswers, over_many_links_all_come) {
  constexpr std::size_t kAskers = 24;
  std::deque<Party> askers;
  std::deque<Area> areas;
  std::deque<TestSlot> landings;
  std::deque<Terminus> termini;
  std::vector<RemoteHandle> handles(kAskers);
  for (std::size_t i = 0; i < kAskers; ++i) {
    Party& asker = askers.emplace_back(200 + i);
    fabric->join(asker, bob);
    landings.emplace_back(asker, areas.emplace_back(65536u), asker.core.make_queue(16), Slot::Options{});
    termini.emplace_back(asker.core, 63);
  }
  const auto run_askers = [&] {
    for (Party& asker : askers) asker.core.run();
  };
  for (int round = 0; round < 3; ++round) {  // rings have grown in the later ones
    for (std::size_t i = 0; i < kAskers; ++i) {
      ASSERT_TRUE(until([&] {
        run_askers();
        return termini[i].requests().get(slot.ticket(), {landings[i].index(), 0, 65536}, {}, nullptr,
                                         &handles[i]) == Status::pending;
      }));
    }
    EXPECT_TRUE(until([&] {
      run_askers();
      return std::ranges::all_of(std::views::iota(std::size_t{0}, kAskers), [&](std::size_t i) {
        return termini[i].requests().outcome(handles[i]).status == Status::ok;
      });
    }));
  }
  for (Party& asker : askers) fabric->kill(asker, bob);
}

// The target keeps what it owes in places it has had from the start, and sleeps.
TEST_P(LongAnswers, that_nobody_takes_keep_nobody_awake) {
  for (std::uint32_t i = 0; i < kOutstanding; ++i) {
    ASSERT_TRUE(until([&] {
      RemoteHandle handle;
      return asks.get(slot.ticket(), {landing.index(), 0, 65536}, {}, nullptr, &handle) == Status::pending;
    }));
  }
  interface::Link& link = *bob.core.find_link(alice.id);
  ASSERT_TRUE(until([&] {
    rest_of(bob);
    return link.remote.owes_long();
  }));
  for (int i = 0; i < 8; ++i) rest_of(bob);
  EXPECT_TRUE(link.remote.owes_long()) << "more was asked for than the link takes";
  EXPECT_FALSE(bob.core.something_to_do());
  EXPECT_TRUE(until([&] { return link.remote.owes_nothing(); }));
  EXPECT_TRUE(until([&] { return !bob.core.something_to_do(); }));
}

INSTANTIATE_TEST_SUITE_P(fabric, LongAnswers, testing::ValuesIn(fabrics()), fabric_name);

}  // namespace
}  // namespace hamlyn::test
