// The minds of several daemons, and processes of one that look for names of those of another.
#include <gtest/gtest.h>

#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using test::ask;
using test::error_of;
using test::FarReply;
using test::FarWorld;
using test::kWait;
using test::publish;
using test::Reply;
using test::ReplyKind;
using test::RequestKind;
using test::Time;

TEST(FarNode, FindsANameOfAnotherNode) {
  FarWorld far{3};
  far.attach(1, 1);
  const std::uint64_t three = far.attach(3, 3, 2000);
  far.at(3).say(3, publish(three, "prices"));
  far.at(3).reply(3);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices"));
  far.settle();
  const Reply found = far.at(1).reply(1);
  EXPECT_EQ(found.kind, ReplyKind::found);
  EXPECT_EQ(found.request, 7u);
  EXPECT_EQ(found.peer, three);
  EXPECT_EQ(found.ticket.interface, three);
  EXPECT_EQ(found.uid, 2000u);
}

TEST(FarNode, ANameThatNobodyHasIsUnknownWhenAllHaveSaidSo) {
  FarWorld far{3};
  far.attach(1, 1);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices"));
  EXPECT_TRUE(far.at(1).quiet(1));
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::name_unknown);
}

TEST(FarNode, ANameThatIsWaitedForComesFromAnyNodeAlsoALaterOne) {
  FarWorld far{3};
  far.attach(1, 1);
  far.part(1, 3);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices", kWait));
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1));
  far.meet(1, 3);
  far.settle();
  const std::uint64_t three = far.attach(3, 3);
  far.at(3).say(3, publish(three, "prices"));
  far.settle();
  EXPECT_EQ(far.at(1).reply(1).peer, three);
  const std::uint64_t two = far.attach(2, 2);
  far.at(2).say(2, publish(two, "prices"));
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1)) << "one answer";
}

TEST(FarNode, ANameThatIsWaitedForComesFromHereToo) {
  FarWorld far{2};
  const std::uint64_t one = far.attach(1, 1);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices", kWait));
  far.settle();
  far.at(1).say(1, publish(one, "prices"));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::published);
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::found);
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1));
}

TEST(FarNode, RightsOfANameHoldAcrossNodes) {
  FarWorld far{2};
  far.attach(1, 1, 1000);
  far.attach(1, 4, 2000);
  const std::uint64_t two = far.attach(2, 2, 2000);
  far.at(2).say(2, publish(two, "mine", 0));
  far.settle();
  far.at(1).say(1, ask(RequestKind::lookup, 7, "mine"));
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::not_permitted);
  far.at(1).say(1, ask(RequestKind::lookup, 8, "mine", kWait));
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::not_permitted);
  far.at(1).say(4, ask(RequestKind::lookup, 7, "mine"));
  far.settle();
  EXPECT_EQ(far.at(1).reply(4).kind, ReplyKind::found) << "the same user of another node";
}

TEST(FarNode, ANodeThatDiesOrIsSilentHoldsUpNoLookup) {
  FarWorld far{3};
  far.attach(1, 1);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices"));
  far.part(1, 3);
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::name_unknown) << "those that are there have said so";
  far.at(1).say(1, ask(RequestKind::lookup, 8, "prices"));
  far.at(1).pass(Time{2000});
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::timed_out);
}

TEST(FarNode, ACancelledLookupIsForgottenEverywhere) {
  FarWorld far{2};
  far.attach(1, 1);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices", kWait));
  far.settle();
  far.at(1).say(1, ask(RequestKind::cancel, 7));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::cancelled);
  far.settle();
  const std::uint64_t two = far.attach(2, 2);
  far.at(2).say(2, publish(two, "prices"));
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1));
}

// One user's requests cost nobody else anything.

TEST(FarNode, AUserLooksForSoManyNamesAndNoMoreAndAnotherUserStillMay) {
  FarWorld far{2, test::with_quotas({.names = 3})};
  far.attach(1, 1, 1000);
  far.attach(1, 2, 1000);
  far.attach(1, 3, 2000);
  for (std::uint64_t i = 1; i <= 3; ++i)
    far.at(1).say(1 + i % 2, ask(RequestKind::lookup, i, "name" + std::to_string(i), kWait));
  far.settle();
  far.at(1).sent.clear();
  far.at(1).say(2, ask(RequestKind::lookup, 4, "more", kWait));
  EXPECT_EQ(error_of(far.at(1).reply(2)), ErrorCode::quota_names);
  far.at(1).say(2, ask(RequestKind::lookup, 5, "more"));
  EXPECT_EQ(error_of(far.at(1).reply(2)), ErrorCode::quota_names) << "nor without waiting";
  far.at(1).say(3, ask(RequestKind::lookup, 4, "more", kWait));
  EXPECT_EQ(far.said(node::FarKind::lookup), 1u);
  far.at(1).say(2, ask(RequestKind::cancel, 1));
  far.at(1).reply(2);
  far.at(1).say(2, ask(RequestKind::lookup, 6, "more", kWait));
  EXPECT_EQ(far.said(node::FarKind::lookup), 2u) << "after one is cancelled";
}

TEST(FarNode, WhatAnotherNodeHoldsForAUserIsBoundedByItsOwnQuotaAndToldByName) {
  FarWorld far{2, test::with_quotas({.names = 3})};
  const auto lookup = [&](std::uint64_t serial, std::uint32_t uid) {
    far.at(2).node.node_said(
        1, node::encode(node::FarLookup{serial, uid, uid, true, "n" + std::to_string(serial)}), Time{0});
    return far.said(node::FarKind::refused);
  };
  for (std::uint64_t serial = 1; serial <= 3; ++serial) EXPECT_EQ(lookup(serial, 1000), 0u);
  EXPECT_EQ(lookup(4, 1000), 1u);
  EXPECT_EQ(lookup(5, 2000), 1u) << "another user has its own";
  far.at(2).node.node_said(1, node::encode(node::FarCancel{2}), Time{0});
  EXPECT_EQ(lookup(6, 1000), 1u);
}

TEST(FarNode, AnotherNodeHoldsAQuarterOfWhatThereIsForAllItsUsers) {
  FarWorld far{2, test::with_quotas({.names = 3}, {.links = 64, .names = 64})};
  std::uint64_t serial = 0;
  std::uint64_t held = 0;
  for (std::uint32_t uid = 1000; uid < 1100; ++uid) {
    const std::size_t before = far.said(node::FarKind::refused);
    far.at(2).node.node_said(1, node::encode(node::FarLookup{++serial, uid, uid, true, "nobodys"}), Time{0});
    if (far.said(node::FarKind::refused) == before) ++held;
  }
  EXPECT_EQ(held, 14u) << "a quarter of 64, less an eighth for root";
}

TEST(FarNode, ThoseOfOneUserWhoWaitForANameAreOneToTheOthers) {
  FarWorld far{2};
  for (std::uint64_t i = 1; i <= 3; ++i) far.attach(1, i);
  far.attach(1, 4, 2000);
  for (std::uint64_t i = 1; i <= 4; ++i) far.at(1).say(i, ask(RequestKind::lookup, 7, "prices", kWait));
  EXPECT_EQ(far.said(node::FarKind::lookup), 2u) << "one for each user: rights may differ";
  far.at(1).say(1, ask(RequestKind::lookup, 8, "prices"));
  EXPECT_EQ(far.said(node::FarKind::lookup), 3u) << "who does not wait wants to know how it is now";
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::name_unknown);
  far.at(1).say(1, ask(RequestKind::cancel, 7));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::cancelled);
  EXPECT_EQ(far.said(node::FarKind::cancel), 0u) << "others wait still";
  const std::uint64_t owner = far.attach(2, 9);
  far.at(2).say(9, publish(owner, "prices", 0));
  far.settle();
  for (std::uint64_t i = 2; i <= 3; ++i) {
    const Reply reply = far.at(1).reply(i);
    EXPECT_EQ(reply.kind, ReplyKind::found) << i;
    EXPECT_EQ(reply.peer, owner);
  }
  EXPECT_EQ(error_of(far.at(1).reply(4)), ErrorCode::not_permitted);
  EXPECT_TRUE(far.at(1).quiet(1));

  far.at(2).say(9, ask(RequestKind::withdraw, 3, "prices"));
  for (std::uint64_t i = 1; i <= 2; ++i) far.at(1).say(i, ask(RequestKind::lookup, 9, "prices", kWait));
  EXPECT_EQ(far.said(node::FarKind::lookup), 1u) << "the one before is over";
  far.settle();
  far.at(1).node.disconnected(1);
  EXPECT_EQ(far.said(node::FarKind::cancel), 0u);
  far.at(1).say(2, ask(RequestKind::cancel, 9));
  EXPECT_EQ(far.said(node::FarKind::cancel), 1u) << "with the last";
}

TEST(FarNode, AWaitThatAnotherNodeDoesNotHoldIsToldToWhoeverWaits) {
  FarWorld far{2};
  far.attach(1, 1);
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices", kWait));
  far.settle();
  const auto full = static_cast<std::uint32_t>(ErrorCode::quota_names);
  far.at(1).node.node_said(2, node::encode(node::FarRefused{1, full, "no more"}), Time{0});
  const Reply reply = far.at(1).reply(1);
  EXPECT_EQ(error_of(reply), ErrorCode::quota_names);
  EXPECT_STREQ(reply.text, "no more");
}

TEST(FarNode, ANodeWithMuchToHearIsToldOfLookupsLater) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t two = far.attach(2, 2);
  far.full.insert(2);
  for (std::uint64_t i = 1; i <= 3; ++i)
    far.at(1).say(1, ask(RequestKind::lookup, i, "name" + std::to_string(i), kWait));
  EXPECT_EQ(far.said(node::FarKind::lookup), 0u);
  far.at(1).say(1, ask(RequestKind::cancel, 2));
  far.at(1).reply(1);
  EXPECT_EQ(far.said(node::FarKind::cancel), 0u) << "it never heard of that one";
  far.at(1).say(1, ask(RequestKind::introduce, 9, two));
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::out_of_memory);
  far.full.clear();
  far.at(1).node.tick(Time{1});
  EXPECT_EQ(far.said(node::FarKind::lookup), 2u);
  far.settle();
  far.at(2).say(2, publish(two, "name3"));
  far.settle();
  EXPECT_EQ(far.at(1).reply(1).request, 3u);
}

TEST(FarNode, ANodeThatComesBackIsToldOfWaitsOnlyAsItTakesThem) {
  FarWorld far{2};
  far.attach(1, 1);
  for (std::uint64_t i = 1; i <= 3; ++i)
    far.at(1).say(1, ask(RequestKind::lookup, i, "name" + std::to_string(i), kWait));
  far.settle();
  far.part(1, 2);
  far.full.insert(2);
  far.meet(1, 2);
  EXPECT_EQ(far.said(node::FarKind::lookup), 0u);
  far.full.clear();
  far.at(1).node.tick(Time{1});
  EXPECT_EQ(far.said(node::FarKind::lookup), 3u);
}

TEST(FarNode, AnswersWaitForRoomToo) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t two = far.attach(2, 2);
  far.at(2).say(2, publish(two, "prices"));
  far.at(1).say(1, ask(RequestKind::lookup, 7, "prices"));
  far.at(1).say(1, ask(RequestKind::introduce, 8, two));
  far.full.insert(1);
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1));
  far.full.clear();
  far.at(2).node.tick(Time{1});
  far.settle();
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::found);
  EXPECT_EQ(far.at(1).take<FarReply>(1).peer, two);
}

}  // namespace
}  // namespace hamlyn
