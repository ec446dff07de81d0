// How a node looks for names: whom it asks, what it reads by itself, and what it keeps.
#include <gtest/gtest.h>

#include "test/unit/name_sites.h"

namespace hamlyn::internal_::segment {
namespace {

TEST(NameService, ReadsWhatAnotherNodeHasWithoutAskingIt) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 77);
  const unsigned asked = sites.at(1).told(node::FarKind::lookup);
  const unsigned found = sites.at(2).told(node::FarKind::found);
  const Reply reply = sites.look(1, "prices", kCached);
  EXPECT_EQ(reply.kind, ReplyKind::found);
  EXPECT_EQ(reply.ticket.key, 77u);
  EXPECT_EQ(reply.uid, 1000u);
  EXPECT_EQ(node::node_of(reply.peer), 2u);
  EXPECT_EQ(sites.at(1).told(node::FarKind::lookup), asked);
  EXPECT_EQ(sites.at(2).told(node::FarKind::found), found);
}

TEST(NameService, NoClerkIsStartedForAFewNames) {
  Sites sites{2, 4};
  sites.publish(2, "prices", 77);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sites.look(1, "prices", kCached).kind, ReplyKind::found);
    EXPECT_EQ(sites.at(1).starts, 0);
  }
  sites.look(1, "prices", kCached);
  EXPECT_EQ(sites.at(1).starts, 1);
  EXPECT_EQ(sites.at(2).starts, 1) << "asked for its registry, it has a clerk, too";
  Sites never{2, 0};
  never.publish(2, "prices", 77);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(never.look(1, "prices", kCached).kind, ReplyKind::found);
  EXPECT_EQ(never.at(1).starts, 0);
}

TEST(NameService, WhatWasReadLatelyIsNotReadAgain) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 77);
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 77u);
  const std::uint64_t reads = sites.at(1).reads;
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 77u);
  EXPECT_EQ(sites.at(1).reads, reads);
  EXPECT_EQ(sites.look(1, "prices").ticket.key, 77u);
  EXPECT_GT(sites.at(1).reads + sites.at(1).told(node::FarKind::lookup), reads);
}

TEST(NameService, AChangedRegistryPurgesTheCacheAndRenewsWhatIsUsed) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "used", 1);
  sites.publish(2, "withdrawn", 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(sites.look(1, "used", kCached).ticket.key, 1u);
    EXPECT_EQ(sites.look(1, "withdrawn", kCached).ticket.key, 2u);
  }
  sites.publish(2, "used", 3);
  sites.at(2).world.say(1, ask(RequestKind::withdraw, 2, "withdrawn"));
  EXPECT_EQ(sites.look(1, "used", kCached).ticket.key, 1u) << "until the clerk has looked";
  ClerkMessage changed;
  changed.kind = ClerkKind::changed;
  changed.node = 2;
  sites.at(1).hears(changed);
  sites.settle();
  const std::uint64_t reads = sites.at(1).reads;
  EXPECT_EQ(sites.look(1, "used", kCached).ticket.key, 3u);
  EXPECT_EQ(sites.at(1).reads, reads) << "read again already";
  EXPECT_EQ(error_of(sites.look(1, "withdrawn", kCached)), ErrorCode::name_unknown);
}

TEST(NameService, AForcedLookUpSeesWhatWasChangedJustNow) {
  Sites sites{2};
  sites.warm(1, 2);
  for (std::uint64_t key = 1; key < 50; ++key) {
    sites.publish(2, "prices", key);
    EXPECT_EQ(sites.look(1, "prices").ticket.key, key);
  }
  sites.at(2).world.say(1, ask(RequestKind::withdraw, 2, "prices"));
  EXPECT_EQ(error_of(sites.look(1, "prices")), ErrorCode::name_unknown);
}

TEST(NameService, AProcessThatHasGoneIsInNoCache) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  EXPECT_EQ(sites.look(1, "prices", kCached).kind, ReplyKind::found);
  // Node 2 says that the process's end of a link has ended.
  const std::uint64_t interface = std::uint64_t{2} << node::kNodeShift | 100;
  const std::uint64_t mine = std::uint64_t{1} << node::kNodeShift | 100;
  sites.at(1).world.node.node_said(2, node::encode(node::FarEnded{5, interface, mine, LinkReason::ended}),
                                   sites.at(1).world.now);
  sites.at(2).world.node.disconnected(1);
  EXPECT_EQ(error_of(sites.look(1, "prices", kCached)), ErrorCode::name_unknown);
}

TEST(NameService, RightsHoldForWhatIsReadAndForWhatIsCached) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "private", 1);
  EXPECT_EQ(error_of(sites.look(1, "private", kCached, 0, 3)), ErrorCode::not_permitted);
  EXPECT_EQ(sites.look(1, "private", kCached).kind, ReplyKind::found);
  EXPECT_EQ(error_of(sites.look(1, "private", kCached, 0, 3)), ErrorCode::not_permitted);
}

TEST(NameService, WhoWaitsIsToldWhenTheNameComes) {
  Sites sites{3};
  sites.warm(1, 2);
  sites.warm(1, 3);
  for (const NodeId hint : {NodeId{0}, NodeId{2}, NodeId{3}}) {
    const std::string name = "late." + std::to_string(hint);
    EXPECT_EQ(sites.look(1, name, kWait, hint).kind, ReplyKind{});
    sites.publish(3, name, 9);
    sites.settle();
    EXPECT_EQ(sites.last(1, 2).ticket.key, 9u) << hint;
  }
}

TEST(NameService, AHintIsLookedAtFirstAndMayBeWrong) {
  Sites sites{3};
  sites.warm(1, 2);
  sites.warm(1, 3);
  sites.publish(2, "prices", 22);
  sites.publish(3, "prices", 33);
  EXPECT_EQ(sites.look(1, "prices", 0, 3).ticket.key, 33u);
  EXPECT_EQ(sites.look(1, "prices", 0, 2).ticket.key, 22u);
  EXPECT_EQ(sites.look(1, "prices", kCached, 3).ticket.key, 33u) << "not what the cache has of the other";
  sites.publish(2, "only", 2);
  EXPECT_EQ(sites.look(1, "only", kCached, 3).ticket.key, 2u);
  EXPECT_EQ(sites.look(1, "only", 0, 77).ticket.key, 2u) << "of a node that there is not";
  EXPECT_EQ(error_of(sites.look(1, "nowhere", kCached, 3)), ErrorCode::name_unknown);
}

TEST(NameService, TheCheaperWayIsTaken) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  const auto look = [&](int times) {
    const unsigned before = sites.at(1).told(node::FarKind::lookup);
    for (int i = 0; i < times; ++i) {
      sites.now += 2'000'000'000;
      EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
    }
    return sites.at(1).told(node::FarKind::lookup) - before;
  };
  EXPECT_LE(look(500), 9u);
  sites.read_cost = 1'000'000;
  look(1000);
  EXPECT_GE(look(500), 490u);
  sites.read_cost = 1'000;
  look(5000);
  EXPECT_LE(look(500), 9u);
}

TEST(NameService, ARegistryGrowsWithItsNames) {
  Sites sites{2};
  sites.warm(1, 2);
  for (int i = 0; i < 500; ++i)
    sites.publish(2, "name" + std::to_string(i), static_cast<std::uint64_t>(i) + 1);
  sites.settle();
  EXPECT_GT(sites.at(2).memories.size(), 2u);
  const std::uint64_t reads = sites.at(1).reads;
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(sites.look(1, "name" + std::to_string(i)).ticket.key, static_cast<std::uint64_t>(i) + 1);
  EXPECT_GE(sites.at(1).reads, reads + 490);
}

// Until its clerk shows the new table, others read the one before, which says nothing.
TEST(NameService, ATableThatWasLeftBehindMisleadsNobody) {
  Sites sites{2};
  sites.warm(1, 2);
  const auto* const before = sites.at(2).shown;
  for (int i = 0; i < 100; ++i) sites.publish(2, "name" + std::to_string(i), 5);
  EXPECT_EQ(sites.at(2).shown, before) << "nothing has been settled";
  EXPECT_EQ(sites.look(1, "name99").ticket.key, 5u);
  EXPECT_EQ(sites.look(1, "name0").ticket.key, 5u);
}

}  // namespace
}  // namespace hamlyn::internal_::segment
