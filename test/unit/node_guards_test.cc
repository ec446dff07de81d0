// Guards of the node that only trouble would show: each has a test that fails when it is switched off.
#include <gtest/gtest.h>

#include <vector>

#include "node/mind/accounts.h"
#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::Accounts;
using node::Quotas;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using node::Resource;
using node::Time;

constexpr std::uint32_t kOwnUser = 900;

// 64 of everything, of which the last eight are for root and the daemon's own user.
Accounts small() { return {{.links = 1000}, {.links = 64}, kOwnUser}; }

TEST(Accounts, WhoHasMuchIsRefusedBeforeWhoHasLittle) {
  Accounts accounts = small();
  const auto fill = [&](std::uint32_t uid) {
    std::uint64_t got = 0;
    for (; accounts.fits(uid, Resource::links, 1); ++got) accounts.take(uid, Resource::links, 1);
    return got;
  };
  EXPECT_EQ(fill(1), 28u) << "half of 56: then the other half is for others";
  EXPECT_EQ(fill(2), 14u);
  EXPECT_EQ(fill(3), 7u);
  EXPECT_FALSE(accounts.fits(1, Resource::links, 1));
  EXPECT_TRUE(accounts.fits(4, Resource::links, 1));
  EXPECT_FALSE(accounts.fits(4, Resource::links, 8)) << "nor many at a time";
  for (std::uint32_t uid = 4; uid < 20; ++uid) fill(uid);
  EXPECT_EQ(accounts.in_all(Resource::links), 56u);
}

TEST(Accounts, TheLastEighthIsForRootAndTheDaemonsOwnUserEach) {
  for (const std::uint32_t uid : {0u, kOwnUser}) {
    Accounts accounts = small();
    for (std::uint32_t other = 1; other <= 56; ++other) accounts.add(other, Resource::links, 1);
    EXPECT_FALSE(accounts.fits(1000, Resource::links, 1));
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(accounts.fits(uid, Resource::links, 1)) << uid;
      accounts.take(uid, Resource::links, 1);
    }
    EXPECT_FALSE(accounts.fits(uid, Resource::links, 1)) << "and no more than there is";
  }
}

TEST(Accounts, AreEmptyWhenEverythingWasGivenBackAndNeverLess) {
  Accounts accounts = small();
  accounts.give(5, Resource::links, 3);
  EXPECT_EQ(accounts.in_all(Resource::links), 0u) << "of who has nothing";
  accounts.take(5, Resource::links, 3);
  accounts.give(5, Resource::links, 3);
  EXPECT_TRUE(accounts.empty());
}

Request adopt(std::uint64_t link, std::uint64_t peer, std::uint64_t bytes = 0) {
  Request out = ask(RequestKind::adopt_link, 0, link);
  out.peer = peer;
  out.bytes = bytes;
  return out;
}

std::uint64_t links_of(NodeWorld& world, std::uint64_t connection) {
  world.say(connection, ask(RequestKind::list, 99));
  std::uint64_t out = 0;
  while (!world.quiet(connection)) {
    if (world.sent[connection].front().size() == sizeof(node::NodeReply))
      out = world.take<node::NodeReply>(connection).used.links;
    else
      world.sent[connection].pop_front();
  }
  return out;
}

// A link that is told of is not believed in each of these ways.
TEST(NodeGuards, ALinkThatCannotBeIsNotAdopted) {
  TwoProcesses t{with_quotas({.links = 3, .bytes = 100'000})};
  NodeWorld& world = t.world;
  world.say(1, adopt(0, 500));
  EXPECT_EQ(links_of(world, 1), 0u) << "of no number";
  world.say(1, adopt(70, 0));
  EXPECT_EQ(links_of(world, 1), 0u) << "with nobody";
  world.say(1, adopt(70, t.one));
  EXPECT_EQ(links_of(world, 1), 0u) << "with itself";
  world.say(1, adopt(70, 500, 100'001));
  EXPECT_EQ(links_of(world, 1), 0u) << "of more bytes than the quota";
  world.say(1, adopt(70, 500));
  EXPECT_EQ(links_of(world, 1), 1u);
  world.say(1, adopt(70, 501));
  EXPECT_EQ(links_of(world, 1), 1u) << "of a number that it has";
  world.say(1, adopt(71, 500));
  EXPECT_EQ(links_of(world, 1), 1u) << "with whom it has one";
  world.say(1, adopt(71, 501));
  world.say(1, adopt(72, 502));
  world.say(1, adopt(73, 503));
  EXPECT_EQ(links_of(world, 1), 3u) << "as many as the quota has";
}

// What a process does not want to hear of is bounded by its user's quota, and for each process.
TEST(NodeGuards, AProcessShunsSoManyPeersAndNoMore) {
  for (const std::uint64_t quota : {3u, 5000u}) {
    const std::uint64_t most = quota == 3 ? 3 : 1024;
    node::NodeOptions options = with_quotas({.links = quota});
    options.cut_after = 1;
    NodeWorld world{options};
    const std::uint64_t victim = world.attach(1).interface;
    for (std::uint64_t i = 0; i <= most; ++i) {
      const std::uint64_t rogue = world.attach(1000 + i, 1001, 1001).interface;
      world.say(1, ask(RequestKind::introduce, 1, rogue));
      const std::uint64_t link = world.reply(1).link;
      Request report = ask(RequestKind::report, 0, link);
      report.bytes = 1;
      world.say(1, report);
      for (const std::uint64_t end : {std::uint64_t{1}, 1000 + i})
        world.say(end, ask(RequestKind::link_ended, 0, link));
      world.sent.clear();
    }
    for (std::uint64_t i : {std::uint64_t{0}, most - 1, most}) {
      world.say(1000 + i, ask(RequestKind::introduce, 1, victim));
      EXPECT_EQ(error_of(world.reply(1000 + i)), i < most ? ErrorCode::not_permitted : ErrorCode{}) << i;
    }
  }
}

// Honest requests are answered while a user's quota is full, each at once.
TEST(NodeGuards, OthersAreServedWhileAUsersQuotaIsFull) {
  const Quotas quotas{.interfaces = 64, .links = 64, .names = 16};
  NodeWorld world{with_quotas(quotas)};
  for (std::uint64_t i = 0; i < 100; ++i) {
    world.attach(1000 + i, 1001, 1001);
    for (std::uint64_t request = 1; request <= 40; ++request) {
      world.say(1000 + i, ask(RequestKind::lookup, request, "nobody" + std::to_string(i), kWait));
      world.say(1000 + i,
                ask(RequestKind::publish, 100 + request, "rogue" + std::to_string(i * 40 + request)));
    }
  }
  const std::uint64_t one = world.attach(1).interface;
  world.attach(2);
  world.say(1, ask(RequestKind::publish, 1, "honest"));
  EXPECT_EQ(world.reply(1).kind, ReplyKind::published);
  world.say(2, ask(RequestKind::lookup, 1, "honest"));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::found);
  world.say(2, ask(RequestKind::introduce, 2, one));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::introduced);
  EXPECT_FALSE(world.node.has_more());
}

}  // namespace
}  // namespace hamlyn::test
