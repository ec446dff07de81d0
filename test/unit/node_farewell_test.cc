// The daemon's mind: a process that leaves in good order, and what of it is free at once.
#include <gtest/gtest.h>

#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::NodeOptions;
using node::ReplyKind;
using node::RequestKind;
using node::Welcome;

constexpr auto kFarewell = RequestKind::farewell;

TEST(Farewell, FreesTheNamesAtOnce) {
  NodeWorld world{with_quotas({.names = 1})};
  world.attach(1);
  world.attach(2);
  world.say(1, ask(RequestKind::publish, 1, "n"));
  world.say(1, ask(kFarewell, 0));
  EXPECT_TRUE(world.dropped(1));
  EXPECT_TRUE(world.given.empty()) << "nor is it written down";
  world.say(2, ask(RequestKind::lookup, 1, "n"));
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::name_unknown);
  world.say(2, ask(RequestKind::publish, 2, "n"));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::published) << "within the user's quota";
  EXPECT_FALSE(world.called_after_drop);
}

// Follows a farewell on a real socket: its connection ends, and its process may live on.
TEST(Farewell, IsTheEndOfTheConnectionWhateverFollows) {
  TwoProcesses t;
  const std::uint64_t link = t.link();
  t.world.say(1, ask(kFarewell, 0));
  t.world.say(1, ask(RequestKind::publish, 1, "n"));
  t.world.node.broken(1);
  t.world.node.disconnected(1);
  EXPECT_FALSE(t.world.called_after_drop);
  EXPECT_TRUE(t.world.given.empty());
  t.world.say(2, ask(RequestKind::introduce, 1, t.one));
  EXPECT_TRUE(t.world.quiet(2) || error_of(t.world.reply(2)) == ErrorCode::name_unknown);
  t.world.say(2, ask(RequestKind::link_ended, 0, link));
  t.world.say(2, ask(RequestKind::introduce, 2, t.one));
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::name_unknown);
}

TEST(Farewell, IsOfOnesOwnNamesAlone) {
  NodeWorld world;
  world.attach(1);
  world.attach(2);
  world.attach(3);
  world.say(1, ask(RequestKind::publish, 1, "there"));
  world.say(2, ask(RequestKind::publish, 1, "kept"));
  world.node.broken(2);
  world.say(3, ask(kFarewell, 0));
  world.attach(4);
  world.say(4, ask(RequestKind::publish, 1, "there"));
  EXPECT_EQ(error_of(world.reply(4)), ErrorCode::name_taken);
  world.say(4, ask(RequestKind::publish, 2, "kept"));
  EXPECT_TRUE(world.quiet(4)) << "for who had it";
  world.pass(NodeOptions{}.grace);
  EXPECT_EQ(world.reply(4).kind, ReplyKind::published);
}

// A farewell names nothing: a number, a name, a token or a ticket in it is malformed, and nobody's name goes.
TEST(Farewell, NamesNothing) {
  const auto with = [](auto change) {
    node::Request out = ask(kFarewell, 0);
    change(out);
    return out;
  };
  const node::Request wrong[] = {with([](node::Request& r) { r.number = 1; }),
                                 with([](node::Request& r) { r.peer = 1; }),
                                 with([](node::Request& r) { r.flags = 1; }),
                                 with([](node::Request& r) { r.name_length = 1, r.name[0] = 'n'; }),
                                 with([](node::Request& r) { r.bytes = 1; }),
                                 with([](node::Request& r) { r.token[0] = std::byte{1}; }),
                                 with([](node::Request& r) { r.ticket.key = 1; })};
  for (const node::Request& request : wrong) {
    TwoProcesses t;
    t.world.say(1, ask(RequestKind::publish, 1, "n"));
    t.world.say(2, request);
    EXPECT_TRUE(t.world.dropped(2));
    EXPECT_EQ(t.world.given.count("n"), 1u);
  }
  NodeWorld world;
  world.connect(1);
  node::Hello observer;
  observer.flags = node::Hello::kObserver;
  world.say(1, observer);
  world.say(1, ask(kFarewell, 0));
  EXPECT_TRUE(world.dropped(1)) << "who has attached nothing leaves nothing";
}

// Between its new connection and the claims of its names: they are its own by the number that it has proven.
TEST(Farewell, FreesWhatAConnectionBeforeHadLeft) {
  NodeWorld world;
  const Welcome owner = world.attach(1);
  world.say(1, ask(RequestKind::publish, 1, "n"));
  world.attach(2);
  world.node.broken(1);
  world.say(2, ask(RequestKind::publish, 1, "n"));
  world.say(2, ask(RequestKind::lookup, 2, "n"));
  EXPECT_TRUE(world.quiet(2));
  world.attach(3, 1000, 1000, resume(owner));
  world.say(3, ask(kFarewell, 0));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::published);
  EXPECT_EQ(world.reply(2).kind, ReplyKind::found);
}

TEST(Farewell, AfterARestartOfTheDaemonFreesWhatItHadBefore) {
  NodeWorld before;
  const Welcome owner = before.attach(1);
  NodeOptions options;
  options.first_number = 1000;
  options.recovering = true;
  options.left = {{"mine", owner.interface, 1000, 1}, {"anothers", 77, 1000, 2}};
  NodeWorld world{options};
  world.attach(1, 1000, 1000, resume(owner));
  world.attach(2);
  world.say(2, ask(RequestKind::lookup, 1, "mine"));
  world.say(1, ask(kFarewell, 0));
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::name_unknown) << "it need not come back for";
  world.say(2, ask(RequestKind::publish, 2, "mine"));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::published);
  world.say(2, ask(RequestKind::publish, 3, "anothers"));
  EXPECT_TRUE(world.quiet(2)) << "is kept all the same";
}

}  // namespace
}  // namespace hamlyn::test
