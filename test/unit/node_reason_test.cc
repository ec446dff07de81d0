// Each refusal of a link, and each end that a daemon tells of, names its reason.
#include <gtest/gtest.h>

#include "base/link_reasons.h"
#include "test/unit/far_world.h"

namespace hamlyn::test {
namespace {

// As a process understands the answer (Client::next).
LinkReason reason_of(const Reply& reply) {
  EXPECT_TRUE(reply.kind == ReplyKind::refused || reply.kind == ReplyKind::far_gone);
  const LinkReason named = base::link_reason(reply.initiator);
  return named != LinkReason::none ? named : base::reason_of(static_cast<ErrorCode>(reply.error));
}

TEST(NodeReasons, within_a_node) {
  TwoProcesses t;
  const auto asked = [&](std::uint64_t by, std::uint64_t peer) {
    t.world.say(by, ask(RequestKind::introduce, 7, peer));
    const Reply reply = t.world.reply(by);
    EXPECT_EQ(reply.kind, ReplyKind::refused);
    return reason_of(reply);
  };
  EXPECT_EQ(asked(1, 4711), LinkReason::no_process);
  t.world.no_pairs = "no descriptors";
  EXPECT_EQ(asked(1, t.two), LinkReason::node_busy);
}

TEST(NodeReasons, of_quotas_say_whose) {
  node::Quotas quotas;
  quotas.links = 4;
  NodeWorld world(with_quotas(quotas));
  const auto server = world.attach(1, 1000, 1000).interface;
  std::vector<LinkReason> refused;
  for (std::uint64_t id = 2; id < 9; ++id) {  // of two other users, in turn
    world.attach(id, id % 2 == 0 ? 2000 : 3000, 2000);
    world.say(id, ask(RequestKind::introduce, 7, server));
    const Reply reply = world.reply(id);
    if (reply.kind == ReplyKind::refused) refused.push_back(reason_of(reply));
  }
  ASSERT_FALSE(refused.empty());
  for (const LinkReason each : refused) EXPECT_EQ(each, LinkReason::peer_quota);
  // Its own user's two ends of a link are one too many.
  const auto own = world.attach(20, 1000, 1000).interface;
  world.attach(21, 1000, 1000);
  world.say(21, ask(RequestKind::introduce, 7, server));
  world.reply(21);
  world.say(21, ask(RequestKind::introduce, 8, own));
  EXPECT_EQ(reason_of(world.reply(21)), LinkReason::quota);
}

TEST(NodeReasons, of_a_full_node_is_nobodys_quota) {
  node::Quotas total;
  total.bytes = 100;
  NodeWorld world(with_quotas(node::Quotas{}, total));
  const auto server = world.attach(1, 1000, 1000).interface;
  world.attach(2, 2000, 2000);
  world.say(2, ask(RequestKind::introduce, 7, server));
  EXPECT_EQ(reason_of(world.reply(2)), LinkReason::node_full);
}

// The server's user has as many links as are left for others; its asker's user has none.
TEST(NodeReasons, of_a_node_that_is_full_at_the_other_end_are_nobodys_quota) {
  node::Quotas total = node::times({}, node::kTotal);
  total.links = 64;
  NodeWorld world(with_quotas(node::Quotas{}, total));
  const auto server = world.attach(1, 1000, 1000).interface;
  for (std::uint64_t link = 1; link <= 28; ++link) {
    Request adopt = ask(RequestKind::adopt_link, 0, link);
    adopt.peer = 1'000'000 + link;
    world.say(1, adopt);
  }
  world.attach(2, 2000, 2000);
  world.say(2, ask(RequestKind::introduce, 7, server));
  EXPECT_EQ(reason_of(world.reply(2)), LinkReason::node_full);
}

TEST(NodeReasons, of_a_cut_are_told_to_whom_it_keeps_out) {
  node::NodeOptions options;
  options.cut_after = 10;
  TwoProcesses t(options);
  const std::uint64_t link = t.link();
  Request report = ask(RequestKind::report, 0, link);
  report.bytes = 10;
  t.world.say(2, report);
  for (const std::uint64_t id : {1u, 2u}) {
    EXPECT_EQ(t.world.reply(id).kind, ReplyKind::cut);
    t.world.say(id, ask(RequestKind::link_ended, 0, link));
  }
  t.world.say(1, ask(RequestKind::introduce, 7, t.two));
  EXPECT_EQ(reason_of(t.world.reply(1)), LinkReason::shunned);
}

TEST(NodeReasons, between_nodes) {
  FarWorld far{2};
  far.attach(1, 1);
  const std::uint64_t unreached = far.at(2).attach(3).interface;
  far.at(2).say(3, ask(RequestKind::fabric_address, 0));
  const std::uint64_t silent = far.at(2).attach(4).interface;
  const std::uint64_t other = far.at(2).attach(5).interface;
  Request engine = FarWorld::address();
  std::memcpy(engine.engine, "verbs", 5);
  far.at(2).say(5, engine);
  const auto asked = [&](std::uint64_t peer) {
    far.at(1).say(1, ask(RequestKind::introduce, 7, peer));
    far.settle();
    if (far.at(1).quiet(1)) far.pass(Time{6000});
    return reason_of(far.at(1).reply(1));
  };
  const auto numbered = [](std::uint64_t node) { return node << node::kNodeShift | 77; };
  EXPECT_EQ(asked(numbered(2)), LinkReason::no_process);
  EXPECT_EQ(asked(numbered(9)), LinkReason::node_missing);
  EXPECT_EQ(asked(unreached), LinkReason::no_way);
  EXPECT_EQ(asked(silent), LinkReason::node_silent);
  EXPECT_EQ(asked(other), LinkReason::other_engine);
  far.at(1).attach(6);
  far.at(1).say(6, ask(RequestKind::fabric_address, 0));
  far.at(1).say(6, ask(RequestKind::introduce, 7, numbered(2)));
  EXPECT_EQ(reason_of(far.at(1).reply(6)), LinkReason::no_way);
}

// A quota there is not the asker's, and the other daemon's word crosses the network.
TEST(NodeReasons, of_the_user_at_the_other_node) {
  node::Quotas quotas;
  quotas.links = 2;
  node::NodeOptions options = with_quotas(quotas);
  TwoDaemons t(options);
  t.far.link(t.two);
  t.far.attach(1, 7, 3000);
  t.far.at(1).say(7, ask(RequestKind::introduce, 8, t.two));
  t.far.settle();
  EXPECT_EQ(reason_of(t.far.at(1).reply(7)), LinkReason::peer_quota);
}

TEST(NodeReasons, of_ends_between_nodes) {
  {
    TwoDaemons t;
    const auto link = t.far.link(t.two).first.link;
    t.far.at(1).say(1, ask(RequestKind::link_ended, 0, link));
    t.far.settle();
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), LinkReason::ended);
  }
  {
    TwoDaemons t;
    t.far.link(t.two);
    t.far.at(1).node.disconnected(1);  // the process has ended
    t.far.settle();
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), LinkReason::died);
  }
  {
    TwoDaemons t;
    t.far.link(t.two);
    t.far.at(1).node.broken(1);  // it lives, and may come back
    t.far.settle();
    EXPECT_TRUE(t.far.at(2).quiet(2)) << "it may be dying";
    t.far.pass(Time{1100});
    t.far.settle();
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), LinkReason::ended);
  }
  {
    TwoDaemons t;
    t.far.link(t.two);
    t.far.at(1).node.broken(1);  // its sockets close before it has ended
    t.far.at(1).node.disconnected(1);
    t.far.settle();
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), LinkReason::died);
    t.far.pass(Time{200});
    t.far.settle();
    EXPECT_TRUE(t.far.at(2).quiet(2)) << "once";
  }
  {
    TwoDaemons t;
    t.far.link(t.two);
    t.far.at(1).say(1, ask(RequestKind::farewell, 0));
    t.far.settle();
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), LinkReason::left);
  }
  {
    TwoDaemons t;
    t.far.link(t.two);
    t.far.part(1, 2);
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), LinkReason::node_missing);
  }
  {
    TwoDaemons t;
    Request adopt = ask(RequestKind::adopt_link, 0, 99);
    adopt.peer = t.two;
    t.far.at(1).say(1, adopt);
    EXPECT_EQ(reason_of(t.far.at(1).reply(1)), LinkReason::daemon_restarted);
  }
}

// A process says why it ends a link, of that link alone, and of what is for it to say.
TEST(NodeReasons, of_ends_between_nodes_are_what_the_process_there_says) {
  for (std::uint64_t number = 0; number < 64; ++number) {
    TwoDaemons t;
    const auto link = t.far.link(t.two).first.link;
    const auto says = [&](std::uint64_t which) {
      Request why = ask(RequestKind::end_reason, 0, which);
      why.bytes = number;
      t.far.at(1).say(1, why);
    };
    says(link + 1);
    says(link);
    EXPECT_FALSE(t.far.at(1).dropped(1)) << number;
    t.far.at(1).say(1, ask(RequestKind::link_ended, 0, link));
    t.far.settle();
    const bool told = base::may_be_told(number) && base::link_reason(number) != LinkReason::cut;
    EXPECT_EQ(reason_of(t.far.at(2).reply(2)), told ? base::link_reason(number) : LinkReason::ended)
        << number;
  }
}

// The other daemon's word: what it may say of its process, or that the link has ended.
TEST(NodeReasons, of_ends_that_another_node_makes_up_are_ends) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    TwoDaemons t;
    const auto link = t.far.link(t.two).first.link;
    const node::FarEnded ended{link, t.one, t.two, static_cast<LinkReason>(byte)};
    t.far.at(2).node.node_said(1, node::encode(ended), Time{0});
    const Reply reply = t.far.at(2).reply(2);
    const LinkReason named = base::link_reason(byte);
    if (named == LinkReason::cut) {
      EXPECT_EQ(reply.kind, ReplyKind::cut);
      continue;
    }
    EXPECT_EQ(reply.kind, ReplyKind::far_gone) << byte;
    const bool theirs = named == LinkReason::died || base::may_be_told(byte);
    EXPECT_EQ(reason_of(reply), theirs ? named : LinkReason::ended) << byte;
  }
}

// A number that no reason has is none; the code goes on to say what it can.
TEST(NodeReasons, of_a_daemon_that_makes_them_up_are_none) {
  TwoDaemons t;
  t.far.at(1).say(1, ask(RequestKind::introduce, 8, t.two));
  for (std::uint64_t serial = 0; serial < 4 && t.far.at(1).quiet(1); ++serial) {
    auto message =
        encode(node::FarRefused{.serial = serial,
                                .error = 0xFFFF0000u | static_cast<std::uint32_t>(ErrorCode::name_unknown),
                                .text = "x"});
    t.far.at(1).node.node_said(2, message, t.far.at(1).now);
  }
  const Reply reply = t.far.at(1).reply(1);
  EXPECT_EQ(error_of(reply), ErrorCode::name_unknown);
  EXPECT_EQ(reply.initiator, 0u);
}

TEST(NodeReasons, a_name_that_is_taken_says_by_whom) {
  TwoProcesses t;
  t.world.say(1, publish(t.one, "toy"));
  t.world.reply(1);
  t.world.say(2, publish(t.two, "toy"));
  const Reply reply = t.world.reply(2);
  EXPECT_EQ(error_of(reply), ErrorCode::name_taken);
  EXPECT_EQ(std::string(reply.text),
            "process 1, interface " + std::to_string(t.one) + ", has registered the name toy");
  // A second interface of the process that has it.
  t.world.node.connected(3, {1000, 1000, 1, "test"}, t.world.now);
  t.world.say(3, node::Hello{});
  const auto third = t.world.take<node::Welcome>(3).interface;
  t.world.say(3, publish(third, "toy"));
  EXPECT_EQ(std::string(t.world.reply(3).text),
            "this process, by its interface " + std::to_string(t.one) + ", has registered the name toy");
}

TEST(NodeReasons, a_look_up_in_vain_says_which_nodes_are_not_there) {
  FarWorld far{3};
  far.attach(1, 1);
  far.rows(1) = {};
  for (const std::uint16_t id : std::initializer_list<std::uint16_t>{1, 2, 3, 7}) {
    node::MemberReply row;
    row.id = id;
    far.rows(1).push_back(row);
  }
  far.at(1).say(1, ask(RequestKind::lookup, 5, "toy", kWait));
  far.at(1).say(1, ask(RequestKind::cancel, 5));
  const auto text = [&] {
    Reply reply = far.at(1).reply(1);
    while (reply.kind == ReplyKind::open_fabric) reply = far.at(1).reply(1);
    return std::string(reply.text);
  };
  EXPECT_EQ(text(), "node 7 is not there");
  far.settle();
  far.part(1, 2);
  far.at(1).say(1, ask(RequestKind::lookup, 6, "toy"));
  far.settle();
  EXPECT_EQ(text(), "nobody in this cluster has registered the name: nodes 2, 7 are not there");
}

}  // namespace
}  // namespace hamlyn::test
