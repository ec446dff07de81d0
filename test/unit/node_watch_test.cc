// Who watches the nodes is told of each, and of every change.
#include <gtest/gtest.h>

#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using test::ask;
using test::error_of;
using test::FarWorld;
using test::NodeWorld;
using test::RequestKind;
using test::Time;

using node::MemberReply;
using node::NodeReply;

TEST(WatchedNodes, AllAreToldAndThenEveryChange) {
  FarWorld far{1};
  far.rows(1).resize(2);
  ASSERT_TRUE(far.watch(1, 7));
  for (std::uint16_t id = 1; id <= 2; ++id) {
    const auto row = far.at(1).take<MemberReply>(7);
    EXPECT_EQ(row.id, id);
    EXPECT_EQ(row.request, 5u);
    EXPECT_EQ(row.changes, 0u);
  }
  EXPECT_EQ(far.at(1).take<NodeReply>(7).request, 5u) << "that was all";
  far.look(1);
  EXPECT_TRUE(far.at(1).quiet(7)) << "nothing has changed";
  far.rows(1)[1].state = 3;
  far.look(1);
  far.rows(1)[1].incarnation = 9;
  far.look(1);
  auto row = far.at(1).take<MemberReply>(7);
  EXPECT_EQ(row.state, 3u);
  EXPECT_EQ(row.changes, 1u);
  row = far.at(1).take<MemberReply>(7);
  EXPECT_EQ(row.incarnation, 9u);
  EXPECT_EQ(row.changes, 1u);
  far.rows(1)[1].since_ms = 77;
  far.look(1);
  EXPECT_TRUE(far.at(1).quiet(7)) << "time passes: no change";
  far.pass(Time{120000});
  EXPECT_FALSE(far.at(1).dropped(7)) << "it may watch as long as it likes";
}

TEST(WatchedNodes, WhoReadsLateIsToldTheLastOfEachAndHowManyThatWere) {
  FarWorld far{1};
  far.rows(1).resize(2);
  ASSERT_TRUE(far.watch(1, 7));
  ASSERT_TRUE(far.watch(1, 8));
  far.at(1).sent.clear();
  far.at(1).slow.insert(7);
  for (const std::uint32_t state : {2u, 3u, 1u}) {
    far.rows(1)[1].state = state;
    far.look(1);
    EXPECT_EQ(far.at(1).take<MemberReply>(8).state, state) << "nobody else waits for it";
  }
  EXPECT_TRUE(far.at(1).quiet(7));
  far.at(1).slow.clear();
  far.at(1).node.caught_up(7);
  const auto row = far.at(1).take<MemberReply>(7);
  EXPECT_EQ(row.state, 1u);
  EXPECT_EQ(row.changes, 3u);
  EXPECT_TRUE(far.at(1).quiet(7));
}

TEST(WatchedNodes, ASnapshotThatIsReadLateComesWhole) {
  FarWorld far{1};
  far.at(1).slow.insert(7);
  ASSERT_TRUE(far.watch(1, 7));
  EXPECT_TRUE(far.at(1).quiet(7));
  far.rows(1)[4].state = 2;
  far.look(1);
  far.at(1).slow.clear();
  far.at(1).node.caught_up(7);
  for (std::uint16_t id = 1; id <= 70; ++id) {
    const auto row = far.at(1).take<MemberReply>(7);
    EXPECT_EQ(row.id, id);
    EXPECT_EQ(row.state, id == 5 ? 2u : 0u);
  }
  EXPECT_EQ(far.at(1).take<NodeReply>(7).request, 5u);
}

TEST(WatchedNodes, WhatWatchersMayNot) {
  node::NodeOptions options;
  options.quotas.interfaces = 1;
  FarWorld far{1, options};
  ASSERT_TRUE(far.watch(1, 7));
  far.watch(1, 8);
  EXPECT_EQ(error_of(far.at(1).reply(8)), ErrorCode::quota_interfaces);
  far.at(1).say(7, ask(RequestKind::nodes, 6));
  EXPECT_TRUE(far.at(1).dropped(7)) << "it asks nothing else";
  far.at(1).say(8, ask(RequestKind::watch, 6));
  EXPECT_FALSE(far.at(1).dropped(8)) << "now there is room";
  far.at(1).node.disconnected(8);
  far.at(1).attach(9);
  far.at(1).say(9, ask(RequestKind::watch, 6));
  EXPECT_TRUE(far.at(1).dropped(9)) << "whoever is attached has a connection for other things";
}

TEST(WatchedNodes, ANodeOfNoClusterHasNone) {
  NodeWorld world;
  node::Hello hello;
  hello.flags = node::Hello::kObserver;
  world.attach(1, 1000, 1000, hello);
  world.say(1, ask(RequestKind::watch, 5));
  EXPECT_EQ(world.take<NodeReply>(1).request, 5u);
}

}  // namespace
}  // namespace hamlyn
