// Introductions and look-ups that wait: who is taken up when, how much is done for it, and for how long
// strangers can make others wait. Counted are questions whether somebody has read.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "node/mind/pending_introductions.h"
#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::ReplyKind;
using node::RequestKind;
using node::Time;

constexpr std::uint32_t kRogue = 1001;
constexpr std::uint64_t kAtOnce = 16;  // of the node, for whatever happens

// A victim (1) that reads nothing, and a rogue's connections, from 1000 on, that all ask for links with it.
struct Beset {
  explicit Beset(std::uint64_t askers) {
    victim = world.attach(1).interface;
    world.slow.insert(1);
    for (std::uint64_t i = 0; i < askers; ++i) {
      world.attach(1000 + i, kRogue, kRogue);
      world.say(1000 + i, ask(RequestKind::introduce, 1, victim));
    }
  }
  // What `act` has the node ask.
  template <class Act>
  std::uint64_t questions(Act&& act) {
    const std::uint64_t before = world.questions;
    act();
    return world.questions - before;
  }

  NodeWorld world{with_quotas({.interfaces = 4096, .links = 8192}, {.interfaces = 65536, .links = 131072})};
  std::uint64_t victim = 0;
};

TEST(NodeHeld, AnIntroductionCostsTheSameHoweverManyWait) {
  std::set<std::vector<std::uint64_t>> costs;
  for (const std::uint64_t askers : {2u, 8u, 128u, 1791u}) {
    Beset beset(askers);
    NodeWorld& world = beset.world;
    world.attach(2);
    const std::uint64_t late =
        beset.questions([&] { world.say(2, ask(RequestKind::introduce, 1, beset.victim)); });
    const std::uint64_t three = world.attach(3).interface;
    const std::uint64_t others =
        beset.questions([&] { world.say(2, ask(RequestKind::introduce, 2, three)); });
    world.slow.erase(1);
    world.room_for[beset.victim] = 1;  // it has read what makes room for one
    const std::uint64_t reads = beset.questions([&] { world.node.caught_up(1); });
    EXPECT_EQ(world.pairs, 2u);
    const std::uint64_t gone = beset.questions([&] { world.node.disconnected(2); });
    costs.insert({late, others, reads, gone});
  }
  ASSERT_EQ(costs.size(), 1u) << "of 2, 8, 128 and 1791 askers";
  for (const std::uint64_t cost : *costs.begin()) EXPECT_LE(cost, 8u);
}

// The rogue has asked first, and by many connections.
TEST(NodeHeld, OfThoseWhoWaitForASlowReaderUsersTakeTurns) {
  Beset beset(500);
  NodeWorld& world = beset.world;
  world.attach(2, kRogue + 1, kRogue + 1);
  world.say(2, ask(RequestKind::introduce, 1, beset.victim));
  for (int room = 1; room <= 2; ++room) {
    EXPECT_TRUE(world.quiet(2) || room == 2);
    world.slow.erase(1);
    world.room_for[beset.victim] = 1;
    world.node.caught_up(1);
    world.say(1000, ask(RequestKind::cancel, 1));  // and who asks now does not overtake
    world.say(1000, ask(RequestKind::introduce, 1, beset.victim));
  }
  EXPECT_EQ(world.reply(2).kind, ReplyKind::introduced);
}

TEST(PendingIntroductions, WhoGoesOnWaitingForTheSameKeepsItsPlace) {
  using node::Obstacle;
  using node::PendingIntroductions;
  const Obstacle reading{Obstacle::Kind::reading, 1};
  PendingIntroductions introductions;
  const PendingIntroductions::Key first{10, 5}, second{11, 5};
  introductions.add(first, kRogue, 1, reading);
  introductions.add(second, kRogue, 1, reading);
  introductions.move(first, reading);
  EXPECT_EQ(introductions.next(1), first);
  introductions.move(first, {Obstacle::Kind::link, 0});
  EXPECT_EQ(introductions.next(1), second);
  introductions.move(first, reading);
  EXPECT_EQ(introductions.next(1), second) << "and who comes back is behind the others";
}

// It has read, and nobody has said so yet: who asks now does not come before who waits.
TEST(NodeHeld, NobodyOvertakesThoseWhoWait) {
  Beset beset(1);
  NodeWorld& world = beset.world;
  world.slow.erase(1);
  world.attach(2);
  world.say(2, ask(RequestKind::introduce, 1, beset.victim));
  EXPECT_TRUE(world.quiet(2));
  world.node.caught_up(1);
  EXPECT_EQ(world.reply(1000).kind, ReplyKind::introduced);
  EXPECT_EQ(world.reply(2).kind, ReplyKind::introduced);
}

TEST(NodeHeld, LookUpsAndIntroductionsThatWaitLeaveEachOtherRoom) {
  Beset beset(0);
  NodeWorld& world = beset.world;
  world.attach(2);
  for (std::uint64_t i = 0; i < 256; ++i)
    world.say(2, ask(RequestKind::lookup, 1000 + i, "later" + std::to_string(i), kWait));
  world.say(2, ask(RequestKind::introduce, 1, beset.victim));
  EXPECT_TRUE(world.quiet(2)) << "it waits";
  world.say(2, ask(RequestKind::lookup, 2000, "more", kWait));
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::out_of_memory);
}

// Whatever happens to one process, others are served before all who waited for it have been.
TEST(NodeHeld, WhoWaitedForOneThatGoesIsRefusedAFewAtATime) {
  Beset beset(1791);
  NodeWorld& world = beset.world;
  const auto told = [&] {
    std::uint64_t out = 0;
    for (std::uint64_t i = 0; i < 1791; ++i) out += world.quiet(1000 + i) ? 0u : 1u;
    return out;
  };
  world.node.disconnected(1);
  EXPECT_LE(told(), 32u);
  EXPECT_TRUE(world.node.has_more());
  EXPECT_EQ(world.node.deadline(), world.now) << "there is more to be done";
  world.attach(2);
  world.say(2, ask(RequestKind::lookup, 1, "nobody"));
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::name_unknown) << "at once";
  int steps = 0;
  for (; world.node.has_more(); ++steps) world.node.go_on();
  EXPECT_LE(steps, 1791 + 1);
  EXPECT_EQ(told(), 1791u);
  for (std::uint64_t i = 0; i < 1791; ++i)
    ASSERT_EQ(error_of(world.reply(1000 + i)), ErrorCode::name_unknown);
}

TEST(NodeHeld, ManyWhoWaitForANameAreToldAFewAtATime) {
  NodeWorld world;
  for (std::uint64_t i = 0; i < 500; ++i) {
    world.attach(1000 + i, kRogue, kRogue);
    world.say(1000 + i, ask(RequestKind::lookup, 1, "toy", kWait));
  }
  world.attach(1);
  node::Request publish = ask(RequestKind::publish, 1, "toy");
  publish.flags = node::Request::kEveryone;
  world.say(1, publish);
  EXPECT_EQ(world.reply(1).kind, ReplyKind::published);
  const auto told = [&] {
    std::uint64_t out = 0;
    for (std::uint64_t i = 0; i < 500; ++i) out += world.quiet(1000 + i) ? 0u : 1u;
    return out;
  };
  EXPECT_LE(told(), 16u);
  while (world.node.has_more()) world.node.go_on();
  EXPECT_EQ(told(), 500u);
}

// What has happened once more is looked at once.
TEST(NodeHeld, AProcessThatReadsAgainAndAgainCostsNoMoreSteps) {
  std::set<std::uint64_t> costs;
  for (const int times : {1, 2, 20}) {
    Beset beset(500);
    NodeWorld& world = beset.world;
    world.slow.erase(1);
    for (int i = 0; i < times; ++i) world.node.caught_up(1);
    std::uint64_t steps = static_cast<std::uint64_t>(times) * kAtOnce;
    for (; world.node.has_more(); ++steps) world.node.go_on();
    EXPECT_EQ(world.pairs, 500u);
    costs.insert(steps);
  }
  EXPECT_EQ(costs.size(), 1u) << "once, twice and twenty times";
}

// Who is given a name that many want makes that happen, which they wait for already.
TEST(NodeHeld, ANameThatIsGivenWhileThoseWhoWaitForItAreLookedAtCostsNoMoreSteps) {
  constexpr std::uint64_t kClaims = 100;
  NodeWorld world;
  world.attach(1);
  world.say(1, ask(RequestKind::publish, 1, "toy"));
  world.node.broken(1);
  for (std::uint64_t i = 0; i < kClaims; ++i) {
    world.attach(1000 + i);
    world.say(1000 + i, ask(RequestKind::publish, 1, "toy"));
    EXPECT_TRUE(world.quiet(1000 + i)) << "it is kept";
  }
  world.node.disconnected(1);
  std::uint64_t steps = kAtOnce;  // what a step makes happen waits for its own
  for (; world.node.has_more(); ++steps) world.node.go_on();
  EXPECT_EQ(steps, kClaims + 1) << "one for each, and one that finds nobody";
  for (std::uint64_t i = 0; i < kClaims; ++i)
    EXPECT_EQ(error_of(world.reply(1000 + i)), i == 0 ? ErrorCode{} : ErrorCode::name_taken) << i;
}

// What a process that goes had is given back by and by.
TEST(NodeHeld, AProcessWithManyLinksIsForgottenInParts) {
  Beset beset(1000);
  NodeWorld& world = beset.world;
  world.slow.erase(1);
  world.node.caught_up(1);
  while (world.node.has_more()) world.node.go_on();
  EXPECT_EQ(world.pairs, 1000u);
  world.node.disconnected(1);
  EXPECT_TRUE(world.node.has_more());
  int steps = 0;
  for (; world.node.has_more(); ++steps) world.node.go_on();
  EXPECT_GE(steps, 80);
  EXPECT_LE(steps, 126) << "8 at a time";
  world.attach(2);
  world.say(2, ask(RequestKind::list, 1));
  node::NodeReply end;
  while (!world.quiet(2)) {
    if (world.sent[2].front().size() == sizeof end)
      end = world.take<node::NodeReply>(2);
    else
      world.sent[2].pop_front();
  }
  EXPECT_EQ(end.links, 1000u) << "those of the others";
}

// What strangers fill and only they would empty has an end.

TEST(NodeHeld, AnIntroductionThatNobodyDealsWithIsRefusedAfterATime) {
  Beset beset(1);
  NodeWorld& world = beset.world;
  world.pass(Time{5000});
  world.node.caught_up(1);  // it is not: that gives nobody more time
  world.pass(Time{4999});
  EXPECT_TRUE(world.quiet(1000));
  world.pass(Time{1});
  EXPECT_EQ(error_of(world.reply(1000)), ErrorCode::timed_out);
  EXPECT_FALSE(world.node.deadline());
}

// Rogues tell of links with a server that it does not have: what it asks of them waits, but not for ever, and
// leaves it room to ask for other things.
TEST(NodeHeld, LinksThatAreMadeUpHoldNobodyUpForEver) {
  NodeWorld world;
  const std::uint64_t server = world.attach(1).interface;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::uint64_t rogue = world.attach(1000 + i, kRogue, kRogue).interface;
    node::Request adopt = ask(RequestKind::adopt_link, 0, 1'000'000 + i);
    adopt.peer = server;
    world.say(1000 + i, adopt);
    world.say(1, ask(RequestKind::introduce, 1 + i, rogue));
    if (i < 256)
      EXPECT_TRUE(world.quiet(1)) << i;
    else
      EXPECT_EQ(error_of(world.reply(1)), ErrorCode::out_of_memory);
  }
  world.say(1, ask(RequestKind::lookup, 500, "later", kWait));
  EXPECT_TRUE(world.quiet(1)) << "it may wait for other things";
  world.pass(Time{4999});
  EXPECT_TRUE(world.quiet(1));
  world.pass(Time{1});
  EXPECT_LE(world.pairs, 2u * kAtOnce) << "a few at a time";
  world.pass_all(Time{0});
  for (std::uint64_t i = 0; i < 256; ++i) ASSERT_EQ(world.reply(1).kind, ReplyKind::introduced) << i;
}

TEST(NodeHeld, LinksThatBothEndsTellOfStay) {
  NodeWorld world;
  const std::uint64_t one = world.attach(1).interface, two = world.attach(2).interface;
  for (const auto& [connection, peer] : {std::pair{1u, two}, std::pair{2u, one}}) {
    node::Request adopt = ask(RequestKind::adopt_link, 0, 77);
    adopt.peer = peer;
    world.say(connection, adopt);
    world.pass(Time{1000});
  }
  EXPECT_FALSE(world.node.deadline());
  world.pass(Time{60000});
  world.say(1, ask(RequestKind::introduce, 1, two));
  const node::Reply linked = world.reply(1);
  EXPECT_EQ(linked.kind, ReplyKind::linked);
  EXPECT_EQ(linked.link, 77u);
}

// The number of a link of others proves nothing.
TEST(NodeHeld, ALinkIsProvenByItsOtherEndAlone) {
  NodeWorld world;
  const std::uint64_t one = world.attach(1).interface, two = world.attach(2).interface;
  const std::uint64_t rogue = world.attach(3, kRogue, kRogue).interface;
  const auto adopt = [&](std::uint64_t connection, std::uint64_t peer) {
    node::Request request = ask(RequestKind::adopt_link, 0, 77);
    request.peer = peer;
    world.say(connection, request);
  };
  adopt(1, two);
  adopt(2, one);
  adopt(3, one);
  world.say(1, ask(RequestKind::introduce, 1, rogue));
  EXPECT_TRUE(world.quiet(1));
  world.pass(Time{5000});
  EXPECT_EQ(world.reply(1).kind, ReplyKind::introduced) << "what the rogue had told of is forgotten";
}

}  // namespace
}  // namespace hamlyn::test
