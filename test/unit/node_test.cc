// The daemon's mind, request by request and refusal by refusal.
#include <gtest/gtest.h>

#include <ranges>

#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::Hello;
using node::NodeOptions;
using node::NodeReply;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using node::Time;
using node::Welcome;

// Attaching.

TEST(Node, GivesEachProcessItsOwnNumber) {
  NodeWorld world;
  const Welcome one = world.attach(1);
  const Welcome two = world.attach(2);
  EXPECT_EQ(one.error, 0u);
  EXPECT_NE(one.interface, 0u);
  EXPECT_NE(one.interface, two.interface);
  EXPECT_NE(one.token, two.token);
}

TEST(Node, NeverGivesANumberAgain) {
  NodeWorld world;
  const Welcome one = world.attach(1);
  world.node.disconnected(1);
  EXPECT_NE(world.attach(2).interface, one.interface);
}

TEST(Node, RefusesAnotherVersionWhateverItsLength) {
  for (const std::size_t size : {12u, 13u, 56u, 200u}) {
    NodeWorld world;
    world.connect(1);
    std::vector<std::byte> bytes(size);
    Hello hello;
    hello.protocol = 6;
    std::memcpy(bytes.data(), &hello, 12);
    world.node.received(1, bytes, false, world.now);
    const Welcome answer = world.take<Welcome>(1);
    EXPECT_EQ(answer.error, static_cast<std::uint32_t>(ErrorCode::version_mismatch)) << size;
    EXPECT_STREQ(
        answer.text,
        "the node daemon speaks protocol 5 with structures 11, the process protocol 6 with structures 11");
    EXPECT_TRUE(world.dropped(1));
  }
}

TEST(Node, DropsAHelloCutAtEveryLength) {
  const Hello hello;
  const auto bytes = std::as_bytes(std::span{&hello, 1});
  for (std::size_t size = 0; size < sizeof hello; ++size) {
    NodeWorld world;
    world.connect(1);
    world.node.received(1, bytes.first(size), false, world.now);
    EXPECT_TRUE(world.dropped(1)) << size;
    EXPECT_TRUE(world.quiet(1)) << size;
    EXPECT_TRUE(world.node.empty()) << size;
  }
}

TEST(Node, DropsAHelloThatContradictsItself) {
  Hello wrong_magic;
  wrong_magic.magic ^= 1;
  Hello flags;
  flags.flags = 2;
  Hello token_alone;
  token_alone.token[3] = std::byte{1};
  Hello observer_with_number;
  observer_with_number.flags = Hello::kObserver;
  observer_with_number.interface = 5;
  for (const Hello& hello : {wrong_magic, flags, token_alone, observer_with_number}) {
    NodeWorld world;
    world.connect(1);
    world.say(1, hello);
    EXPECT_TRUE(world.dropped(1) && world.quiet(1));
  }
  Hello observer;
  observer.flags = Hello::kObserver;
  NodeWorld world;
  world.connect(1);
  world.say(1, observer, true);
  EXPECT_TRUE(world.dropped(1)) << "an observer has no counters";
}

TEST(Node, RefusesUsersItCannotName) {
  NodeOptions options;
  options.overflow_uid = 777;
  NodeWorld world{options};
  EXPECT_EQ(world.attach(1, 777).error, static_cast<std::uint32_t>(ErrorCode::not_permitted));
  EXPECT_TRUE(world.dropped(1));
}

TEST(Node, RightsNameUsersAndGroups) {
  NodeOptions options;
  options.rights = {.everyone = false, .users = {5}, .groups = {70}};
  NodeWorld world{options};
  const auto refused = static_cast<std::uint32_t>(ErrorCode::not_permitted);
  EXPECT_EQ(world.attach(1, 5, 5).error, 0u);
  EXPECT_EQ(world.attach(2, 6, 70).error, 0u);
  EXPECT_EQ(world.attach(3, 0, 0).error, 0u) << "root always may";
  EXPECT_EQ(world.attach(4, 70, 5).error, refused);
}

TEST(Node, ANumberComesBackWithItsTokenOnly) {
  NodeWorld world;
  const Welcome first = world.attach(1, 1000);
  EXPECT_EQ(world.attach(2, 1000, 1000, resume(first)).error,
            static_cast<std::uint32_t>(ErrorCode::not_permitted))
      << "another process has it";
  world.node.disconnected(1);
  Hello forged = resume(first);
  forged.token[31] ^= std::byte{0x80};
  EXPECT_EQ(world.attach(3, 1000, 1000, forged).error, static_cast<std::uint32_t>(ErrorCode::not_permitted));
  EXPECT_EQ(world.attach(4, 1001, 1001, resume(first)).error,
            static_cast<std::uint32_t>(ErrorCode::not_permitted))
      << "a token is worth nothing to another user";
  EXPECT_EQ(world.attach(5, 1000, 1000, resume(first)).interface, first.interface);
}

TEST(Node, TheSameProcessMayReplaceItsOldConnection) {
  NodeWorld world;
  const Welcome first = world.attach(1);
  world.node.connected(2, {1000, 1000, 1, "test"}, world.now);  // the process of connection 1
  world.say(2, resume(first));
  EXPECT_EQ(world.take<Welcome>(2).interface, first.interface);
  EXPECT_TRUE(world.dropped(1));
}

TEST(Node, StrangersHaveATimeAndANumber) {
  NodeWorld world;
  for (std::uint64_t i = 1; i <= 65; ++i) world.connect(i);
  EXPECT_TRUE(world.dropped(65));
  EXPECT_FALSE(world.dropped(64));
  world.connect(66, 1001);
  EXPECT_FALSE(world.dropped(66)) << "each user has its own";
  world.pass(*world.node.deadline() - world.now - Time{1});
  EXPECT_FALSE(world.dropped(1));
  world.pass(Time{1});
  EXPECT_EQ(std::ranges::count_if(std::views::iota(1u, 67u), [&](auto i) { return world.dropped(i); }),
            1 + 16)
      << "a few at a time";
  world.pass_all(Time{0});
  EXPECT_TRUE(world.dropped(1) && world.dropped(66));
  EXPECT_TRUE(world.node.empty());
  EXPECT_FALSE(world.node.deadline().has_value());
}

// Links.

TEST(Node, IntroducesBothEnds) {
  TwoProcesses t{{}, 1001};
  t.world.say(1, ask(RequestKind::introduce, 9, t.two));
  const Reply here = t.world.reply(1);
  const Reply there = t.world.reply(2);
  EXPECT_EQ(here.kind, ReplyKind::introduced);
  EXPECT_EQ(here.request, 9u);
  EXPECT_EQ(here.peer, t.two);
  EXPECT_EQ(here.uid, 1001u);
  EXPECT_EQ(here.pid, 2u);
  EXPECT_EQ(here.initiator, 1u);
  EXPECT_EQ(there.kind, ReplyKind::introduced);
  EXPECT_EQ(there.request, 0u);
  EXPECT_EQ(there.peer, t.one);
  EXPECT_EQ(there.uid, 1000u);
  EXPECT_EQ(there.initiator, 0u);
  EXPECT_EQ(there.link, here.link);
  EXPECT_EQ(t.world.pairs, 1u);
}

TEST(Node, TwoThatAskForEachOtherGetOneLink) {
  TwoProcesses t;
  const std::uint64_t link = t.link();
  t.world.say(2, ask(RequestKind::introduce, 4, t.one));
  const Reply reply = t.world.reply(2);
  EXPECT_EQ(reply.kind, ReplyKind::linked);
  EXPECT_EQ(reply.request, 4u);
  EXPECT_EQ(reply.link, link);
  EXPECT_EQ(t.world.pairs, 1u);
}

TEST(Node, ANewLinkWaitsUntilBothEndsHaveDoneWithTheOld) {
  TwoProcesses t;
  const std::uint64_t link = t.link();
  t.world.say(1, ask(RequestKind::link_ended, 0, link));
  t.world.say(1, ask(RequestKind::introduce, 10, t.two));
  EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2));
  t.world.say(2, ask(RequestKind::link_ended, 0, link));
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::introduced);
  EXPECT_NE(t.world.reply(2).link, link);
}

TEST(Node, ANewLinkWaitsForTheAskersOwnEndToo) {
  TwoProcesses t;
  const std::uint64_t link = t.link();
  t.world.say(2, ask(RequestKind::link_ended, 0, link));
  t.world.say(1, ask(RequestKind::introduce, 10, t.two));
  EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2));
  t.world.say(1, ask(RequestKind::link_ended, 0, link));
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::introduced);
}

TEST(Node, AHeldIntroductionEndsWithThePeerOrACancel) {
  TwoProcesses t;
  const std::uint64_t link = t.link();
  t.world.say(1, ask(RequestKind::link_ended, 0, link));
  t.world.say(1, ask(RequestKind::introduce, 10, t.two));
  t.world.say(1, ask(RequestKind::introduce, 11, t.two));
  t.world.say(1, ask(RequestKind::cancel, 10));
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::cancelled);
  t.world.node.disconnected(2);
  const Reply reply = t.world.reply(1);
  EXPECT_EQ(reply.request, 11u);
  EXPECT_EQ(error_of(reply), ErrorCode::name_unknown);
}

TEST(Node, NobodyIsIntroducedToWhoIsBehind) {
  for (const std::uint64_t slow : {1u, 2u}) {
    TwoProcesses t;
    t.world.slow = {slow};
    t.world.say(1, ask(RequestKind::introduce, 10, t.two));
    EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2));
    t.world.node.caught_up(slow);
    EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2)) << "behind again at once";
    t.world.slow = {};
    t.world.node.caught_up(slow);
    EXPECT_EQ(t.world.reply(1).kind, ReplyKind::introduced);
    EXPECT_EQ(t.world.reply(2).kind, ReplyKind::introduced);
  }
}

TEST(Node, RefusesLinksThatCannotBe) {
  TwoProcesses t;
  t.world.say(1, ask(RequestKind::introduce, 1, t.one));
  EXPECT_EQ(error_of(t.world.reply(1)), ErrorCode::invalid_argument) << "with itself";
  t.world.say(1, ask(RequestKind::introduce, 2, 12345));
  EXPECT_EQ(error_of(t.world.reply(1)), ErrorCode::name_unknown);
  t.world.no_pairs = "no descriptors";
  t.world.say(1, ask(RequestKind::introduce, 3, t.two));
  const Reply reply = t.world.reply(1);
  EXPECT_EQ(error_of(reply), ErrorCode::out_of_memory);
  EXPECT_STREQ(reply.text, "no descriptors");
  t.world.no_pairs = nullptr;
  t.world.say(1, ask(RequestKind::introduce, 4, t.two));
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::introduced) << "the failure left nothing behind";
}

TEST(Node, AdoptsLinksThatAreOlderThanItself) {
  TwoProcesses t;
  const auto adopt = [&](std::uint64_t connection, std::uint64_t peer) {
    Request request = ask(RequestKind::adopt_link, 0, 4711);
    request.peer = peer;
    request.bytes = 8192;
    t.world.say(connection, request);
  };
  adopt(1, t.two);
  t.world.say(2, ask(RequestKind::introduce, 1, t.one));
  EXPECT_TRUE(t.world.quiet(2)) << "the two do not agree yet";
  t.world.say(2, ask(RequestKind::cancel, 1));
  t.world.reply(2);
  adopt(2, t.one);
  t.world.say(2, ask(RequestKind::introduce, 2, t.one));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::linked);
  EXPECT_EQ(t.world.pairs, 0u);
}

// Names.

TEST(Node, ListsInPagesAndShowsCountersToTheirOwnerAndRoot) {
  NodeWorld world;
  for (std::uint64_t i = 1; i <= 40; ++i) world.attach(i, i % 2 == 0 ? 2000 : 1000, 1, {}, true);
  Hello observer;
  observer.flags = Hello::kObserver;
  std::uint64_t connection = 100;
  for (const std::uint32_t uid : {2000u, 0u, 3000u}) {
    world.counters_sent.clear();
    ++connection;
    EXPECT_EQ(world.attach(connection, uid, uid, observer).interface, 0u);
    std::uint64_t last = 0;
    std::size_t listed = 0;
    NodeReply end;
    do {
      world.say(connection, ask(RequestKind::list, 1, last));
      while (world.sent[connection].front().size() == sizeof(node::AttachedReply)) {
        last = world.take<node::AttachedReply>(connection).interface;
        ++listed;
      }
      end = world.take<NodeReply>(connection);
    } while (end.more != 0);
    EXPECT_EQ(listed, 40u);
    EXPECT_EQ(end.interfaces, 40u);
    EXPECT_EQ(end.used.interfaces, uid == 2000 ? 20u : 0u);
    EXPECT_EQ(world.counters_sent.size(), uid == 2000 ? 20u : uid == 0 ? 40u : 0u);
  }
}

TEST(Node, AnObserverMayOnlyList) {
  for (auto kind = RequestKind::introduce; kind < RequestKind::list;
       kind = static_cast<RequestKind>(static_cast<std::uint32_t>(kind) + 1)) {
    NodeWorld world;
    Hello observer;
    observer.flags = Hello::kObserver;
    world.attach(1, 1000, 1000, observer);
    world.say(1, ask(kind, 1));
    EXPECT_TRUE(world.dropped(1));
  }
}

// Malformed requests.

TEST(Node, DropsARequestOfEveryOtherLength) {
  for (std::size_t size = 0; size <= sizeof(Request) + 8; ++size) {
    if (size == sizeof(Request)) continue;
    NodeWorld world;
    world.attach(1);
    const std::vector<std::byte> bytes(size, std::byte{1});
    world.node.received(1, bytes, false, world.now);
    EXPECT_TRUE(world.dropped(1)) << size;
    EXPECT_TRUE(world.node.empty());
  }
}

TEST(Node, DropsARequestWithAFieldItDoesNotUse) {
  // Each byte that a kind of request has no use for, set.
  std::size_t refused = 0;
  for (std::uint32_t kind = 0; kind <= 16; ++kind) {
    for (std::size_t at = 4; at < sizeof(Request); ++at) {
      Request request;
      request.kind = static_cast<RequestKind>(kind);
      request.request = 1;
      std::memcpy(reinterpret_cast<char*>(&request) + at, "\x80", 1);
      NodeWorld world;
      world.attach(1);
      world.say(1, request);
      const bool known = (kind >= 1 && kind <= 13) || kind == 16;
      const bool number = at >= 8 && at < 16;  // of the request: always used
      EXPECT_TRUE(known || world.dropped(1));
      EXPECT_FALSE(known && number && world.dropped(1)) << kind << " " << at;
      if (world.dropped(1)) ++refused;
    }
  }
  EXPECT_GT(refused, 1500u);
}

Request address_of(std::size_t length, const char* engine) {
  Request out = ask(RequestKind::fabric_address, 0);
  out.name_length = static_cast<std::uint32_t>(length);
  std::memset(out.name, 1, std::min(length, node::kMaxFabricAddress));
  std::memcpy(out.engine, engine, std::min(std::strlen(engine), node::kMaxEngine));
  return out;
}

TEST(Node, TakesAFabricAddressThatIsWholeAndDropsAnyOther) {
  const auto drops = [](const Request& request) {
    NodeWorld world;
    world.attach(1);
    world.say(1, request);
    EXPECT_TRUE(world.quiet(1));
    return world.dropped(1);
  };
  EXPECT_FALSE(drops(address_of(1, "net")));
  EXPECT_FALSE(drops(address_of(64, "fifteen-letters")));
  EXPECT_FALSE(drops(address_of(0, ""))) << "none";
  EXPECT_TRUE(drops(address_of(0, "net")));
  EXPECT_FALSE(drops(address_of(64, ""))) << "why there is none";
  EXPECT_TRUE(drops(address_of(65, "")));
  EXPECT_TRUE(drops(address_of(65, "net")));
  EXPECT_TRUE(drops(address_of(8, "sixteen--letters")));
  EXPECT_TRUE(drops(address_of(8, "a b")));
  Request rest = address_of(8, "net");
  rest.engine[9] = 'x';
  EXPECT_TRUE(drops(rest)) << "after the end of the text";
  rest = address_of(8, "");
  rest.engine[9] = 'x';
  EXPECT_TRUE(drops(rest)) << "behind no text";
}

TEST(Node, AFarIntroductionIsWholeOrInvalid) {
  node::FarReply good;
  good.peer = std::uint64_t{3} << node::kNodeShift | 7;
  good.link = 9;
  good.address_length = 64;
  std::memcpy(good.engine, "net", 3);
  EXPECT_EQ(node::invalid(good), nullptr);
  for (const std::uint32_t length : {0u, 65u, 0xFFFFFFFFu}) {
    node::FarReply bad = good;
    bad.address_length = length;
    EXPECT_NE(node::invalid(bad), nullptr) << length;
  }
  node::FarReply bad = good;
  bad.peer = 7;
  EXPECT_NE(node::invalid(bad), nullptr) << "an interface of this node";
  bad = good;
  bad.link = 0;
  EXPECT_NE(node::invalid(bad), nullptr);
  bad = good;
  bad.initiator = 2;
  EXPECT_NE(node::invalid(bad), nullptr);
  bad = good;
  bad.engine[0] = 0;
  EXPECT_NE(node::invalid(bad), nullptr);
}

TEST(Node, DropsANumberThatStillWaitsAndNumberZero) {
  NodeWorld world;
  world.attach(1);
  world.say(1, ask(RequestKind::lookup, 1, "n", kWait));
  world.say(1, ask(RequestKind::lookup, 1, "m"));
  EXPECT_TRUE(world.dropped(1));
  world.attach(2);
  world.say(2, ask(RequestKind::lookup, 0, "n"));
  EXPECT_TRUE(world.dropped(2));
}

// Reports of refused packets (paper 1, section 3.6).

Request report(std::uint64_t link, std::uint64_t refused) {
  Request out = ask(RequestKind::report, 0, link);
  out.bytes = refused;
  return out;
}

TEST(Node, AddsUpWhatAProcessReportsOfItsLinks) {
  TwoProcesses t;
  const std::uint64_t link = t.link();
  t.world.say(1, report(link, 5));
  t.world.say(1, report(link, 3));
  t.world.say(1, report(link + 77, 1000000));
  t.world.say(1, ask(RequestKind::list, 1));
  EXPECT_EQ(t.world.take<node::AttachedReply>(1).refused, 5u) << "it only grows, and knows no other link";
  EXPECT_EQ(t.world.take<node::AttachedReply>(1).refused, 0u);
  EXPECT_EQ(t.world.take<NodeReply>(1).cut, 0u);
  EXPECT_TRUE(t.world.quiet(2));
}

TEST(Node, WithoutARuleReportsCutNothing) {
  TwoProcesses t;
  t.world.say(1, report(t.link(), ~std::uint64_t{0}));
  EXPECT_TRUE(t.world.quiet(1));
  EXPECT_TRUE(t.world.quiet(2));
}

TEST(Node, TheRuleCutsThePairAndNobodyElse) {
  NodeOptions options;
  options.cut_after = 10;
  TwoProcesses t{options, 1001};
  const std::uint64_t third = t.world.attach(3, 1001, 1001).interface;
  t.world.say(3, ask(RequestKind::introduce, 1, t.one));
  t.world.reply(3);
  t.world.reply(1);
  const std::uint64_t link = t.link();
  t.world.say(1, report(link, 9));
  EXPECT_TRUE(t.world.quiet(1));
  t.world.say(1, report(link, 10));
  const Reply here = t.world.reply(1), there = t.world.reply(2);
  EXPECT_EQ(here.kind, ReplyKind::cut);
  EXPECT_EQ(here.link, link);
  EXPECT_EQ(here.peer, t.two);
  EXPECT_EQ(there.kind, ReplyKind::cut);
  EXPECT_EQ(there.peer, t.one);
  t.world.say(1, report(link, 1000));
  EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2) && t.world.quiet(3)) << "once";
  for (const std::uint64_t end : {1u, 2u}) t.world.say(end, ask(RequestKind::link_ended, 0, link));
  // The one that was reported may not ask for the next link; the reporter may, and then it is heard again.
  t.world.say(2, ask(RequestKind::introduce, 2, t.one));
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::not_permitted);
  t.world.say(2, ask(RequestKind::introduce, 3, third));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::introduced) << "with others it may";
  t.world.say(1, ask(RequestKind::introduce, 4, t.two));
  const Reply again = t.world.reply(1);
  ASSERT_EQ(again.kind, ReplyKind::introduced);
  t.world.reply(2);
  for (const std::uint64_t end : {1u, 2u}) t.world.say(end, ask(RequestKind::link_ended, 0, again.link));
  t.world.say(2, ask(RequestKind::introduce, 5, t.one));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::introduced);
}

// A process can say what it likes: of links that are not its own it says nothing.
TEST(Node, NobodyReportsForOthers) {
  NodeOptions options;
  options.cut_after = 1;
  TwoProcesses t{options};
  const std::uint64_t link = t.link();
  t.world.attach(3, 1002, 1002);
  t.world.say(3, report(link, 100));
  EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2) && t.world.quiet(3));
  EXPECT_FALSE(t.world.dropped(3));
}

// By adopting a number that it has read off somewhere, a process makes a link only for itself.
TEST(Node, NobodyCutsALinkByAdoptingItsNumber) {
  NodeOptions options;
  options.cut_after = 1;
  TwoProcesses t{options};
  const std::uint64_t link = t.link();
  t.world.attach(3, 1002, 1002);
  Request adopt = ask(RequestKind::adopt_link, 0, link);
  adopt.peer = t.one;
  t.world.say(3, adopt);
  t.world.say(3, report(link, 100));
  EXPECT_EQ(t.world.reply(3).kind, ReplyKind::cut) << "its own";
  EXPECT_TRUE(t.world.quiet(1) && t.world.quiet(2));
}

TEST(Node, CountsWhomItDropped) {
  NodeWorld world;
  for (std::uint64_t i = 1; i <= 4; ++i) world.attach(i);
  world.say(1, ask(RequestKind::lookup, 0, "n"));
  world.node.malformed(2, "cut short");
  world.node.too_slow(3);
  world.node.malformed(3, "it has gone already");
  world.say(4, ask(RequestKind::list, 1));
  EXPECT_EQ(world.take<node::AttachedReply>(4).interface, 4u);
  const NodeReply end = world.take<NodeReply>(4);
  EXPECT_EQ(end.malformed, 2u);
  EXPECT_EQ(end.dropped, 1u);
  EXPECT_EQ(end.interfaces, 1u);
}

}  // namespace
}  // namespace hamlyn::test
