// What processes of other nodes have asked for and is taken up when something becomes free: a few requests at
// once, the rest a step at a time, and users in turn. Counted are messages and questions, never time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "node/mind/fair_order.h"
#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using node::FairOrder;
using node::FarKind;
using test::ask;
using test::error_of;
using test::FarReply;
using test::FarWorld;
using test::kWait;
using test::publish;
using test::ReplyKind;
using test::RequestKind;
using test::Time;

constexpr std::uint32_t kRogue = 1001;
constexpr std::uint64_t kMany = 500;
constexpr std::uint64_t kAtOnce = 16;  // of the node, for whatever happens

TEST(FairOrder, ServesTheFirstOfEachUserBeforeTheSecondOfAny) {
  FairOrder order;
  for (std::uint64_t serial = 0; serial < 5; ++serial) order.add({1, kRogue}, {1, serial});
  order.add({1, 7}, {1, 100});
  order.add({2, kRogue}, {2, 200});
  std::vector<std::uint64_t> serials;
  for (auto next = order.next({}); next; next = order.next(next->first))
    serials.push_back(next->second.second);
  EXPECT_EQ(serials, (std::vector<std::uint64_t>{0, 100, 200, 1, 2, 3, 4}));
}

TEST(FairOrder, AUserThatHadNothingWaitingIsInTheRoundThatIsServed) {
  FairOrder order;
  std::vector<FairOrder::Place> places;
  for (std::uint64_t serial = 0; serial < 100; ++serial)
    places.push_back(order.add({1, kRogue}, {1, serial}));
  for (std::size_t i = 0; i < 50; ++i) order.remove({1, kRogue}, places[i]);
  const FairOrder::Place place = order.add({1, 7}, {1, 1000});
  EXPECT_EQ(place.first, places[50].first) << "neither before nor behind it";
  EXPECT_EQ(order.users(), 2u);
  for (std::size_t i = 50; i < 100; ++i) order.remove({1, kRogue}, places[i]);
  EXPECT_EQ(order.users(), 1u);
  order.remove({1, 7}, place);
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(order.next({}));
}

// A victim (2, of node 2) that reads nothing, and processes of node 1, from 1000 on, that want links with it.
struct BesetFromAfar {
  BesetFromAfar() {
    victim = far.attach(2, 2);
    there.slow.insert(2);
    for (std::uint64_t i = 0; i < kMany; ++i) introduce(1000 + i, kRogue);
  }
  void introduce(std::uint64_t connection, std::uint32_t uid) {
    far.attach(1, connection, uid);
    far.at(1).say(connection, ask(RequestKind::introduce, 1, victim));
    far.settle();
  }
  std::uint64_t steps() {
    std::uint64_t out = 0;
    for (; there.node.has_more(); ++out) there.node.go_on();
    return out;
  }

  FarWorld far{2};
  test::NodeWorld& there = far.at(2);
  std::uint64_t victim = 0;
};

TEST(FarTurns, IntroductionsToOneThatHasReadAreMadeAFewAtATimeAndUsersTakeTurns) {
  BesetFromAfar b;
  b.introduce(1, 7);
  b.there.connect(900, 42, 42);
  const std::uint64_t before = b.there.questions;
  b.there.node.disconnected(900);
  EXPECT_EQ(b.there.questions, before) << "somebody else's end is nothing to those who wait";
  ASSERT_TRUE(b.there.quiet(2));
  b.there.slow.clear();
  b.there.node.caught_up(2);
  EXPECT_EQ(b.there.sent[2].size(), kAtOnce);
  b.far.settle();
  EXPECT_EQ(b.far.at(1).take<FarReply>(1).peer, b.victim)
      << "who has asked last, and once, is among the first";
  EXPECT_EQ(b.there.node.deadline(), b.there.now) << "there is more to be done";
  EXPECT_EQ(b.steps(), kMany + 1 - kAtOnce + 1);
  EXPECT_EQ(b.there.sent[2].size(), kMany + 1);
}

TEST(FarTurns, AProcessThatReadsAgainAndStopsIsAskedOnceMoreAndNoMore) {
  BesetFromAfar b;
  const std::uint64_t before = b.there.questions;
  b.there.node.caught_up(2);  // it has not
  b.steps();
  EXPECT_LE(b.there.questions - before, 2u) << "not once for each that waits";
  EXPECT_TRUE(b.there.quiet(2));
}

// First for the way of its own process, then for the peer's.
TEST(FarTurns, AnIntroductionThatGoesOnWaitingForSomethingElseKeepsItsDeadline) {
  FarWorld far{2};
  far.at(1).attach(1);
  const std::uint64_t silent = far.at(2).attach(2).interface;
  far.at(1).say(1, ask(RequestKind::introduce, 9, silent));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::open_fabric);
  far.pass(Time{9000});
  far.at(1).say(1, FarWorld::address());
  far.settle();
  far.pass(Time{999});
  EXPECT_TRUE(far.at(1).quiet(1));
  far.pass(Time{1});
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::timed_out) << "10 s after it has asked";
}

TEST(FarTurns, ANodeEndsNoRequestOfAnother) {
  constexpr std::uint64_t kLink = 77;
  FarWorld far{3};
  const std::uint64_t victim = far.attach(2, 2);
  far.at(2).slow.insert(2);
  node::FarIntroduce wanted;
  wanted.serial = 1;
  wanted.asker = std::uint64_t{3} << node::kNodeShift | 5;
  wanted.peer = victim;
  wanted.link = kLink;
  std::memcpy(wanted.end.engine, "efa", 3);
  wanted.end.address.resize(4);
  far.at(2).node.node_said(3, node::encode(wanted), Time{0});
  const std::uint64_t rogue = std::uint64_t{1} << node::kNodeShift | 5;
  far.at(2).node.node_said(1, node::encode(node::FarEnded{kLink, rogue, victim, LinkReason::ended}), Time{0});
  far.at(2).slow.clear();
  far.at(2).node.caught_up(2);
  EXPECT_EQ(far.at(2).take<FarReply>(2).link, kLink);
}

TEST(FarTurns, IntroductionsToOneThatGoesAreRefusedAFewAtATime) {
  BesetFromAfar b;
  b.there.node.disconnected(2);
  EXPECT_LE(b.far.said(FarKind::refused), 2 * kAtOnce);
  EXPECT_TRUE(b.there.node.has_more());
  b.steps();
  EXPECT_EQ(b.far.said(FarKind::refused), kMany);
}

TEST(FarTurns, IntroductionsToOneThatCannotBeReachedAreAllRefusedThoughItIsTriedAgainLater) {
  FarWorld far{2};
  const std::uint64_t silent = far.at(2).attach(2).interface;
  const auto introduce = [&](std::uint64_t connection) {
    far.attach(1, connection, kRogue);
    far.at(1).say(connection, ask(RequestKind::introduce, 1, silent));
    far.settle();
  };
  for (std::uint64_t i = 0; i < kMany; ++i) introduce(1000 + i);
  EXPECT_EQ(far.at(2).sent[2].size(), 1u) << "it is asked to open a way, once";
  far.at(2).say(2, ask(RequestKind::fabric_address, 0));  // there is none
  EXPECT_LE(far.said(FarKind::refused), kAtOnce);
  while (far.at(2).node.has_more()) far.at(2).node.go_on();
  EXPECT_EQ(far.said(FarKind::refused), kMany);
  EXPECT_EQ(far.at(2).sent[2].size(), 1u);
  introduce(1);
  EXPECT_EQ(far.at(2).sent[2].size(), 2u) << "who wants it next has it tried again";
}

TEST(FarTurns, LookUpsOfANameThatComesAreAnsweredAFewAtATimeAndUsersTakeTurns) {
  FarWorld far{2};
  const std::uint64_t owner = far.attach(2, 2);
  for (std::uint64_t i = 0; i < kMany; ++i) {  // one look-up of each user
    far.at(1).attach(1000 + i, static_cast<std::uint32_t>(5000 + i));
    far.at(1).say(1000 + i, ask(RequestKind::lookup, 1, "toy", kWait));
  }
  far.settle();
  far.at(2).say(2, publish(owner, "toy"));
  EXPECT_LE(far.said(FarKind::found), kAtOnce);
  EXPECT_TRUE(far.at(2).node.has_more());
  std::uint64_t steps = 0;
  for (; far.at(2).node.has_more(); ++steps) {
    const std::size_t before = far.said(FarKind::found);
    far.at(2).node.go_on();
    ASSERT_LE(far.said(FarKind::found), before + 1) << "one a step";
  }
  EXPECT_EQ(far.said(FarKind::found), kMany);
  EXPECT_LE(steps, kMany + 1);
}

// The words that `far` has said to the processes of node 1 from 1000 on.
std::uint64_t told(FarWorld& far) {
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < kMany; ++i) out += far.at(1).quiet(1000 + i) ? 0u : 1u;
  return out;
}

TEST(FarTurns, ThoseWhoWaitForANameOfAnotherNodeAreToldAFewAtATime) {
  FarWorld far{2};
  for (std::uint64_t i = 0; i < kMany; ++i) {
    far.attach(1, 1000 + i, kRogue);
    far.at(1).say(1000 + i, ask(RequestKind::lookup, 1, "toy", kWait));
  }
  far.attach(1, 1);
  far.settle();
  const std::uint64_t owner = far.attach(2, 2);
  far.at(2).say(2, publish(owner, "toy"));
  far.settle();
  EXPECT_EQ(told(far), kAtOnce);
  EXPECT_TRUE(far.at(1).node.has_more());
  far.attach(1, 3000, kRogue);
  far.at(1).say(3000, ask(RequestKind::lookup, 1, "toy", kWait));
  far.settle();
  EXPECT_FALSE(far.at(1).quiet(3000)) << "a new search, that joins none that is over";
  far.at(1).say(1, ask(RequestKind::lookup, 1, "toy"));
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode{}) << "another user is not held up";
  while (far.at(1).node.has_more()) far.at(1).node.go_on();
  for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_EQ(far.at(1).reply(1000 + i).kind, ReplyKind::found) << i;
}

TEST(FarTurns, WhomTheEndOfANodeConcernsIsToldAFewAtATime) {
  constexpr std::uint64_t kLinks = 200, kAsks = 100, kNames = 100;
  FarWorld far{2};
  test::NodeWorld& here = far.at(1);
  far.attach(1, 1);
  for (std::uint64_t i = 0; i < kLinks; ++i) {
    const std::uint64_t peer = far.attach(2, 1000 + i);
    here.say(1, ask(RequestKind::introduce, i + 1, peer));
    far.settle();
    ASSERT_EQ(here.take<FarReply>(1).peer, peer);
  }
  const std::uint64_t victim = far.attach(2, 2);
  far.at(2).slow.insert(2);
  for (std::uint64_t i = 0; i < kAsks; ++i) {
    far.attach(1, 3000 + i);
    here.say(3000 + i, ask(RequestKind::introduce, 1, victim));
  }
  far.attach(1, 5000);
  for (std::uint64_t i = 0; i < kNames; ++i)
    here.say(5000, ask(RequestKind::lookup, i + 1, "nobody" + std::to_string(i), kWait));
  far.settle();
  const auto all = [&] {
    std::uint64_t out = here.sent[1].size();
    for (std::uint64_t i = 0; i < kAsks; ++i) out += here.sent[3000 + i].size();
    return out;
  };
  ASSERT_EQ(all(), 0u);
  far.part(1, 2);
  EXPECT_EQ(all(), kAtOnce);
  EXPECT_EQ(here.node.deadline(), here.now) << "there is more to be done";
  far.meet(1, 2);
  far.settle();
  std::uint64_t steps = 0;
  for (; here.node.has_more(); ++steps) here.node.go_on();
  EXPECT_LE(steps, kLinks + kAsks + 2 * kNames + 40) << "and a few of 16 looks at whom it does not concern";
  far.settle();
  EXPECT_EQ(here.sent[1].size(), kLinks) << "each link has gone, though the node is back";
  for (std::uint64_t i = 0; i < kAsks; ++i) ASSERT_EQ(error_of(here.reply(3000 + i)), ErrorCode::peer_died);
  EXPECT_TRUE(here.quiet(5000)) << "who waits for a name goes on";
  const std::uint64_t owner = far.attach(2, 4);
  far.at(2).say(4, publish(owner, "nobody7"));
  far.settle();
  EXPECT_EQ(here.reply(5000).request, 8u) << "and hears of it when it comes there";
}

TEST(FarTurns, WhatIsOverByTheClockIsToldAFewAtATime) {
  FarWorld far{2};
  far.attach(1, 1);
  far.full.insert(2);
  for (std::uint64_t i = 0; i < 200; ++i)
    far.at(1).say(1, ask(RequestKind::lookup, i + 1, "nobody" + std::to_string(i)));
  far.at(1).pass(Time{2000});
  EXPECT_LE(far.at(1).sent[1].size(), 2 * kAtOnce) << "by their deadlines, and by a turn";
  far.at(1).pass_all(Time{0});
  EXPECT_EQ(far.at(1).sent[1].size(), 200u);
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::timed_out);
}

TEST(FarTurns, AnswersThatThereWasNoRoomForLeaveAFewAtATime) {
  FarWorld far{2};
  far.attach(1, 1);
  far.full.insert(1);
  for (std::uint64_t i = 0; i < kMany; ++i)
    far.at(1).say(1, ask(RequestKind::lookup, i + 1, "nobody" + std::to_string(i)));
  far.settle();
  EXPECT_EQ(far.said(FarKind::refused), 0u);
  far.full.clear();
  far.at(2).node.tick(far.at(2).now);
  EXPECT_LE(far.said(FarKind::refused), kAtOnce);
  while (far.at(2).node.has_more()) far.at(2).node.go_on();
  EXPECT_EQ(far.said(FarKind::refused), 256u) << "as many as one process may have waiting";
}

TEST(FarTurns, ANodeThatHasMuchToHearAgainIsWaitedForWithoutAStep) {
  FarWorld far{2};
  far.attach(1, 1);
  far.full.insert(1);
  for (std::uint64_t i = 1; i <= 200; ++i)
    far.at(1).say(1, ask(RequestKind::lookup, i, "nobody" + std::to_string(i)));
  far.settle();
  far.full.clear();
  far.at(2).node.tick(far.at(2).now);
  const std::size_t told = far.said(FarKind::refused);
  ASSERT_TRUE(far.at(2).node.has_more());
  far.full.insert(1);
  far.at(2).node.go_on();
  EXPECT_FALSE(far.at(2).node.has_more());
  EXPECT_EQ(far.said(FarKind::refused), told);
  far.full.clear();
  far.at(2).node.tick(far.at(2).now);
  while (far.at(2).node.has_more()) far.at(2).node.go_on();
  EXPECT_EQ(far.said(FarKind::refused), 200u) << "none was lost";
}

}  // namespace
}  // namespace hamlyn
