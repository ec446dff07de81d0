// A link of which mostly what must be refused comes is looked at rarely (interface/sweep.h), whatever its
// peer makes of it, and is as others again when it has brought good packets for a while.
#include <array>
#include <set>

#include "fabric/sim/generator.h"
#include "test/conformance/conformance.h"
#include "test/simulation/books/owned_posted_slot.h"

namespace hamlyn::test {
namespace {

using interface::Packet;
using interface::Sweep;
using interface::Terminus;

class Demotion : public Conformance {
 protected:
  interface::Link& from_alice() {
    return *bob.core.find_link(alice.id);
  }
  Packet forged() {
    Packet packet = hand_made(slot.ticket(), 16);
    packet.key ^= 1;
    return packet;
  }
  // Packets of alice's that are refused, until her link is demoted.
  void beset() {
    for (std::uint32_t i = 0; i < 2 * Sweep::kDemotedFrom && !from_alice().sweep.demoted; ++i) {
      inject(forged());
      if (i % 16 == 0) rest();
    }
    ASSERT_TRUE(from_alice().sweep.demoted);
  }

  Area area{4096};
  TestSlot slot{bob, area, queue, {.entries = 1, .places = 16}};
};

TEST_P(Demotion, of_a_link_that_brings_what_is_refused_takes_it_out_of_the_way_of_others) {
  Terminus from_carol{carol.core, 63};
  ASSERT_EQ(send_fast(from_carol, slot.ticket(), {}), Status::ok);
  rest();
  while (take(bob, queue)) {
  }
  beset();
  while (take(bob, queue)) {
  }
  const std::uint64_t before = bob.refused(Refusal::bad_key);
  inject(forged());
  fabric->settle();
  std::uint64_t carols = 0;
  const std::uint64_t turns = 4 * Sweep::kDemotedEvery;
  for (std::uint64_t i = 0; i < turns; ++i) {
    fabric->settle();
    carol.core.run();
    if (i % 64 == 0) {
      ASSERT_EQ(send_fast(from_carol, slot.ticket(), {}, i), Status::ok);
      fabric->settle();
    }
    // Full, as a flood keeps it.
    while (alice.core.find_link(bob.id)->put(forged(), junk, junk) == Status::ok) fabric->settle();
    bob.core.run();
    while (const auto arrival = take(bob, queue)) carols += arrival->peer == carol.id;
    EXPECT_EQ(carols, i / 64 + 1) << "others wait for it";
  }
  const std::uint64_t refused = bob.refused(Refusal::bad_key) - before;
  EXPECT_GT(refused, 0u) << "it is never looked at again";
  EXPECT_LE(refused, turns / Sweep::kDemotedEvery * Sweep::kDemotedBudget);
}

TEST_P(Demotion, ends_with_good_packets) {
  beset();
  Terminus terminus{alice.core, 63};
  std::uint64_t sent = 0, came = 0;
  until([&] {
    if (from_alice().sweep.demoted && terminus.send_fast(slot.ticket(), {}, sent, 0) == Status::ok) ++sent;
    while (const auto arrival = take(bob, queue)) came += arrival->kind == Notification::Kind::message;
    return !from_alice().sweep.demoted && came == sent;
  });
  EXPECT_FALSE(from_alice().sweep.demoted);
  EXPECT_EQ(came, sent) << "what is good is only late";
  EXPECT_GE(sent, Sweep::kDemotedFrom / Sweep::kGoodWeighs / 2);
  rest();
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}, 7), Status::ok);
  fabric->settle();
  for (int i = 0; i < 64 && queue->empty(); ++i) turn();
  EXPECT_EQ(next().word, 7u);
}

TEST_P(Demotion, lets_nobody_sleep_over_a_good_packet_among_others) {
  beset();
  const auto drain = [&] {
    for (int i = 0; i < 256; ++i) {
      fabric->settle();
      bob.core.something_to_do();
    }
  };
  drain();
  while (take(bob, queue)) {
  }
  for (int i = 0; i < 16; ++i) inject(forged());
  fabric->settle();
  EXPECT_FALSE(bob.core.something_to_do()) << "a flood would keep it awake";
  drain();
  while (take(bob, queue)) {
  }
  Terminus terminus{alice.core, 63};
  until([&] { return terminus.send_fast(slot.ticket(), {}, 7, 0) == Status::ok || (drain(), false); });
  for (int i = 0; i < 16; ++i) inject(forged());
  bool awake = false;
  for (int i = 0; i < 256 && !awake; ++i) {
    fabric->settle();
    awake = bob.core.something_to_do();
  }
  EXPECT_TRUE(awake);
  EXPECT_TRUE(from_alice().sweep.demoted);
  std::uint64_t came = 0;
  while (const auto arrival = take(bob, queue)) came += arrival->kind == Notification::Kind::message;
  EXPECT_EQ(came, 1u);
}

TEST_P(Demotion, is_not_for_a_refusal_now_and_then) {
  Terminus terminus{alice.core, 63};
  for (std::uint32_t i = 0; i < 2 * Sweep::kDemotedFrom; ++i) {
    inject(forged());
    ASSERT_EQ(send_fast(terminus, slot.ticket(), {}, i), Status::ok);
    rest();
    while (take(bob, queue)) {
    }
  }
  EXPECT_FALSE(from_alice().sweep.demoted);
}

// Requests are answered, and of each link no more are under way than may be: who asks again and again for
// what is refused, of memory that is not pinned or a slot that has a new key, holds up nobody and is not held
// up.
TEST_P(Demotion, is_not_for_requests_that_are_refused) {
  Terminus terminus{alice.core, 63};
  std::array<std::byte, 8> room;
  for (std::uint32_t i = 0; i < 2 * Sweep::kDemotedFrom; ++i) {
    RemoteHandle handle;
    until([&] {
      return terminus.requests().get(slot.ticket(), {.length = room.size(), .to = room.data()}, {}, nullptr,
                                     &handle) == Status::pending;
    });
    until([&] { return terminus.requests().outcome(handle).status != Status::pending; });
    ASSERT_EQ(terminus.requests().outcome(handle).status, Status::refused);
    ASSERT_FALSE(from_alice().sweep.demoted) << "after " << i;
  }
}

TEST_P(Demotion, is_not_for_puts_that_find_no_room_to_wait) {
  TestSlot held(bob, area, queue, {.fast = false, .puts = true, .hold = 64});
  bob.core.inhibit_puts(held.index());
  Terminus terminus{alice.core, 63};
  for (std::uint32_t i = 0; i < 2 * Sweep::kDemotedFrom; ++i) {
    until([&] { return terminus.put(held.ticket(), pattern(8, 1), {}, nullptr) == Status::ok; });
    if (i % 16 == 0) rest();
    ASSERT_FALSE(from_alice().sweep.demoted) << "after " << i;
  }
  rest();
  EXPECT_GT(bob.refused(Refusal::hold_full), Sweep::kDemotedFrom);
  bob.core.release_puts(held.index());
}

// The receiver has posted too little, and a sender that wants no answer does not hear of it.
TEST_P(Demotion, is_not_for_messages_that_find_no_buffer) {
  simulation::OwnedPostedSlot posted(bob, queue, {.buffers = 4});
  std::array<std::byte, 8> small;
  const auto data = pattern(16, 1);
  Terminus terminus{alice.core, 63};
  for (std::uint32_t i = 0; i < 2 * Sweep::kDemotedFrom; ++i) {
    if (i == Sweep::kDemotedFrom) {
      ASSERT_EQ(posted.post(small, 1), Status::ok);
    }
    const Status status = terminus.send_posted(posted.ticket(), data, i, {}, nullptr);
    ASSERT_TRUE(status == Status::ok || status == Status::pending) << name(status);
    rest();
    ASSERT_FALSE(from_alice().sweep.demoted) << "after " << i;
  }
  EXPECT_EQ(bob.refused(Refusal::no_buffer), Sweep::kDemotedFrom);
  EXPECT_EQ(bob.refused(Refusal::too_long), Sweep::kDemotedFrom);
}

// Who polls takes most packets straight from the link that brought the last one (Engine::run_direct), and
// sweeps now and then.
TEST_P(Demotion, weighs_what_is_refused_against_all_that_came) {
  Terminus terminus{alice.core, 63};
  ASSERT_EQ(send_fast(terminus, slot.ticket(), {}), Status::ok);
  rest();
  for (std::uint32_t i = 0; i < 2 * Sweep::kDemotedFrom; ++i) {
    for (int sent = 0; sent < 8; ++sent) {
      if (sent < 2) inject(forged());
      ASSERT_EQ(terminus.send_fast(slot.ticket(), {}, i, 0), Status::ok);
      fabric->settle();
      from_alice().arrive(bob.core, interface::Core::kSweepBudget);
      while (take(bob, queue)) {
      }
      turn();  // what bob gives back
      ASSERT_FALSE(from_alice().sweep.demoted) << "after " << i << " rounds";
    }
    ASSERT_EQ(terminus.send_fast(slot.ticket(), {}, i, 0), Status::ok);
    rest();
    while (take(bob, queue)) {
    }
  }
}

// Whatever she mixes, and however bob looks: by runs, straight from the link, before he sleeps. What is good
// comes, and once.
TEST_P(Demotion, keeps_what_is_good_whatever_comes_between) {
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    sim::Generator chance(seed);
    Terminus from_alice_to_bob{alice.core, 63}, from_carol{carol.core, 63};
    ASSERT_EQ(send_fast(from_alice_to_bob, slot.ticket(), {}, 0), Status::ok);
    ASSERT_EQ(send_fast(from_carol, slot.ticket(), {}, 0), Status::ok);
    std::uint64_t sent[2] = {1, 1}, demotions = 0;
    std::set<std::uint64_t> came[2];
    const auto take_all = [&] {
      while (const auto arrival = take(bob, queue)) {
        if (arrival->kind != Notification::Kind::message) continue;
        EXPECT_TRUE(came[arrival->peer == carol.id ? 1 : 0].insert(arrival->word).second) << "twice";
      }
    };
    bool was = from_alice().sweep.demoted;
    for (int turn_number = 0; turn_number < 4000; ++turn_number) {
      const bool hostile = turn_number / 500 % 2 == 0;
      for (std::uint64_t left = chance.below(12); left != 0; --left) {
        if (chance.one_in(hostile ? 40 : 2)) {
          if (from_alice_to_bob.send_fast(slot.ticket(), {}, sent[0], 0) == Status::ok) ++sent[0];
        } else if (hostile || chance.one_in(16)) {
          static_cast<void>(alice.core.find_link(bob.id)->put(forged(), junk, junk));
        }
      }
      if (chance.one_in(3) && from_carol.send_fast(slot.ticket(), {}, sent[1], 0) == Status::ok) ++sent[1];
      fabric->settle();
      alice.core.run();
      carol.core.run();
      if (chance.one_in(8)) {
        from_alice().arrive(bob.core, static_cast<unsigned>(chance.between(1, 16)));
      } else if (chance.one_in(4)) {
        bob.core.something_to_do();
      } else {
        bob.core.run();
      }
      demotions += !was && from_alice().sweep.demoted;
      was = from_alice().sweep.demoted;
      take_all();
    }
    rest();
    take_all();
    rest();
    take_all();
    EXPECT_EQ(came[0].size(), sent[0]);
    EXPECT_EQ(came[1].size(), sent[1]);
    EXPECT_GT(demotions, 0u) << "the case is not this one";
  }
}

TEST_P(Demotion, ends_with_its_link) {
  beset();
  fabric->kill(alice, bob);
  fabric->end(bob, alice);
  EXPECT_EQ(bob.core.find_link(alice.id), nullptr);
  turns(4 * static_cast<int>(Sweep::kDemotedEvery));
}

// What comes by a gate has a budget of its own.
INSTANTIATE_TEST_SUITE_P(fabric, Demotion,
                         testing::Values(FabricKind{"shm", make_shm_fabric},
                                         FabricKind{"sim", make_sim_fabric}),
                         fabric_name);

}  // namespace
}  // namespace hamlyn::test
