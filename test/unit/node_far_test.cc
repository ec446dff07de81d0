// The minds of several daemons, and processes of one that want links with those of another.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using test::ask;
using test::error_of;
using test::FarReply;
using test::FarWorld;
using test::kAddress;
using test::kWait;
using test::NodeId;
using test::Reply;
using test::ReplyKind;
using test::Request;
using test::RequestKind;
using test::Time;
using test::TwoDaemons;

TEST(FarNode, AnInterfaceNumberSaysItsNode) {
  TwoDaemons t;
  EXPECT_EQ(node::node_of(t.one), 1);
  EXPECT_EQ(node::node_of(t.two), 2);
}

TEST(FarNode, IntroducesProcessesOfTwoNodes) {
  TwoDaemons t;
  const auto [here, there] = t.far.link(t.two);
  EXPECT_EQ(here.request, 9u);
  EXPECT_EQ(here.initiator, 1u);
  EXPECT_EQ(here.peer, t.two);
  EXPECT_EQ(here.uid, 2000u);
  EXPECT_EQ(here.pid, 2u);
  EXPECT_EQ(here.peer_incarnation, 1002u);
  EXPECT_EQ(here.own_incarnation, 1001u);
  EXPECT_EQ(there.request, 0u);
  EXPECT_EQ(there.initiator, 0u);
  EXPECT_EQ(there.peer, t.one);
  EXPECT_EQ(there.uid, 1000u);
  EXPECT_EQ(there.peer_incarnation, 1001u);
  EXPECT_EQ(here.link, there.link);
  EXPECT_NE(here.link, 0u);
  EXPECT_EQ(here.key, there.key);
  EXPECT_EQ(node::invalid(here), nullptr);
  EXPECT_EQ(node::invalid(there), nullptr);
  EXPECT_EQ(here.address_length, std::strlen(kAddress));
  EXPECT_EQ(std::memcmp(here.address.data(), kAddress, here.address_length), 0);
  EXPECT_STREQ(here.engine, "efa");
}

TEST(FarNode, AsksAProcessForItsAddressAtFirstNeed) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t two = far.at(2).attach(2).interface;
  far.at(1).say(1, ask(RequestKind::introduce, 9, two));
  far.settle();
  const Reply open = far.at(2).reply(2);
  EXPECT_EQ(open.kind, ReplyKind::open_fabric);
  EXPECT_STREQ(open.text, "127.0.0.2 by 1") << "where the asker's node reaches this one";
  EXPECT_TRUE(far.at(1).quiet(1));
  far.at(2).say(2, FarWorld::address());
  far.settle();
  EXPECT_EQ(far.at(1).take<FarReply>(1).peer, two);
}

TEST(FarNode, APeerThatSaysNoAddressOrHasNoneIsRefused) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t silent = far.at(2).attach(2).interface;
  const std::uint64_t without = far.at(2).attach(3).interface;
  Request none = FarWorld::address();
  none = ask(RequestKind::fabric_address, 0);
  far.at(2).say(3, none);
  far.at(1).say(1, ask(RequestKind::introduce, 8, without));
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::peer_refused);
  far.at(1).say(1, ask(RequestKind::introduce, 9, silent));
  far.settle();
  far.pass(Time{5000});
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::timed_out);
  far.at(2).say(2, FarWorld::address());
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1)) << "nobody waits for it any more";
}

TEST(FarNode, RefusesWhatCannotBeReached) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t nobody = std::uint64_t{2} << node::kNodeShift | 77;
  far.at(1).say(1, ask(RequestKind::introduce, 3, nobody));
  far.settle();
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::name_unknown);
  far.at(1).say(1, ask(RequestKind::introduce, 4, std::uint64_t{9} << node::kNodeShift | 77));
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::peer_died) << "a node that is not there";
  far.at(1).attach(5);
  far.at(1).say(5, ask(RequestKind::fabric_address, 0));
  far.at(1).say(5, ask(RequestKind::introduce, 4, nobody));
  EXPECT_EQ(error_of(far.at(1).reply(5)), ErrorCode::invalid_argument) << "an asker that cannot be reached";
}

// Its host got a node number while the process lived, which keeps the number that it had.
TEST(FarNode, AProcessWithANumberFromBeforeItsHostHadANodeReachesNoOtherNode) {
  test::NodeWorld before;
  const node::Welcome old = before.attach(1);
  TwoDaemons t;
  ASSERT_EQ(t.far.at(1).attach(7, 1000, 1000, test::resume(old)).interface, old.interface);
  t.far.at(1).say(7, FarWorld::address());
  t.far.at(1).say(7, ask(RequestKind::introduce, 9, t.two));
  t.far.settle();
  const Reply refused = t.far.at(1).reply(7);
  EXPECT_EQ(error_of(refused), ErrorCode::not_permitted);
  EXPECT_NE(std::string_view(refused.text).find("a new interface"), std::string_view::npos) << refused.text;
  EXPECT_TRUE(t.far.at(2).quiet(2)) << "nothing was asked of the other node";
}

TEST(FarNode, AnAskerThatHasNotOpenedTheWayDoesSoFirst) {
  FarWorld far{2};
  far.at(1).attach(1);
  const std::uint64_t two = far.attach(2, 2);
  far.at(1).say(1, ask(RequestKind::introduce, 9, two));
  const Reply open = far.at(1).reply(1);
  EXPECT_EQ(open.kind, ReplyKind::open_fabric);
  EXPECT_STREQ(open.text, "127.0.0.1 by 2");
  far.at(1).say(1, ask(RequestKind::introduce, 10, two));
  far.settle();
  EXPECT_TRUE(far.at(1).quiet(1)) << "and is asked once";
  far.at(1).say(1, FarWorld::address());
  far.settle();
  EXPECT_EQ(far.at(1).take<FarReply>(1).peer, two);
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::linked);

  far.at(1).attach(5);
  far.at(1).say(5, ask(RequestKind::introduce, 9, two));
  EXPECT_EQ(far.at(1).reply(5).kind, ReplyKind::open_fabric);
  far.at(1).say(5, ask(RequestKind::fabric_address, 0));
  EXPECT_EQ(error_of(far.at(1).reply(5)), ErrorCode::invalid_argument) << "it could not";
}

TEST(FarNode, WhoIsLikelyToTalkToOthersOpensTheWayInTime) {
  FarWorld far{2};
  far.part(1, 2);
  far.at(1).attach(1);
  far.at(1).attach(2);
  far.at(1).attach(3);
  far.at(1).say(1, ask(RequestKind::publish, 3, "here"));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::published);
  EXPECT_TRUE(far.at(1).quiet(1)) << "there is no other node yet";
  far.at(1).say(2, ask(RequestKind::lookup, 3, "here"));
  EXPECT_EQ(far.at(1).reply(2).kind, ReplyKind::found);
  far.meet(1, 2);
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::open_fabric);
  far.at(1).say(1, ask(RequestKind::publish, 4, "again"));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::published);
  EXPECT_TRUE(far.at(1).quiet(1)) << "it is asked once";
  EXPECT_TRUE(far.at(1).quiet(2)) << "what it was looking for is on its own host";
  far.at(1).say(3, ask(RequestKind::lookup, 3, "elsewhere", kWait));
  EXPECT_EQ(far.at(1).reply(3).kind, ReplyKind::open_fabric);
}

TEST(FarNode, QuotasOfBothUsersHold) {
  node::NodeOptions options;
  options.quotas.links = 2;
  TwoDaemons t{options};
  const std::uint64_t more = t.far.attach(2, 3, 2000);
  t.far.link(t.two);
  t.far.at(1).say(1, ask(RequestKind::introduce, 10, more));
  t.far.settle();
  EXPECT_EQ(error_of(t.far.at(1).reply(1)), ErrorCode::quota_links) << "half of what that user may have";
}

TEST(FarNode, ASecondRequestIsToldOfTheLink) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  t.far.at(1).say(1, ask(RequestKind::introduce, 10, t.two));
  const Reply reply = t.far.at(1).reply(1);
  EXPECT_EQ(reply.kind, ReplyKind::linked);
  EXPECT_EQ(reply.link, link);
}

TEST(FarNode, BothAskAtOnceAndHaveOneLink) {
  TwoDaemons t;
  t.far.at(1).say(1, ask(RequestKind::introduce, 5, t.two));
  t.far.at(2).say(2, ask(RequestKind::introduce, 6, t.one));
  t.far.settle();
  const auto here = t.far.at(1).take<FarReply>(1);
  const auto there = t.far.at(2).take<FarReply>(2);
  EXPECT_EQ(here.link, there.link);
  EXPECT_EQ(here.request, 5u);
  const Reply linked = t.far.at(2).reply(2);
  EXPECT_EQ(linked.kind, ReplyKind::linked);
  EXPECT_EQ(linked.request, 6u);
  EXPECT_EQ(linked.link, here.link);
  EXPECT_TRUE(t.far.at(1).quiet(1));
}

TEST(FarNode, WhoWantsTheSameLinkIsAnsweredToo) {
  for (const char* how : {"made", "refused", "cancelled", "dead"}) {
    FarWorld far{2};
    far.attach(1, 1);
    const std::uint64_t two = far.at(2).attach(2).interface;
    for (const std::uint64_t request : {5u, 6u}) far.at(1).say(1, ask(RequestKind::introduce, request, two));
    far.settle();
    if (how[0] == 'm') {
      far.at(2).say(2, FarWorld::address());
      far.settle();
      EXPECT_EQ(far.at(1).take<FarReply>(1).request, 5u);
      EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::linked);
    } else if (how[0] == 'r') {
      for (const std::uint64_t request : {5u, 6u}) {  // each time it is asked again
        EXPECT_EQ(far.at(2).reply(2).kind, ReplyKind::open_fabric);
        far.at(2).say(2, ask(RequestKind::fabric_address, 0));
        far.settle();
        const Reply reply = far.at(1).reply(1);
        EXPECT_EQ(reply.request, request);
        EXPECT_EQ(error_of(reply), ErrorCode::peer_refused);
      }
    } else if (how[0] == 'c') {
      far.at(1).say(1, ask(RequestKind::cancel, 5));
      EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::cancelled);
      far.settle();
      far.at(2).say(2, FarWorld::address());
      far.settle();
      EXPECT_EQ(far.at(1).take<FarReply>(1).request, 6u);
    } else {
      far.part(1, 2);
      for (int i = 0; i < 2; ++i) EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::peer_died);
    }
    EXPECT_TRUE(far.at(1).quiet(1)) << how;
  }
}

TEST(FarNode, TheEndOfOneEndIsToldToTheOtherAndTheNextLinkWaitsForBoth) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  t.far.at(1).say(1, ask(RequestKind::link_ended, 0, link));
  t.far.settle();
  const Reply gone = t.far.at(2).reply(2);
  EXPECT_EQ(gone.kind, ReplyKind::far_gone);
  EXPECT_EQ(gone.link, link);
  EXPECT_EQ(gone.peer, t.one);
  EXPECT_EQ(gone.error, static_cast<std::uint32_t>(ErrorCode::peer_died));
  t.far.at(1).say(1, ask(RequestKind::introduce, 10, t.two));
  t.far.settle();
  EXPECT_TRUE(t.far.at(1).quiet(1)) << "the other end has not ended yet";
  t.far.at(2).say(2, ask(RequestKind::link_ended, 0, link));
  t.far.settle();
  const auto next = t.far.at(1).take<FarReply>(1);
  EXPECT_EQ(next.request, 10u);
  EXPECT_NE(next.link, link);
}

TEST(FarNode, ADeadProcessIsToldToTheOtherEndAtOnce) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  t.far.at(2).node.disconnected(2);
  t.far.settle();
  const Reply gone = t.far.at(1).reply(1);
  EXPECT_EQ(gone.kind, ReplyKind::far_gone);
  EXPECT_EQ(gone.link, link);
}

TEST(FarNode, ADeadNodeIsToldToAllThatHaveLinksThereOnce) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  t.far.part(1, 2);
  for (const NodeId id : {NodeId{1}, NodeId{2}}) {
    const Reply gone = t.far.at(id).reply(id);
    EXPECT_EQ(gone.kind, ReplyKind::far_gone);
    EXPECT_EQ(gone.link, link);
    EXPECT_TRUE(t.far.at(id).quiet(id));
    t.far.at(id).say(id, ask(RequestKind::link_ended, 0, link));
  }
  t.far.meet(1, 2);
  t.far.settle();
  EXPECT_NE(t.far.link(t.two).first.link, 0u) << "and they can have another";
}

// Processes may live, and talk, while a daemon is silent: they are told that, and their links stand.
TEST(FarNode, ASilentNodeEndsNoLink) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  for (int i = 0; i < 3; ++i) {
    t.far.part(1, 2, true);
    for (const NodeId id : {NodeId{1}, NodeId{2}}) {
      const Reply silent = t.far.at(id).reply(id);
      EXPECT_EQ(silent.kind, ReplyKind::far_gone);
      EXPECT_EQ(silent.link, link);
      EXPECT_EQ(silent.error, static_cast<std::uint32_t>(ErrorCode::timed_out));
      EXPECT_TRUE(t.far.at(id).quiet(id));
    }
    t.far.meet(1, 2);
    t.far.settle();
    for (const NodeId id : {NodeId{1}, NodeId{2}}) EXPECT_TRUE(t.far.at(id).quiet(id));
    t.far.at(1).say(1, ask(RequestKind::introduce, 10, t.two));
    t.far.settle();
    EXPECT_EQ(t.far.at(1).reply(1).kind, ReplyKind::linked) << "there is one";
  }
  t.far.at(1).say(1, ask(RequestKind::link_ended, 0, link));
  t.far.settle();
  const Reply gone = t.far.at(2).reply(2);
  EXPECT_EQ(gone.kind, ReplyKind::far_gone);
  EXPECT_EQ(gone.error, static_cast<std::uint32_t>(ErrorCode::peer_died));
}

TEST(FarNode, ANewIncarnationEndsTheLinksThatHaveOutlivedTheFormerOne) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  t.far.meet(1, 2);
  t.far.part(1, 2, true);
  EXPECT_EQ(t.far.at(1).reply(1).error, static_cast<std::uint32_t>(ErrorCode::timed_out));
  t.far.start_again(2);
  t.far.meet(1, 2);
  const Reply gone = t.far.at(1).reply(1);
  EXPECT_EQ(gone.kind, ReplyKind::far_gone);
  EXPECT_EQ(gone.link, link);
  EXPECT_EQ(gone.error, static_cast<std::uint32_t>(ErrorCode::peer_died));
  EXPECT_TRUE(t.far.at(1).quiet(1));
  t.far.at(1).say(1, ask(RequestKind::link_ended, 0, link));
  t.far.at(2).say(2, ask(RequestKind::link_ended, 0, link));
  t.far.settle();
  EXPECT_NE(t.far.link(t.two).first.link, 0u) << "and they can have another";
}

// The node is back, with another incarnation, before all were told of its silence.
TEST(FarNode, ANewIncarnationEndsLinksThatWereNotToldOfTheSilenceYet) {
  FarWorld far{2};
  std::map<std::uint64_t, std::uint64_t> links;
  constexpr std::uint64_t kMany = 40;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    const std::uint64_t one = far.attach(1, i), two = far.attach(2, i);
    static_cast<void>(one);
    far.at(1).say(i, ask(RequestKind::introduce, 9, two));
    far.settle();
    links[i] = far.at(1).take<FarReply>(i).link;
  }
  far.meet(1, 2);
  far.part(1, 2, true);
  far.start_again(2);
  far.meet(1, 2);
  while (far.at(1).node.has_more()) far.at(1).node.go_on();
  for (const auto& [connection, link] : links) {
    Reply last;
    while (!far.at(1).quiet(connection)) last = far.at(1).reply(connection);
    EXPECT_EQ(last.kind, ReplyKind::far_gone);
    EXPECT_EQ(last.link, link);
    EXPECT_EQ(last.error, static_cast<std::uint32_t>(ErrorCode::peer_died)) << connection;
  }
}

TEST(FarNode, ARequestUnderWayFailsWithItsNode) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t silent = far.at(2).attach(2).interface;
  far.at(1).say(1, ask(RequestKind::introduce, 9, silent));
  far.settle();
  far.part(1, 2);
  EXPECT_EQ(error_of(far.at(1).reply(1)), ErrorCode::peer_died);
}

TEST(FarNode, ACancelledRequestLeavesNoLinkAnywhere) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t two = far.at(2).attach(2).interface;
  far.at(1).say(1, ask(RequestKind::introduce, 9, two));
  far.settle();
  EXPECT_EQ(far.at(2).reply(2).kind, ReplyKind::open_fabric);
  far.at(1).say(1, ask(RequestKind::cancel, 9));
  EXPECT_EQ(far.at(1).reply(1).kind, ReplyKind::cancelled);
  far.settle();
  far.at(2).say(2, FarWorld::address());
  far.settle();
  EXPECT_TRUE(far.at(2).quiet(2)) << "no introduction";
  EXPECT_TRUE(far.at(1).quiet(1));
}

TEST(FarNode, ALinkThatIsOlderThanTheDaemonIsOver) {
  TwoDaemons t;
  Request adopt = ask(RequestKind::adopt_link, 0, 4711);
  adopt.peer = t.two;
  adopt.bytes = 8192;
  t.far.at(1).say(1, adopt);
  const Reply gone = t.far.at(1).reply(1);
  EXPECT_EQ(gone.kind, ReplyKind::far_gone);
  EXPECT_EQ(gone.link, 4711u);
}

TEST(FarNode, TheRuleOnReportsCutsLinksBetweenNodesAtBothEnds) {
  node::NodeOptions options;
  options.cut_after = 3;
  TwoDaemons t{options};
  const auto link = t.far.link(t.two).first.link;
  Request report = ask(RequestKind::report, 0, link);
  report.bytes = 3;
  t.far.at(2).say(2, report);
  t.far.settle();
  EXPECT_EQ(t.far.at(2).reply(2).kind, ReplyKind::cut);
  EXPECT_EQ(t.far.at(1).reply(1).kind, ReplyKind::cut);
  t.far.at(1).say(1, ask(RequestKind::link_ended, 0, link));
  t.far.at(2).say(2, ask(RequestKind::link_ended, 0, link));
  t.far.settle();
  t.far.at(1).say(1, ask(RequestKind::introduce, 10, t.two));
  t.far.settle();
  EXPECT_EQ(error_of(t.far.at(1).reply(1)), ErrorCode::not_permitted) << "the offender asks again";
}

TEST(FarNode, ListsTheClusterInPages) {
  FarWorld far{1};
  far.at(1).connect(7);
  node::Hello observer;
  observer.flags = node::Hello::kObserver;
  far.at(1).say(7, observer);
  far.at(1).take<node::Welcome>(7);
  std::uint16_t last = 0;
  for (const unsigned page : {32u, 32u, 6u}) {
    far.at(1).say(7, ask(RequestKind::nodes, 1, last));
    for (unsigned i = 0; i < page; ++i) last = far.at(1).take<node::MemberReply>(7).id;
    EXPECT_EQ(far.at(1).take<node::NodeReply>(7).more, page == 32 ? 1u : 0u);
  }
  EXPECT_EQ(last, 70);
}

TEST(FarNode, LinksThatAreAskedForCount) {
  FarWorld far{2, test::with_quotas({.links = 2})};
  far.attach(1, 1);
  std::uint64_t peers[3];
  for (std::uint64_t i = 0; i < 3; ++i)
    peers[i] = far.at(2).attach(10 + i, 2000 + static_cast<std::uint32_t>(i)).interface;
  for (std::uint64_t i = 0; i < 3; ++i) far.at(1).say(1, ask(RequestKind::introduce, i + 1, peers[i]));
  Reply reply = far.at(1).reply(1);
  EXPECT_EQ(reply.request, 3u);
  EXPECT_EQ(error_of(reply), ErrorCode::quota_links);
  far.settle();
  for (std::uint64_t i = 0; i < 2; ++i) far.at(2).say(10 + i, FarWorld::address());
  far.settle();
  for (std::uint64_t i = 0; i < 2; ++i) EXPECT_EQ(far.at(1).take<FarReply>(1).peer, peers[i]);
  EXPECT_TRUE(far.at(1).quiet(1));
}

// Where processes may be reached.

Request tcp_address(NodeId node, std::uint16_t port, const char* engine = "net") {
  const auto ip = test::ClusterWorld::address_of(node).ip;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  std::memcpy(&at.sin_addr, ip.data() + 12, 4);
  Request out = ask(RequestKind::fabric_address, 0);
  out.name_length = sizeof at;
  std::memcpy(out.name, &at, sizeof at);
  std::memcpy(out.engine, engine, std::strlen(engine));
  return out;
}

TEST(FarNode, AProcessIsReachedAtItsNodesAddressAlone) {
  // What the asker is told when one of the two says that it is reached there.
  const auto wanted = [](NodeId liar, const Request& request) {
    FarWorld far{2};
    far.at(1).attach(1);
    const std::uint64_t two = far.at(2).attach(2).interface;
    for (const NodeId id : {NodeId{1}, NodeId{2}})
      far.at(id).say(id, id == liar ? request : tcp_address(id, 5000, request.engine));
    far.at(1).say(1, ask(RequestKind::introduce, 9, two));
    far.settle();
    const ErrorCode error = error_of(far.at(1).reply(1));
    EXPECT_TRUE(far.at(1).quiet(1));
    EXPECT_EQ(far.at(2).quiet(2), liar == 1)
        << "a peer that is believed hears nothing of an asker that is not";
    return error;
  };
  for (const char* engine : {"net", "tcp"}) {
    for (const NodeId liar : {NodeId{1}, NodeId{2}}) {
      const auto other = static_cast<NodeId>(3 - liar);
      EXPECT_EQ(wanted(liar, tcp_address(other, 5000, engine)), ErrorCode::not_permitted);
      EXPECT_EQ(wanted(liar, tcp_address(liar, 1023, engine)), ErrorCode::not_permitted);
      Request none = ask(RequestKind::fabric_address, 0, "an address");
      std::memcpy(none.engine, engine, std::strlen(engine));
      EXPECT_EQ(wanted(liar, none), ErrorCode::not_permitted);
    }
  }
  FarWorld far{2};
  far.at(1).attach(1);
  const std::uint64_t two = far.at(2).attach(2).interface;
  far.at(1).say(1, tcp_address(1, 5000));
  far.at(2).say(2, tcp_address(2, 1024));
  EXPECT_EQ(far.link(two).first.peer, two);
}

// The engine that a node asks for.
TEST(FarNode, AnEngineThatIsAskedForIsTakenOrThereIsNoLink) {
  node::NodeOptions options;
  options.engine = "efa";
  FarWorld far{2, options};
  far.at(1).attach(1);
  const std::uint64_t two = far.at(2).attach(2).interface;
  far.at(2).say(2, tcp_address(2, 5000, "efa"));
  far.at(1).say(1, ask(RequestKind::introduce, 9, two));
  const node::Reply open = far.at(1).reply(1);
  EXPECT_EQ(open.kind, ReplyKind::open_fabric);
  EXPECT_TRUE(std::string_view(open.text).ends_with(" efa")) << open.text;
  Request none = ask(RequestKind::fabric_address, 0, "efa: no \x1b[2Jdata");
  far.at(1).say(1, none);
  const node::Reply refused = far.at(1).reply(1);
  EXPECT_EQ(error_of(refused), ErrorCode::invalid_argument);
  EXPECT_NE(std::string_view(refused.text).find("reaches it: efa: no ?[2Jdata"), std::string_view::npos)
      << refused.text;
  // Another than the other end's.
  far.at(1).say(1, tcp_address(1, 5000, "net"));
  far.at(1).say(1, ask(RequestKind::introduce, 10, two));
  far.settle();
  const node::Reply differs = far.at(1).reply(1);
  EXPECT_EQ(error_of(differs), ErrorCode::version_mismatch);
  EXPECT_NE(std::string_view(differs.text).find("engine efa, and not by net"), std::string_view::npos)
      << differs.text;
}

}  // namespace
}  // namespace hamlyn
