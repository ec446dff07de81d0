// Which users may open links with a process: by its own word, by the node's rule, and of its clerk.
#include <gtest/gtest.h>

#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using test::ask;
using test::error_of;
using test::FarReply;
using test::NodeWorld;
using test::Reply;
using test::ReplyKind;
using test::Request;
using test::RequestKind;
using test::TwoProcesses;

Request consent(std::initializer_list<std::uint32_t> users,
                std::initializer_list<std::uint32_t> groups = {}) {
  Request out = ask(RequestKind::consent, 70, users.size());
  out.flags = Request::kNamed;
  out.bytes = groups.size();
  for (const auto& ids : {users, groups}) {
    if (ids.size() == 0) continue;
    std::memcpy(out.name + out.name_length, std::data(ids), ids.size() * sizeof(std::uint32_t));
    out.name_length += static_cast<std::uint32_t>(ids.size() * sizeof(std::uint32_t));
  }
  return out;
}

// What connection `from`, which is new, of that user and group, hears when it asks for `peer`.
Reply asks(NodeWorld& world, std::uint64_t from, std::uint64_t peer, std::uint32_t uid, std::uint32_t gid) {
  world.attach(from, uid, gid);
  world.say(from, ask(RequestKind::introduce, 9, peer));
  return world.reply(from);
}

TEST(NodeConsent, LetsEveryoneOpenLinksUnlessAProcessSaysOtherwise) {
  TwoProcesses p{{}, 2000};
  EXPECT_NE(p.link(), 0u);
}

TEST(NodeConsent, LetsItsOwnUserRootAndWhoIsNamedOpenLinksAndNobodyElse) {
  NodeWorld world;
  const std::uint64_t server = world.attach(1, 1000, 1000).interface;
  world.say(1, consent({1001}, {50}));
  EXPECT_EQ(world.reply(1).kind, ReplyKind::granted);
  const Reply refused = asks(world, 2, server, 2000, 1000);
  EXPECT_EQ(error_of(refused), ErrorCode::not_permitted);
  EXPECT_NE(std::string(refused.text).find("lets user 2000 open no links"), std::string::npos)
      << refused.text;
  EXPECT_TRUE(world.quiet(1)) << "the other end hears nothing";
  EXPECT_EQ(world.pairs, 0u);
  EXPECT_EQ(asks(world, 3, server, 1000, 7).kind, ReplyKind::introduced) << "its own user";
  EXPECT_EQ(asks(world, 4, server, 0, 0).kind, ReplyKind::introduced) << "root";
  EXPECT_EQ(asks(world, 5, server, 1001, 7).kind, ReplyKind::introduced) << "a user that is named";
  EXPECT_EQ(asks(world, 6, server, 2001, 50).kind, ReplyKind::introduced) << "a group that is named";
  EXPECT_EQ(error_of(asks(world, 7, server, 50, 1001)), ErrorCode::not_permitted) << "groups are no users";
}

TEST(NodeConsent, OfNobodyIsForOnesOwnUserAlone) {
  TwoProcesses p{{}, 2000};
  p.world.say(2, consent({}));
  p.world.reply(2);
  p.world.say(1, ask(RequestKind::introduce, 9, p.two));
  EXPECT_EQ(error_of(p.world.reply(1)), ErrorCode::not_permitted);
  p.world.say(2, ask(RequestKind::introduce, 9, p.one));
  EXPECT_EQ(p.world.reply(2).kind, ReplyKind::introduced) << "it may open links itself";
}

TEST(NodeConsent, IsTakenBackByTheNextAndLeavesLinksThatThereAre) {
  TwoProcesses p{{}, 2000};
  const std::uint64_t link = p.link();
  p.world.say(2, consent({}));
  p.world.reply(2);
  p.world.say(1, ask(RequestKind::introduce, 8, p.two));
  EXPECT_EQ(error_of(p.world.reply(1)), ErrorCode::not_permitted)
      << "whether there is a link is not its business";
  p.world.say(1, ask(RequestKind::link_bytes, 10, link));
  EXPECT_EQ(p.world.reply(1).kind, ReplyKind::granted) << "and that goes on";
  p.world.say(1, ask(RequestKind::link_ended, 0, link));
  p.world.say(2, ask(RequestKind::link_ended, 0, link));
  p.world.say(2, ask(RequestKind::consent, 71));
  EXPECT_EQ(p.world.reply(2).kind, ReplyKind::granted);
  EXPECT_NE(p.link(), 0u);
}

TEST(NodeConsent, HoldsForAnIntroductionThatHadToWait) {
  TwoProcesses p{{}, 2000};
  p.world.slow.insert(2);
  p.world.say(1, ask(RequestKind::introduce, 9, p.two));
  EXPECT_TRUE(p.world.quiet(1));
  p.world.say(2, consent({}));
  p.world.reply(2);
  p.world.slow.clear();
  p.world.node.caught_up(2);
  EXPECT_EQ(error_of(p.world.reply(1)), ErrorCode::not_permitted);
}

TEST(NodeConsent, IsAskedForFirstWhateverOthersHold) {
  TwoProcesses p{test::with_quotas({.links = 0}), 2000};
  p.world.say(2, consent({}));
  p.world.reply(2);
  p.world.say(1, ask(RequestKind::introduce, 9, p.two));
  EXPECT_EQ(error_of(p.world.reply(1)), ErrorCode::not_permitted) << "a refusal costs no look at quotas";
}

// A daemon that was started again hears of it before it hears of links.
TEST(NodeConsent, ComesBackWithItsProcessAndAdoptedLinksStay) {
  TwoProcesses p{{}, 2000};
  const std::uint64_t link = p.link();
  node::NodeOptions options;
  options.recovering = true;
  NodeWorld again{options};
  const node::Welcome server = again.attach(2, 2000, 2000);
  again.say(2, consent({}));
  again.reply(2);
  Request adopt = ask(RequestKind::adopt_link, 0, link);
  adopt.peer = 99;
  again.say(2, adopt);
  EXPECT_TRUE(again.quiet(2));
  EXPECT_EQ(error_of(asks(again, 3, server.interface, 1000, 1000)), ErrorCode::not_permitted);
  again.say(2, ask(RequestKind::link_bytes, 10, link));
  EXPECT_EQ(again.reply(2).kind, ReplyKind::granted) << "the adopted link is there";
}

TEST(NodeConsent, ThatIsNotWholeDropsWhoSaysSo) {
  const auto survives = [](const Request& said) {
    NodeWorld world;
    world.attach(1);
    world.say(1, said);
    return !world.dropped(1);
  };
  EXPECT_TRUE(survives(consent({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 6, 7})));
  Request wrong = consent({1}, {2});
  wrong.number = 2;
  EXPECT_FALSE(survives(wrong)) << "more users than numbers";
  wrong = consent({1});
  wrong.number = ~std::uint64_t{0};
  wrong.bytes = 2;
  EXPECT_FALSE(survives(wrong)) << "a sum that wraps";
  wrong = consent({1});
  wrong.flags = 0;
  EXPECT_FALSE(survives(wrong)) << "names beside everyone";
  wrong = consent({1});
  wrong.name_length = 3;
  EXPECT_FALSE(survives(wrong)) << "a part of a number";
  wrong = consent({1});
  wrong.request = 0;
  EXPECT_FALSE(survives(wrong)) << "it is answered";
  wrong.request = 1;
  wrong.peer = 1;
  EXPECT_FALSE(survives(wrong)) << "a field that it does not use";
}

TEST(NodeConsent, TheNodesRuleSaysWhoOpensLinksBetweenUsers) {
  node::NodeOptions options;
  options.links = {.everyone = false, .users = {1001}, .groups = {50}};
  NodeWorld world{options};
  const std::uint64_t server = world.attach(1, 1000, 1000).interface;
  const Reply refused = asks(world, 2, server, 2000, 1000);
  EXPECT_EQ(error_of(refused), ErrorCode::not_permitted);
  EXPECT_NE(std::string(refused.text).find("[links]"), std::string::npos) << refused.text;
  EXPECT_EQ(asks(world, 3, server, 1000, 7).kind, ReplyKind::introduced) << "the same user";
  EXPECT_EQ(asks(world, 4, server, 0, 0).kind, ReplyKind::introduced);
  EXPECT_EQ(asks(world, 5, server, 1001, 7).kind, ReplyKind::introduced);
  EXPECT_EQ(asks(world, 6, server, 2001, 50).kind, ReplyKind::introduced);
}

TEST(NodeConsent, HoldsForUsersOfOtherNodes) {
  test::TwoDaemons t;  // user 1000 of node 1, user 2000 of node 2
  t.far.at(2).say(2, consent({1001}));
  t.far.at(2).reply(2);
  t.far.at(1).say(1, ask(RequestKind::introduce, 9, t.two));
  t.far.settle();
  const Reply refused = t.far.at(1).reply(1);
  EXPECT_EQ(error_of(refused), ErrorCode::not_permitted);
  EXPECT_TRUE(t.far.at(2).quiet(2));
  t.far.attach(1, 3, 1001);
  t.far.at(1).say(3, ask(RequestKind::introduce, 9, t.two));
  t.far.settle();
  EXPECT_EQ(t.far.at(1).take<FarReply>(3).peer, t.two);
}

// Both ask at the same time, and one of them lets nobody open links with it: it does so itself.
TEST(NodeConsent, OfWhoAsksItselfIsThere) {
  for (const bool of_one : {true, false}) {
    test::TwoDaemons t;
    const std::uint64_t by = of_one ? 1 : 2;
    t.far.at(of_one ? 1 : 2).say(by, consent({}));
    t.far.at(of_one ? 1 : 2).reply(by);
    t.far.at(1).say(1, ask(RequestKind::introduce, 9, t.two));
    t.far.at(2).say(2, ask(RequestKind::introduce, 9, t.one));
    t.far.settle();
    EXPECT_EQ(t.far.at(1).take<FarReply>(1).peer, t.two) << of_one;
    EXPECT_EQ(t.far.at(2).take<FarReply>(2).peer, t.one) << of_one;
  }
}

TEST(NodeConsent, TheNodesRuleHoldsForUsersOfOtherNodes) {
  node::NodeOptions options;
  options.links = {.everyone = false, .users = {}, .groups = {}};
  test::TwoDaemons t{options};
  t.far.at(1).say(1, ask(RequestKind::introduce, 9, t.two));
  t.far.settle();
  EXPECT_EQ(error_of(t.far.at(1).reply(1)), ErrorCode::not_permitted);
}

// --- clerks: connection 8 of both nodes

struct Clerks {
  Clerks() {
    for (const node::NodeId id : {node::NodeId{1}, node::NodeId{2}}) {
      t.far.at(id).node.set_clerk_process(8);
      clerk[id] = t.far.attach(id, 8, 3000);
    }
  }
  // Whether connection `from` of node 1 is linked with `peer`.
  ErrorCode ask_for(std::uint64_t from, std::uint64_t peer) {
    t.far.at(1).say(from, ask(RequestKind::introduce, 9, peer));
    t.far.settle();
    const auto& sent = t.far.at(1).sent[from];
    if (!sent.empty() && sent.front().size() == sizeof(FarReply)) return ErrorCode{};
    return error_of(t.far.at(1).reply(from));
  }
  test::TwoDaemons t;
  std::map<node::NodeId, std::uint64_t> clerk;
};

TEST(NodeConsent, ClerksHaveLinksWithEachOther) {
  Clerks c;
  EXPECT_EQ(c.ask_for(8, c.clerk[2]), ErrorCode{});
}

TEST(NodeConsent, NobodyElseHasALinkWithAClerk) {
  Clerks c;
  EXPECT_EQ(c.ask_for(1, c.clerk[2]), ErrorCode::not_permitted) << "of another node";
  EXPECT_EQ(c.ask_for(1, c.clerk[1]), ErrorCode::not_permitted) << "of its own";
  c.t.far.attach(1, 5, 0);
  EXPECT_EQ(c.ask_for(5, c.clerk[2]), ErrorCode::not_permitted) << "not root either";
}

TEST(NodeConsent, AClerkHasNoLinkWithAnybodyElse) {
  Clerks c;
  EXPECT_EQ(c.ask_for(8, c.t.two), ErrorCode::not_permitted);
  EXPECT_EQ(c.ask_for(8, c.t.one), ErrorCode::not_permitted);
}

TEST(NodeConsent, WhatAClerkHoldsIsTheDaemonsWhoeverItsUserIs) {
  node::NodeOptions options;
  options.uid = 900;
  options.rights = {.everyone = false, .users = {1000}, .groups = {}};
  NodeWorld world{options};
  world.node.set_clerk_process(8);
  EXPECT_EQ(world.attach(8, 901, 901).error, 0u) << "rights are not asked of it";
  world.attach(1, 0, 0);
  world.say(1, ask(RequestKind::list, 5));
  EXPECT_EQ(world.take<node::AttachedReply>(1).uid, 900u);
}

}  // namespace
}  // namespace hamlyn
