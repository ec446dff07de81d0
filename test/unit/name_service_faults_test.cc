// Names while clerks end, hang or lose what they show, and while nodes and processes go or lie.
#include <gtest/gtest.h>

#include <limits>

#include "test/unit/name_sites.h"

namespace hamlyn::internal_::segment {
namespace {

TEST(NameService, AClerkThatEndsLeavesNobodyWaiting) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.at(1).world.say(2, ask(RequestKind::lookup, 7, "prices"));
  sites.at(1).service.ended(sites.at(1).world.now);
  EXPECT_EQ(sites.at(1).service.deadline(), std::numeric_limits<std::int64_t>::max());
  sites.settle();
  EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::found) << "by asking";
  EXPECT_EQ(sites.at(1).starts, 1);
  sites.now += 2'000'000'000;
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  EXPECT_EQ(sites.at(1).starts, 2);
}

// Nobody looks for changes any more, and the next clerk begins with what it reads.
TEST(NameService, AClerkThatEndsTakesWhatItHasReadWithIt) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 1u);
  sites.at(1).service.ended(sites.at(1).world.now);
  sites.publish(2, "prices", 2);
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 2u);
}

TEST(NameService, AClerkThatNeverLastsIsStartedLessAndLessOften) {
  Sites sites{2};
  sites.warm(1, 2);
  auto& site = sites.at(1);
  const auto starts_in = [&](std::int64_t seconds) {
    const int before = site.starts;
    for (std::int64_t i = 0; i < seconds * 8; ++i) {
      EXPECT_EQ(sites.look(1, "warm.2").kind, ReplyKind::found) << "by asking";
      sites.now += 125'000'000;
    }
    return site.starts - before;
  };
  site.service.ended(site.world.now);  // it had lasted
  EXPECT_EQ(starts_in(1), 1);
  site.service.ended(site.world.now);
  site.startable = false;
  const int in_vain = starts_in(120);
  EXPECT_GE(in_vain, 6);
  EXPECT_LE(in_vain, 10);
  site.startable = true;
  EXPECT_EQ(starts_in(60), 1);
  site.service.ended(site.world.now);  // that one has lasted
  EXPECT_EQ(starts_in(1), 1);
}

TEST(NameService, WhatIsReadForTooLongIsAskedForAndAClerkThatIsStuckIsEnded) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  auto& service = sites.at(1).service;
  const std::int64_t start = sites.now;
  sites.stuck = true;
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind{});
  EXPECT_TRUE(service.tick(sites.at(1).world.now));
  sites.now = service.deadline();
  EXPECT_EQ(sites.now, start + 500'000'000);
  EXPECT_TRUE(service.tick(sites.at(1).world.now));
  sites.settle();
  EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::found);
  sites.now = service.deadline();
  EXPECT_EQ(sites.now, start + 2'000'000'000);
  EXPECT_FALSE(service.tick(sites.at(1).world.now));
  service.ended(sites.at(1).world.now);
  EXPECT_EQ(service.deadline(), std::numeric_limits<std::int64_t>::max());
}

// The clerk's words of meanwhile stand unread, or it was stopped together with its daemon.
TEST(NameService, ADaemonThatWasStoppedEndsNoClerkForIt) {
  for (const std::int64_t begin : {0, 400'000'000, 1'900'000'000}) {
    Sites sites{2};
    sites.warm(1, 2);
    sites.publish(2, "prices", 1);
    auto& service = sites.at(1).service;
    const node::Time time = sites.at(1).world.now;
    const std::int64_t start = sites.now;
    sites.stuck = true;
    EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind{});
    if (begin >= 500'000'000) {
      sites.now = service.deadline();
      EXPECT_TRUE(service.tick(time));
    }
    sites.now = start + begin + 3'000'000'000;
    EXPECT_TRUE(service.tick(time)) << begin;
    EXPECT_EQ(service.deadline(), sites.now + 500'000'000) << "time to say what it has read";
    sites.settle();
    EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::found) << "by asking";
    // One that is stuck is ended all the same.
    sites.now = service.deadline();
    EXPECT_FALSE(service.tick(time)) << begin;
  }
}

TEST(NameService, ARegistryThatIsLostIsAskedForAgain) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.at(2).shown = nullptr;  // its clerk has died; nobody knows yet
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found) << "by asking";
  sites.at(2).service.ended(sites.at(2).world.now);
  for (int i = 0; i < 4; ++i) {
    sites.now += 2'000'000'000;
    EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  }
  EXPECT_NE(sites.at(2).shown, nullptr);
  EXPECT_EQ(sites.at(2).starts, 2);
}

TEST(NameService, AClerkThatIsKnownToHaveGoneIsReplacedThoughNobodySaysSo) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.twist = [](ClerkMessage& says) { says.kind = ClerkKind::unknown; };  // it gets no link
  const std::uint64_t its_clerk = std::uint64_t{2} << node::kNodeShift | 9;
  const std::uint64_t mine = std::uint64_t{1} << node::kNodeShift | 999;  // that has gone, too
  sites.at(1).world.node.node_said(2, node::encode(node::FarEnded{5, its_clerk, mine, LinkReason::ended}),
                                   sites.at(1).world.now);
  const unsigned before = sites.at(1).told(node::FarKind::want_registry);
  sites.now += 2'000'000'000;
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  EXPECT_EQ(sites.at(1).told(node::FarKind::want_registry), before + 1);
}

TEST(NameService, ARegistryThatCannotBeReadIsLeftAloneForAWhile) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.twist = [](ClerkMessage& says) { says.kind = ClerkKind::unknown; };
  const std::uint64_t before = sites.at(1).reads;
  sites.message_cost = 0;
  sites.read_cost = 0;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  EXPECT_LE(sites.at(1).reads, before + 1);
}

TEST(NameService, ANodeThatGoesTakesItsNamesAlong) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  EXPECT_EQ(sites.look(1, "prices", kCached).kind, ReplyKind::found);
  sites.at(1).world.say(2, ask(RequestKind::lookup, 7, "prices"));  // its answer is under way
  sites.gone.insert(2);
  sites.at(1).world.node.node_gone(2, "it is silent", true, sites.at(1).world.now);
  EXPECT_EQ(error_of(sites.last(1, 2)), ErrorCode::name_unknown);
  sites.settle();
  EXPECT_EQ(error_of(sites.look(1, "prices", kCached)), ErrorCode::name_unknown);
}

TEST(NameService, AProcessThatGoesWhileItsNameIsReadIsForgotten) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.at(1).world.say(2, ask(RequestKind::lookup, 7, "prices"));
  sites.at(1).world.say(2, ask(RequestKind::cancel, 7));
  EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::cancelled);
  sites.settle();
  EXPECT_TRUE(sites.at(1).world.quiet(2));
  EXPECT_EQ(sites.at(1).told(node::FarKind::cancel), 0u) << "it was never asked";
}

// Whatever a hostile node shows: no answer is of another node, and asking always helps.
TEST(NameService, BelievesAHostileNodeNothingAboutOthers) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.twist = [](ClerkMessage& says) { says.interface = std::uint64_t{1} << node::kNodeShift | 100; };
  const Reply reply = sites.look(1, "prices");
  EXPECT_EQ(reply.kind, ReplyKind::found);
  EXPECT_EQ(node::node_of(reply.peer), 2u);
  sites.twist = nullptr;
  node::FarRegistry forged{{.interface = std::uint64_t{1} << node::kNodeShift | 9, .bound = 1u << 20}, 1, 16};
  const auto tell = [&] {
    sites.at(1).world.node.node_said(2, node::encode(forged), sites.at(1).world.now);
    EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
    EXPECT_EQ(sites.look(1, "other").kind, ReplyKind::refused);
  };
  tell();  // a registry of somebody else's
  forged.ticket.interface = std::uint64_t{2} << node::kNodeShift | 9;
  for (const std::uint32_t buckets : {0u, 3u, 8u, 17u, 1u << 31, ~0u}) {
    forged.buckets = buckets;
    tell();
  }
  forged.buckets = 1 << 15;  // more than its memory
  tell();
}

TEST(NameService, ThereIsAMostOfNamesWhateverTheConfigurationSays) {
  node::NodeOptions options;
  options.quotas.names = options.total.names = 1 << 20;
  NodeWorld world{options};
  world.attach(1);
  const auto publish = [&](std::size_t number) {
    world.say(1, ask(RequestKind::publish, 1, std::to_string(number)));
    return world.reply(1);
  };
  std::size_t number = 0;
  while (number < node::kMostNames && publish(number).kind == ReplyKind::published) ++number;
  EXPECT_EQ(error_of(publish(number)), ErrorCode::node_full);
  EXPECT_GT(number, node::kMostNames / 4);
  world.say(1, ask(RequestKind::withdraw, 1, "0"));
  world.reply(1);
  EXPECT_EQ(publish(number).kind, ReplyKind::published);
}

}  // namespace
}  // namespace hamlyn::internal_::segment
