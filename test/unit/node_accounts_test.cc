// What one user may have of a node, what other users may take of that, and what all may have together.
#include <gtest/gtest.h>

#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::Hello;
using node::NodeOptions;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using node::Time;
using node::Welcome;

// Of one user.

TEST(Node, CountsLinksOfAUserAtBothEnds) {
  TwoProcesses t{with_quotas({.links = 3})};
  t.world.attach(3);
  const std::uint64_t link = t.link();
  t.world.say(3, ask(RequestKind::introduce, 1, t.two));
  EXPECT_EQ(error_of(t.world.reply(3)), ErrorCode::quota_links) << "two more ends would be four";
  t.world.say(1, ask(RequestKind::link_ended, 0, link));
  t.world.say(3, ask(RequestKind::introduce, 2, t.two));
  EXPECT_EQ(t.world.reply(3).kind, ReplyKind::introduced);
}

TEST(Node, OtherUsersMayOpenHalfOfAUsersLinks) {
  NodeWorld world{with_quotas({.links = 4})};
  const std::uint64_t victim = world.attach(1, 1000).interface;
  for (std::uint64_t i = 2; i <= 4; ++i) {
    world.attach(i, static_cast<std::uint32_t>(2000 + i), 2000);
    world.say(i, ask(RequestKind::introduce, 1, victim));
  }
  EXPECT_EQ(world.reply(2).kind, ReplyKind::introduced);
  EXPECT_EQ(world.reply(3).kind, ReplyKind::introduced);
  EXPECT_EQ(error_of(world.reply(4)), ErrorCode::quota_links);
  world.attach(5, 1000);
  world.say(5, ask(RequestKind::introduce, 1, victim));
  EXPECT_EQ(world.reply(5).kind, ReplyKind::introduced) << "its own links still fit";
}

TEST(Node, NoOtherUserTakesMoreOfThatHalfThanItLeaves) {
  NodeWorld world{with_quotas({.links = 20})};
  const std::uint64_t victim = world.attach(1, 1000).interface;
  std::uint64_t next = 2;
  const auto opens = [&](std::uint32_t uid) {  // as many as it can
    for (std::uint64_t had = 0;; ++had) {
      world.attach(++next, uid, uid);
      world.say(next, ask(RequestKind::introduce, 1, victim));
      const Reply reply = world.reply(next);
      if (reply.kind == ReplyKind::introduced) continue;
      EXPECT_EQ(error_of(reply), ErrorCode::quota_links);
      return had;
    }
  };
  EXPECT_EQ(opens(2000), 5u);
  EXPECT_EQ(opens(2001), 3u);
  EXPECT_EQ(opens(2002), 1u);
  EXPECT_EQ(opens(2003), 1u);
  EXPECT_EQ(opens(2004), 0u) << "ten are half of twenty";
  world.node.disconnected(3);  // one of the first user's
  EXPECT_EQ(opens(2000), 0u) << "its end is the victim's still";
  for (std::uint64_t at = 0; !world.quiet(1); ++at)
    world.say(1, ask(RequestKind::link_ended, 0, world.reply(1).link));
  EXPECT_EQ(opens(2000), 5u) << "all has been given back";
}

TEST(Node, CountsTheBytesOfLinks) {
  TwoProcesses t{with_quotas({.bytes = 100000})};
  const std::uint64_t link = t.link();
  const auto hold = [&](std::uint64_t bytes) {
    Request request = ask(RequestKind::link_bytes, 3, link);
    request.bytes = bytes;
    t.world.say(1, request);
    return t.world.reply(1);
  };
  EXPECT_EQ(hold(100000 - node::kLinkBytes).kind, ReplyKind::granted) << "the other end holds the rest";
  EXPECT_EQ(error_of(hold(100001 - node::kLinkBytes)), ErrorCode::quota_bytes);
  EXPECT_EQ(error_of(hold(~std::uint64_t{0})), ErrorCode::quota_bytes);
  Request other = ask(RequestKind::link_bytes, 4, link);
  other.bytes = node::kLinkBytes + 1;
  t.world.say(2, other);
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::quota_bytes);
  EXPECT_EQ(hold(0).kind, ReplyKind::granted);
  t.world.say(2, other);
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::granted);
  t.world.say(1, ask(RequestKind::link_bytes, 3, link + 1));
  EXPECT_EQ(error_of(t.world.reply(1)), ErrorCode::invalid_argument);
}

TEST(Node, CountsTheBytesOfAreasWithThoseOfLinks) {
  TwoProcesses t{with_quotas({.bytes = 100000})};
  const auto have = [&](std::uint64_t connection, std::uint64_t bytes) {
    Request request = ask(RequestKind::area_bytes, 3);
    request.bytes = bytes;
    t.world.say(connection, request);
    return t.world.reply(connection);
  };
  EXPECT_EQ(have(1, 60000).kind, ReplyKind::granted);
  const Reply refused = have(2, 40001);
  EXPECT_EQ(error_of(refused), ErrorCode::quota_bytes) << "the same user's other process";
  EXPECT_STREQ(refused.text,
               "user 1000 has 60000 bytes in links and areas, asks for 40001 more, and may have 100000: end "
               "some, or raise quotas.bytes");
  EXPECT_EQ(have(2, 40000).kind, ReplyKind::granted);
  EXPECT_EQ(error_of(have(1, 60001)), ErrorCode::quota_bytes);
  EXPECT_EQ(error_of(have(1, ~std::uint64_t{0})), ErrorCode::quota_bytes);
  t.world.say(1, ask(RequestKind::introduce, 5, t.two));
  EXPECT_EQ(error_of(t.world.reply(1)), ErrorCode::quota_bytes) << "no room for a link";
  EXPECT_EQ(have(1, 10000).kind, ReplyKind::granted);
  t.world.attach(3, 2000, 2000);
  EXPECT_EQ(have(3, 100000).kind, ReplyKind::granted) << "another user has its own";
  t.world.node.disconnected(2);
  EXPECT_EQ(have(1, 100000).kind, ReplyKind::granted) << "what had been of the process that left";
  t.world.say(1, ask(RequestKind::list, 6));
  EXPECT_EQ(t.world.take<node::AttachedReply>(1).area_bytes, 100000u);
}

TEST(Node, AdoptsNoMoreThanTheQuota) {
  NodeWorld world{with_quotas({.links = 2})};
  world.attach(1);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    Request request = ask(RequestKind::adopt_link, 0, 100 + i);
    request.peer = 200 + i;
    world.say(1, request);
  }
  world.say(1, ask(RequestKind::list, 1));
  EXPECT_EQ(world.take<node::AttachedReply>(1).links, 2u);
}

TEST(Node, GivesEverythingBackWhenAProcessEnds) {
  const node::Quotas quotas{.interfaces = 2, .links = 4, .bytes = 4 * node::kLinkBytes, .names = 1};
  NodeWorld world{with_quotas(quotas)};
  Hello observer;
  observer.flags = Hello::kObserver;
  world.attach(5000, 1000, 1000, observer);  // the user stays known throughout
  const auto introduce = [&](std::uint64_t from, std::uint64_t to) {
    world.say(from, ask(RequestKind::introduce, 1, to));
    return world.reply(from).kind;
  };
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t a = 3 * i + 1;
    const std::uint64_t b = a + 1;
    const std::uint64_t stranger = a + 2;
    const std::uint64_t at_a = world.attach(a).interface;
    const std::uint64_t at_b = world.attach(b).interface;
    ASSERT_NE(at_a, 0u);
    ASSERT_NE(at_b, 0u);
    EXPECT_EQ(world.attach(1000 + i).error, static_cast<std::uint32_t>(ErrorCode::quota_interfaces));
    const std::uint64_t another = 3000 + i;
    world.attach(stranger, 2000, 2000);
    world.attach(another, 3000, 3000);
    ASSERT_EQ(introduce(stranger, at_a), ReplyKind::introduced);
    ASSERT_EQ(introduce(another, at_b), ReplyKind::introduced);
    world.sent[b].clear();
    ASSERT_EQ(introduce(b, at_a), ReplyKind::introduced) << "two ends of strangers, two of its own";
    world.say(a, ask(RequestKind::publish, 2, "n"));
    world.say(a, ask(RequestKind::lookup, 3, "other", kWait));
    for (const std::uint64_t one : {a, b, stranger, another}) world.node.disconnected(one);
    EXPECT_EQ(world.sent[a].back().size(), sizeof(Reply));
    Reply last;
    std::memcpy(&last, world.sent[a].back().data(), sizeof last);
    ASSERT_EQ(last.kind, ReplyKind::published);
  }
  world.node.disconnected(5000);
  EXPECT_TRUE(world.node.empty());
}

// All users together.

TEST(Node, HoldsSoManyInterfacesOfAllUsersAndKeepsRoomForRootAndItsOwnUser) {
  node::NodeOptions options = with_quotas({.interfaces = 8}, {.interfaces = 16});
  options.uid = 900;
  NodeWorld world{options};
  std::uint64_t next = 0;
  const auto attaches = [&](std::uint32_t uid) {
    for (std::uint64_t had = 0;; ++had) {
      const Welcome welcome = world.attach(++next, uid, uid);
      if (welcome.error == 0) continue;
      EXPECT_TRUE(welcome.error == static_cast<std::uint32_t>(ErrorCode::node_full) ||
                  welcome.error == static_cast<std::uint32_t>(ErrorCode::quota_interfaces));
      return had;
    }
  };
  std::uint64_t others = 0;
  for (std::uint32_t uid = 1000; uid < 1100; ++uid) others += attaches(uid);
  EXPECT_EQ(others, 14u) << "whatever so many users do";
  EXPECT_EQ(attaches(0) + attaches(900), 2u);
  world.node.disconnected(1);
  EXPECT_EQ(attaches(1000), 0u) << "it has much still";
  EXPECT_EQ(attaches(2000), 0u) << "root and the own user have what was given back to all";
  world.node.disconnected(2);
  world.node.disconnected(3);
  EXPECT_EQ(attaches(2000), 1u);
}

TEST(Node, HoldsSoManyLinksAndBytesOfAllUsers) {
  NodeWorld world{with_quotas({}, {.links = 16, .bytes = 16 * node::kLinkBytes})};
  std::vector<std::uint64_t> numbers;
  for (std::uint32_t i = 0; i < 40; ++i) numbers.push_back(world.attach(i + 1, 1000 + i, 1000).interface);
  std::uint64_t links = 0;
  for (std::uint64_t i = 0; i + 1 < numbers.size(); i += 2) {
    world.say(i + 1, ask(RequestKind::introduce, 1, numbers[i + 1]));
    const Reply reply = world.reply(i + 1);
    if (reply.kind == ReplyKind::introduced)
      ++links;
    else
      EXPECT_EQ(error_of(reply), ErrorCode::node_full);
  }
  EXPECT_EQ(links, 7u) << "fourteen ends; two are kept for root and the node's own user";
  Request more = ask(RequestKind::area_bytes, 2);
  more.bytes = 1;
  world.say(40, more);
  EXPECT_EQ(error_of(world.reply(40)), ErrorCode::node_full) << "the bytes are used up by the links";
  world.attach(50, 0, 0);
  world.say(50, ask(RequestKind::introduce, 1, numbers[39]));
  EXPECT_EQ(error_of(world.reply(50)), ErrorCode::node_full) << "the other end is no user's with room";
  more.bytes = 2 * node::kLinkBytes;
  world.say(50, more);
  EXPECT_EQ(world.reply(50).kind, ReplyKind::granted);
}

TEST(Node, HoldsSoManyNamesAndWaitingRequestsOfAllUsers) {
  NodeWorld world{with_quotas({.names = 4}, {.names = 8})};
  std::uint64_t names = 0;
  std::uint64_t lookups = 0;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    world.attach(i, 1000 + i, 1000);
    world.say(i, ask(RequestKind::publish, 1, "n" + std::to_string(i)));
    const Reply reply = world.reply(i);
    if (reply.kind == ReplyKind::published)
      ++names;
    else
      EXPECT_EQ(error_of(reply), ErrorCode::node_full);
    world.say(i, ask(RequestKind::lookup, 2, "nobodys", kWait));
    if (world.quiet(i))
      ++lookups;
    else
      EXPECT_EQ(error_of(world.reply(i)), ErrorCode::node_full);
  }
  EXPECT_EQ(names, 7u);
  EXPECT_EQ(lookups, 7u);
}

TEST(Node, WhoHasKeptSilentForLongestGivesWayToNewcomers) {
  NodeWorld world{with_quotas({}, {.interfaces = 64})};
  for (std::uint32_t i = 1; i <= 14; ++i) {
    world.connect(i, 1000 + i);
    world.pass(Time{1});
  }
  EXPECT_TRUE(world.drops.empty());
  EXPECT_EQ(world.attach(15, 1015).error, 0u);
  EXPECT_TRUE(world.dropped(1)) << "of sixteen two are kept for root and the node's own user";
  EXPECT_EQ(world.drops.size(), 1u);
}

}  // namespace
}  // namespace hamlyn::test
