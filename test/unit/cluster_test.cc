// What a daemon that strangers can reach refuses: everything but what a living node of the cluster has just
// said.
#include <gtest/gtest.h>

#include "test/support/cluster_world.h"

namespace hamlyn {
namespace {

using node::Cluster;
using node::Handshake;
using node::HandshakeKind;
using node::NodeId;
using node::Reason;
using node::Secret;
using node::Time;
using test::ClusterWorld;

struct TwoDaemons {
  TwoDaemons() {
    world.recording = true;
    world.start(1, true, {});
    world.start(2, false, {1});
    EXPECT_TRUE(world.run_until([this] { return world.whole(); }, Time{5000}));
    world.recording = false;
  }
  // Has node 1 hear this; whether it said anything to it.
  bool answers(std::span<const std::byte> bytes) {
    const std::uint64_t before = world.hosts.at(1)->sent;
    world.cluster(1).received(ClusterWorld::address_of(99), bytes, world.now);
    return world.hosts.at(1)->sent != before;
  }
  Handshake hello(NodeId from, std::uint64_t incarnation) const {
    Handshake out;
    out.kind = HandshakeKind::hello;
    out.from = from;
    out.incarnation = incarnation;
    return out;
  }
  ClusterWorld world{1};
};

TEST(Cluster, AStrangerWithoutTheSecretHearsNothing) {
  TwoDaemons t;
  Secret wrong = t.world.secret;
  wrong[31] ^= std::byte{1};
  EXPECT_FALSE(t.answers(node::ClusterKeys{wrong}.encode(t.hello(3, 5000))));
  for (std::size_t size = 0; size < 1300; size += 13) EXPECT_FALSE(t.answers(std::vector<std::byte>(size)));
  EXPECT_EQ(t.world.cluster(1).counts().strangers, 101u);
  EXPECT_TRUE(t.answers(node::ClusterKeys{t.world.secret}.encode(t.hello(3, 5000)))) << "with the secret";
  EXPECT_EQ(t.world.cluster(1).rows().size(), 2u) << "and still nothing is remembered of it";
}

TEST(Cluster, AHandshakeWithAnyBitChangedIsRefused) {
  TwoDaemons t;
  const auto whole = node::ClusterKeys{t.world.secret}.encode(t.hello(3, 5000));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    auto forged = whole;
    forged[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(t.answers(forged)) << bit;
  }
}

TEST(Cluster, ASealedPacketWithAnyBitChangedIsRefused) {
  TwoDaemons t;
  t.world.recording = true;
  t.world.run(Time{1000});
  const auto heartbeat = std::ranges::find_if(t.world.record, [](const auto& packet) {
    return packet.at == Time{} && packet.to == ClusterWorld::address_of(1) &&
           node::sealed_header(packet.bytes) && node::sealed_header(packet.bytes)->sequence > 3;
  });
  ASSERT_NE(heartbeat, t.world.record.end());
  for (std::size_t bit = 0; bit < heartbeat->bytes.size() * 8; ++bit) {
    auto forged = heartbeat->bytes;
    forged[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(t.answers(forged)) << bit;
  }
  const Cluster::Counts& counts = t.world.cluster(1).counts();
  EXPECT_EQ(counts.repeated, 0u);
  EXPECT_GT(counts.forged, heartbeat->bytes.size() * 8 * 3 / 4);
  EXPECT_EQ(t.world.hosts.at(1)->there.size(), 1u);
}

// All that was ever said, played back: while the pair lives, after one end was started again, after both
// were.
TEST(Cluster, WhatIsPlayedBackChangesNothing) {
  for (const int again : {0, 1, 2}) {
    TwoDaemons t;
    if (again >= 1) {
      t.world.kill(2);
      t.world.start(2, false, {1});
      EXPECT_TRUE(t.world.run_until([&] { return t.world.whole(); }, Time{5000}));
    }
    if (again >= 2) {
      t.world.kill(1);
      t.world.kill(2);
      t.world.start(1, true, {});
    }
    const auto there = t.world.hosts.at(1)->there;
    const auto rows = t.world.cluster(1).rows().size();
    const std::uint64_t sent = t.world.hosts.at(1)->sent;
    for (const auto& packet : t.world.record) {
      if (packet.to == ClusterWorld::address_of(1))
        t.world.cluster(1).received(packet.from, packet.bytes, t.world.now);
    }
    EXPECT_EQ(t.world.hosts.at(1)->there, there) << again;
    EXPECT_EQ(t.world.cluster(1).rows().size(), rows) << again;
    // Hellos are answered, by as many bytes; a repeated confirm by a sign of life.
    EXPECT_LE(t.world.hosts.at(1)->sent - sent, t.world.record.size()) << again;
    const Cluster::Counts& counts = t.world.cluster(1).counts();
    EXPECT_GT(counts.repeated + counts.unpaired + counts.forged + counts.old + counts.misdirected, 0u)
        << again;
    EXPECT_EQ(t.world.wrong, "");
  }
}

TEST(Cluster, ARepeatedConfirmOfADeadPairBringsItNotBack) {
  TwoDaemons t;
  t.world.kill(2);
  t.world.run(Time{1500});
  EXPECT_TRUE(t.world.hosts.at(1)->there.empty());
  for (const auto& packet : t.world.record)
    if (packet.to == ClusterWorld::address_of(1))
      t.world.cluster(1).received(packet.from, packet.bytes, t.world.now);
  EXPECT_TRUE(t.world.hosts.at(1)->there.empty());
}

TEST(Cluster, AnOldIncarnationIsRefusedAndToldSo) {
  TwoDaemons t;
  const auto refused = t.world.cluster(1).counts().old;
  EXPECT_TRUE(t.answers(node::ClusterKeys{t.world.secret}.encode(t.hello(2, 5)))) << "a refusal";
  EXPECT_EQ(t.world.cluster(1).counts().old, refused + 1);
  EXPECT_EQ(t.world.hosts.at(1)->there.size(), 1u);
}

TEST(Cluster, OnlyABootServerLetsANewcomerIn) {
  TwoDaemons t;
  t.world.start(3, false, {2});  // node 2 is none
  t.world.run(Time{3000});
  EXPECT_TRUE(t.world.hosts.at(3)->there.empty());
  EXPECT_EQ(t.world.cluster(3).kept_out(), Reason::not_boot);
  EXPECT_GT(t.world.cluster(2).counts().unvetted, 0u);
  t.world.kill(3);
  t.world.start(3, false, {1});
  EXPECT_TRUE(t.world.run_until([&] { return t.world.whole(); }, Time{5000}));
}

// A wrong address, a daemon that does not run, another secret: all look the same from here.
TEST(Cluster, AnAddressThatDoesNotAnswerIsTold) {
  ClusterWorld world{1};
  world.start(2, false, {1});
  world.run(Time{1500});
  EXPECT_TRUE(world.hosts.at(2)->lines.empty()) << "it may only be late";
  EXPECT_EQ(world.cluster(2).kept_out(), Reason::none);
  world.run(Time{20000});
  ASSERT_EQ(world.hosts.at(2)->lines.size(), 1u) << "once";
  EXPECT_NE(world.hosts.at(2)->lines[0].find("answers at 10.0.0.1:7471"), std::string::npos);
  EXPECT_EQ(world.cluster(2).kept_out(), Reason::unanswered);
  world.start(1, true, {3});
  EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{5000}));
  EXPECT_EQ(world.cluster(2).kept_out(), Reason::none);
  world.run(Time{5000});
  EXPECT_EQ(world.cluster(1).kept_out(), Reason::none) << "it is a cluster of its own";
  EXPECT_EQ(world.hosts.at(1)->lines.size(), 1u);
  world.kill(1);
  world.run(Time{5000});
  EXPECT_EQ(world.hosts.at(2)->lines.size(), 2u) << "and when it answers no more";
}

TEST(Cluster, VersionsThatDifferAreToldToBothSides) {
  TwoDaemons t;
  Handshake other = t.hello(3, 5000);
  other.version = 9;
  other.structures = 9;
  const node::ClusterKeys keys{t.world.secret};
  t.world.recording = true;
  t.world.record.clear();
  EXPECT_TRUE(t.answers(keys.encode(other)));
  const auto refusal = keys.decode(t.world.record.back().bytes);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, Reason::version);
  EXPECT_EQ(refusal->version, node::kClusterVersion);
  EXPECT_EQ(refusal->structures, node::kStructuresVersion);
  ASSERT_EQ(t.world.hosts.at(1)->lines.size(), 1u);
  EXPECT_NE(t.world.hosts.at(1)->lines[0].find("version 9 with structures 9"), std::string::npos);
  t.answers(keys.encode(other));
  EXPECT_EQ(t.world.hosts.at(1)->lines.size(), 1u) << "each fact once";
  EXPECT_EQ(t.world.cluster(1).counts().versions, 2u);

  // The other side: a daemon that is told by one of another version.
  auto& newcomer = t.world.start(4, false, {77});
  t.world.record.clear();
  t.world.run(Time{50});
  const auto hello = keys.decode(t.world.record.back().bytes);
  ASSERT_TRUE(hello);
  Handshake answer;
  answer.kind = HandshakeKind::refusal;
  answer.version = 9;
  answer.from = 77;
  answer.to = 4;
  answer.reason = Reason::version;
  answer.asked = hello->asked;
  newcomer.cluster->received(ClusterWorld::address_of(77), keys.encode(answer), t.world.now);
  ASSERT_EQ(newcomer.lines.size(), 1u);
  EXPECT_NE(newcomer.lines[0].find("speaks version 9"), std::string::npos) << newcomer.lines[0];
  EXPECT_NE(newcomer.lines[0].find("this node version 3"), std::string::npos);
}

TEST(Cluster, ANodeThatLeavesIsGoneAtOnceAndItsIncarnationForEver) {
  TwoDaemons t;
  t.world.leave(2);
  t.world.run(Time{20});
  EXPECT_TRUE(t.world.hosts.at(1)->there.empty());
  EXPECT_EQ(t.world.cluster(1).rows()[1].state, Cluster::State::left);
  const std::uint64_t sent = t.world.hosts.at(1)->sent;
  t.world.run(Time{5000});
  EXPECT_EQ(t.world.hosts.at(1)->sent, sent) << "nobody looks for it";
}

TEST(Cluster, ARestartedNodeAtTheSameAddressIsBackBeforeItsOldOneIsMissed) {
  TwoDaemons t;
  t.world.kill(2);
  const Time began = t.world.now;
  t.world.start(2, false, {1});
  EXPECT_TRUE(t.world.run_until([&] { return t.world.whole(); }, Time{5000}));
  EXPECT_LT(t.world.now - began, Time{300});
}

TEST(Cluster, ABootServerThatForgotAllIsToldByTheOthers) {
  ClusterWorld world{3};
  for (NodeId id = 1; id <= 5; ++id)
    world.start(id, id == 1, id == 1 ? std::vector<NodeId>{} : std::vector<NodeId>{1});
  ASSERT_TRUE(world.run_until([&] { return world.whole(); }, Time{5000}));
  world.kill(1);
  world.hosts.at(1)->known.clear();
  world.run(Time{2000});
  world.start(1, true, {});
  EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{8000}));
  EXPECT_EQ(world.wrong, "");
}

TEST(Cluster, ABootServerStartedAgainKeepsTheIdsOfThoseThatItKnew) {
  TwoDaemons t;
  t.world.unique_ids = false;
  const std::uint64_t incarnation = t.world.hosts.at(2)->incarnation;
  t.world.kill(1);
  t.world.hosts.at(2)->stopped = true;  // longer than anybody waits for it
  t.world.start(1, true, {});
  auto& second = t.world.start(2, false, {1}, 102);
  t.world.run(Time{2500});
  EXPECT_TRUE(second.there.empty());
  EXPECT_EQ(second.cluster->kept_out(), Reason::id_alive);
  EXPECT_EQ(t.world.cluster(1).living().at(0).incarnation, incarnation);
  // It does not come: whoever has asked all the time may have the id.
  EXPECT_TRUE(t.world.run_until([&] { return !second.there.empty(); }, Time{5000}));
  EXPECT_GT(t.world.cluster(1).incarnation_of(2), incarnation);
}

// A node whose packets arrive but that hears nothing: both ends give it up, and neither half stays.
TEST(Cluster, ALinkThatIsDeafOneWayIsGivenUpByBothEnds) {
  TwoDaemons t;
  bool deaf = true;
  t.world.cut = [&](NodeId from, NodeId to) { return deaf && from == 1 && to == 2; };
  t.world.run(Time{1200});
  EXPECT_TRUE(t.world.hosts.at(1)->there.empty());
  EXPECT_TRUE(t.world.hosts.at(2)->there.empty());
  t.world.run(Time{3000});
  EXPECT_TRUE(t.world.hosts.at(1)->there.empty());
  deaf = false;
  EXPECT_TRUE(t.world.run_until([&] { return t.world.whole(); }, Time{8000}));
}

// Packets that never end keep no daemon from its own work.
TEST(Cluster, AFloodOfPacketsHoldsUpNoHeartbeat) {
  TwoDaemons t;
  const std::vector<std::byte> noise(128, std::byte{1});
  for (int i = 0; i < 3000; ++i) {
    t.world.run(Time{1});
    for (const NodeId id : {NodeId{1}, NodeId{2}})
      t.world.cluster(id).received(ClusterWorld::address_of(99), noise, t.world.now);
  }
  EXPECT_TRUE(t.world.whole());
  EXPECT_EQ(t.world.wrong, "");
  for (const auto& row : t.world.cluster(1).rows()) {
    if (row.state == Cluster::State::self) continue;
    EXPECT_EQ(row.state, Cluster::State::alive);
    EXPECT_LE(row.since, t.world.now - Time{3000}) << "never given up";
  }
}

// Stopped for longer than it has patience, while the other, which has more, has gone on talking.
TEST(Cluster, WhoWasHeldUpHearsWhatWaitsBeforeItGivesAnybodyUp) {
  ClusterWorld world{1};
  world.dead_after = Time{5000};
  world.start(1, true, {});
  world.dead_after = Time{1000};
  auto& held_up = world.start(2, false, {1});
  ASSERT_TRUE(world.run_until([&] { return world.whole(); }, Time{5000}));
  std::size_t ends = 0;
  held_up.on_gone = [&](NodeId, bool) { ++ends; };
  held_up.stopped = true;
  world.run(Time{1500});
  ASSERT_FALSE(held_up.waiting.empty());
  world.go_on(2);
  world.run(Time{500});
  EXPECT_EQ(ends, 0u);
  held_up.stopped = true;
  world.kill(1);
  world.run(Time{1500});
  world.go_on(2);
  world.run(2 * ClusterWorld::kTick);
  EXPECT_EQ(ends, 1u) << "and gives up at once who has not said anything";
}

TEST(Cluster, ANodeThatTakesNothingIsGivenUpAndMemoryStaysBounded) {
  TwoDaemons t;
  t.world.cut = [](NodeId from, NodeId) { return from == 2; };  // its confirmations are lost
  std::uint64_t taken = 0;
  while (t.world.cluster(1).tell(2, std::vector<std::byte>(500, std::byte{200}), t.world.now)) ++taken;
  EXPECT_LE(taken * 500, node::Pair::kMostUnconfirmed);
  t.world.run(Time{50});
  EXPECT_TRUE(t.world.hosts.at(1)->there.empty());
}

// What processes ask for never ends a pair, and leaves room for what has to be said.
TEST(Cluster, ProcessesRequestsFillNoPair) {
  TwoDaemons t;
  bool lost = true;
  t.world.cut = [&](NodeId from, NodeId) { return lost && from == 2; };  // its confirmations are lost
  std::size_t asked = 0;
  while (t.world.cluster(1).has_room(2)) {
    ASSERT_TRUE(t.world.cluster(1).tell(2, std::vector<std::byte>(500, std::byte{200}), t.world.now));
    asked += 500;
  }
  EXPECT_LE(asked, node::Pair::kMostAsked + 500);
  for (int i = 0; i < 5000; ++i)  // all links of one user, say
    ASSERT_TRUE(t.world.cluster(1).tell(2, std::vector<std::byte>(29, std::byte{200}), t.world.now));
  lost = false;
  EXPECT_TRUE(t.world.run_until([&] { return t.world.cluster(1).has_room(2); }, Time{5000}));
  EXPECT_FALSE(t.world.cluster(1).has_room(3)) << "nobody";
  EXPECT_TRUE(t.world.run_until([&] { return t.world.hosts.at(2)->messages[1].size() == asked / 500 + 5000; },
                                Time{20000}));
  EXPECT_EQ(t.world.wrong, "");
}

std::string shown_address(const Cluster& cluster, NodeId node, Time now) {
  for (const node::MemberReply& row : node::members_of(cluster, now))
    if (row.id == node) return row.address;
  return "no row";
}

// The daemon goes on, its host has another address: at that one the other meets it. Of one that has left
// there is none.
TEST(Cluster, AnAddressThatANodeNoLongerHasIsNotShown) {
  TwoDaemons t;
  const auto shown = [&] { return shown_address(t.world.cluster(1), 2, t.world.now); };
  EXPECT_EQ(shown(), "10.0.0.2:7471");
  auto host = t.world.hosts.extract(2);
  host.mapped()->address = ClusterWorld::address_of(9);
  host.key() = 9;
  t.world.hosts.insert(std::move(host));
  EXPECT_TRUE(t.world.run_until([&] { return shown() == "10.0.0.9:7471"; }, Time{20000})) << shown();
  EXPECT_EQ(t.world.cluster(1).place_of(2), ClusterWorld::address_of(9));
  t.world.leave(9);
  t.world.run(Time{20});
  EXPECT_EQ(t.world.cluster(1).rows()[1].state, Cluster::State::left);
  EXPECT_EQ(shown(), "");
}

// Whoever copies packets on the way can write another source on them: nothing goes there.
TEST(Cluster, ThePairIsWithTheAddressThatWasGreeted) {
  ClusterWorld world{1};
  world.start(1, true, {});
  world.start(2, false, {1});
  world.recording = true;
  world.cut = [](NodeId from, NodeId) { return from == 1; };  // comes by another way
  std::size_t carried = 0;
  for (int i = 0; i < 200; ++i) {
    world.run(Time{5});
    for (; carried < world.record.size(); ++carried) {
      const auto packet = world.record[carried];
      EXPECT_NE(packet.to, ClusterWorld::address_of(99));
      if (packet.from == ClusterWorld::address_of(1) && packet.to == ClusterWorld::address_of(2))
        world.cluster(2).received(ClusterWorld::address_of(99), packet.bytes, world.now);
    }
  }
  EXPECT_TRUE(world.whole());
  EXPECT_EQ(world.cluster(2).place_of(1), ClusterWorld::address_of(1));
  EXPECT_EQ(world.cluster(1).place_of(2), ClusterWorld::address_of(2));
  EXPECT_EQ(world.cluster(1).place_of(3), std::nullopt);
}

}  // namespace
}  // namespace hamlyn
