// The daemon's mind: names, who may have them, and who gets them back.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "node/server/name_file.h"
#include "test/support/command.h"
#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::NameFile;
using node::NodeOptions;
using node::OwnedName;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using node::Time;
using node::Token;
using node::Welcome;

TEST(Node, PublishesAndFinds) {
  TwoProcesses t;
  Request publish = ask(RequestKind::publish, 1, "prices");
  publish.ticket.key = 77;
  t.world.say(1, publish);
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::published);
  t.world.say(2, ask(RequestKind::lookup, 5, "prices"));
  const Reply found = t.world.reply(2);
  EXPECT_EQ(found.kind, ReplyKind::found);
  EXPECT_EQ(found.request, 5u);
  EXPECT_EQ(found.ticket, publish.ticket);
  EXPECT_EQ(found.peer, t.one);
}

TEST(Node, NamesHaveOneToSixtyFourCharactersOfTheirAlphabet) {
  EXPECT_TRUE(node::valid_name("aZ09._-"));
  EXPECT_TRUE(node::valid_name(std::string(64, 'x')));
  for (int c = 0; c < 256; ++c) {
    const std::string name(1, static_cast<char>(c));
    const bool allowed = (c < 128 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
    EXPECT_EQ(node::valid_name(name), allowed) << c;
  }
  NodeWorld world;
  world.attach(1);
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(65, 'x')}) {
    world.say(1, ask(RequestKind::publish, 1, name));
    EXPECT_EQ(error_of(world.reply(1)), ErrorCode::name_invalid) << name;
    world.say(1, ask(RequestKind::lookup, 1, name));
    EXPECT_EQ(error_of(world.reply(1)), ErrorCode::name_invalid) << name;
  }
}

TEST(Node, ANameHasOneOwnerWhoMayChangeIt) {
  TwoProcesses t;
  t.world.say(1, ask(RequestKind::publish, 1, "n"));
  t.world.reply(1);
  t.world.say(2, ask(RequestKind::publish, 1, "n"));
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::name_taken);
  t.world.say(2, ask(RequestKind::withdraw, 2, "n"));
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::name_unknown);
  Request again = ask(RequestKind::publish, 2, "n");
  again.ticket.key = 5;
  t.world.say(1, again);
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::published);
  t.world.say(2, ask(RequestKind::lookup, 3, "n"));
  EXPECT_EQ(t.world.reply(2).ticket.key, 5u);
  t.world.say(1, ask(RequestKind::withdraw, 3, "n"));
  EXPECT_EQ(t.world.reply(1).kind, ReplyKind::withdrawn);
  t.world.say(2, ask(RequestKind::publish, 4, "n"));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::published);
}

TEST(Node, ANameEndsWithItsProcess) {
  TwoProcesses t;
  t.world.say(1, ask(RequestKind::publish, 1, "n"));
  t.world.node.disconnected(1);
  t.world.say(2, ask(RequestKind::lookup, 3, "n"));
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::name_unknown);
}

TEST(Node, RefusesATicketThatIsNone) {
  NodeWorld world;
  world.attach(1);
  Request publish = ask(RequestKind::publish, 1, "n");
  publish.ticket.version = 2;
  world.say(1, publish);
  EXPECT_EQ(error_of(world.reply(1)), ErrorCode::invalid_argument);
}

TEST(Node, CountsNamesOfAUser) {
  TwoProcesses t{with_quotas({.names = 2})};
  t.world.say(1, ask(RequestKind::publish, 1, "a"));
  t.world.say(2, ask(RequestKind::publish, 1, "b"));
  t.world.say(2, ask(RequestKind::publish, 2, "c"));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::published);
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::quota_names);
  t.world.say(2, ask(RequestKind::publish, 3, "b"));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::published) << "it has that one already";
  t.world.say(1, ask(RequestKind::withdraw, 2, "a"));
  t.world.say(2, ask(RequestKind::publish, 4, "c"));
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::published);
}

TEST(Node, RightsOfNames) {
  struct Case {
    std::uint32_t flags, uid, gid;
    bool allowed;
  };
  const Case cases[] = {
      {0, 1000, 5, true},                   // the owner's user
      {0, 0, 0, true},                      // root
      {0, 1001, 1000, false},               // nobody else, not even the group
      {Request::kGroup, 1001, 1000, true},  // the group
      {Request::kGroup, 1001, 1001, false},
      {Request::kEveryone, 1001, 1001, true},
  };
  for (const Case& one : cases) {
    NodeWorld world;
    world.attach(1);
    world.say(1, ask(RequestKind::publish, 1, "n", one.flags));
    world.attach(2, one.uid, one.gid);
    world.say(2, ask(RequestKind::lookup, 1, "n", kWait));
    const Reply reply = world.reply(2);
    EXPECT_EQ(reply.kind, one.allowed ? ReplyKind::found : ReplyKind::refused)
        << one.flags << one.uid << one.gid;
    if (!one.allowed) {
      EXPECT_EQ(error_of(reply), ErrorCode::not_permitted);
    }
  }
}

TEST(Node, LookUpsWaitUntilSomebodyComesOrACancel) {
  TwoProcesses t;
  t.world.say(2, ask(RequestKind::lookup, 1, "n", kWait));
  t.world.say(2, ask(RequestKind::lookup, 2, "n", kWait));
  t.world.say(2, ask(RequestKind::lookup, 3, "m", kWait));
  t.world.say(2, ask(RequestKind::cancel, 2));
  t.world.say(2, ask(RequestKind::cancel, 99));  // was answered already: nothing more to say
  EXPECT_EQ(t.world.reply(2).kind, ReplyKind::cancelled);
  EXPECT_TRUE(t.world.quiet(2));
  t.world.say(1, ask(RequestKind::publish, 1, "n"));
  const Reply found = t.world.reply(2);
  EXPECT_EQ(found.kind, ReplyKind::found);
  EXPECT_EQ(found.request, 1u);
  EXPECT_TRUE(t.world.quiet(2)) << "the cancelled one and the other name";
}

TEST(Node, AWaitingLookUpOfAnotherUserIsToldThatItMayNot) {
  TwoProcesses t{{}, 1001};
  t.world.say(2, ask(RequestKind::lookup, 1, "n", kWait));
  t.world.say(1, ask(RequestKind::publish, 1, "n"));
  EXPECT_EQ(error_of(t.world.reply(2)), ErrorCode::not_permitted);
}

TEST(Node, RequestsThatWaitAreBounded) {
  NodeWorld world;
  world.attach(1);
  for (std::uint64_t i = 1; i <= 256; ++i) world.say(1, ask(RequestKind::lookup, i, "n", kWait));
  EXPECT_TRUE(world.quiet(1));
  world.say(1, ask(RequestKind::lookup, 257, "n", kWait));
  EXPECT_EQ(error_of(world.reply(1)), ErrorCode::out_of_memory);
  world.say(1, ask(RequestKind::cancel, 1));
  world.reply(1);
  world.say(1, ask(RequestKind::lookup, 258, "n", kWait));
  EXPECT_TRUE(world.quiet(1)) << "one has its place again";
}

// After a restart.

TEST(Node, WhoHadANameGetsItBackFirst) {
  NodeWorld before;
  const Welcome owner = before.attach(1);
  before.say(1, ask(RequestKind::publish, 1, "n"));
  const Token token = before.reply(1).token;

  NodeOptions options;
  options.first_number = 1000;
  options.recovering = true;
  NodeWorld world{options};
  const std::uint64_t other = world.attach(2).interface;
  world.say(2, ask(RequestKind::publish, 1, "n"));
  world.say(2, ask(RequestKind::lookup, 2, "n"));
  world.say(2, ask(RequestKind::introduce, 3, owner.interface));
  EXPECT_TRUE(world.quiet(2)) << "all of it waits for those who may come back";
  EXPECT_TRUE(world.node.recovering());

  EXPECT_EQ(world.attach(1, 1000, 1000, resume(owner)).interface, owner.interface);
  const Reply introduced = world.reply(2);
  EXPECT_EQ(introduced.kind, ReplyKind::introduced);
  EXPECT_EQ(introduced.request, 3u);
  EXPECT_EQ(world.reply(1).peer, other);
  Request publish = ask(RequestKind::publish, 4, "n");
  publish.token = token;
  world.say(1, publish);
  EXPECT_EQ(world.reply(1).kind, ReplyKind::published);
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::name_taken);
  EXPECT_EQ(world.reply(2).kind, ReplyKind::found);
  world.pass(options.grace);
  EXPECT_FALSE(world.node.recovering());
  EXPECT_TRUE(world.quiet(2));
}

// Two runs may have drawn numbers that overlap.
TEST(Node, NobodyIsGivenTheNumberOfOneThatHasComeBack) {
  NodeOptions options;
  options.first_number = 1000;
  NodeWorld before{options};
  const Welcome first = before.attach(1), second = before.attach(2);
  EXPECT_EQ(second.interface, first.interface + 1);
  NodeWorld world{options};
  EXPECT_EQ(world.attach(1, 1000, 1000, resume(first)).interface, first.interface);
  EXPECT_EQ(world.attach(2, 1000, 1000, resume(second)).interface, second.interface);
  EXPECT_EQ(world.attach(3).interface, second.interface + 1);
  EXPECT_EQ(world.attach(4).interface, second.interface + 2);
}

// The node of a host that has left its cluster: who is here follows from who is attached, not from numbers.
TEST(Node, IntroducesThoseOfBeforeWhateverTheirNumbersSay) {
  NodeOptions options;
  options.first_number = std::uint64_t{5} << node::kNodeShift | 7;
  NodeWorld before{options};
  const Welcome old = before.attach(1);
  options.first_number = 1000;
  NodeWorld world{options};
  world.attach(1, 1000, 1000, resume(old));
  const Welcome fresh = world.attach(2);
  world.say(2, ask(RequestKind::introduce, 1, old.interface));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::introduced);
  const Reply told = world.reply(1);
  EXPECT_EQ(told.kind, ReplyKind::introduced);
  EXPECT_EQ(told.peer, fresh.interface);
}

// Where it is known which names there were, they alone are kept: nobody waits for others.
TEST(Node, OnlyTheNamesThatThereWereWait) {
  NodeWorld before;
  const Welcome owner = before.attach(1), doubtful = before.attach(2);
  before.say(1, ask(RequestKind::publish, 1, "n"));
  Request proven = ask(RequestKind::publish, 1, "n");
  proven.token = before.reply(1).token;

  NodeOptions options;
  options.quotas.names = 3;
  options.first_number = 1000;
  options.recovering = true;
  options.left = {{"n", owner.interface, 1000, 1}, {"o", doubtful.interface, 1000, 2}, {"p", 77, 1000, 3}};
  NodeWorld world{options};
  EXPECT_TRUE(world.node.recovering());
  EXPECT_FALSE(world.node.names_unknown());
  world.attach(3, 1001, 1001);
  world.say(3, ask(RequestKind::publish, 1, "new"));
  EXPECT_EQ(world.reply(3).kind, ReplyKind::published) << "at once";
  world.say(3, ask(RequestKind::lookup, 2, "unknown"));
  EXPECT_EQ(error_of(world.reply(3)), ErrorCode::name_unknown);
  std::uint64_t request = 3;
  for (const char* name : {"n", "o", "p"}) world.say(3, ask(RequestKind::publish, request++, name));
  world.say(3, ask(RequestKind::lookup, 200, "n", 0));
  EXPECT_TRUE(world.quiet(3)) << "they are kept";

  world.attach(4, 1000, 1000, resume(owner));
  world.say(4, ask(RequestKind::publish, 9, "more"));
  EXPECT_EQ(error_of(world.reply(4)), ErrorCode::quota_names) << "what is kept counts";
  world.say(4, proven);
  EXPECT_EQ(world.reply(4).kind, ReplyKind::published);
  // The daemon before had it down as its own, and ended before it said so.
  world.attach(5, 1000, 1000, resume(doubtful));
  world.say(5, ask(RequestKind::publish, 1, "o"));
  EXPECT_EQ(world.reply(5).kind, ReplyKind::published);
  EXPECT_EQ(error_of(world.reply(3)), ErrorCode::name_taken);
  EXPECT_EQ(error_of(world.reply(3)), ErrorCode::not_permitted) << "the look-up, of another user";
  EXPECT_EQ(error_of(world.reply(3)), ErrorCode::name_taken);
  EXPECT_TRUE(world.quiet(3));
  world.pass(options.grace);
  EXPECT_EQ(world.reply(3).kind, ReplyKind::published) << "nobody came back for it";
  EXPECT_FALSE(world.node.recovering());
}

// A process of root has dropped its rights (setuid) meanwhile.
TEST(Node, GivesBackWhatRootHadToWhomItHasBecome) {
  NodeWorld before;
  const Welcome root = before.attach(1, 0, 0), user = before.attach(2, 1001, 1001);
  Request publish[2] = {ask(RequestKind::publish, 1, "n"), ask(RequestKind::publish, 1, "o")};
  for (const std::uint64_t process : {1u, 2u}) {
    before.say(process, publish[process - 1]);
    publish[process - 1].token = before.reply(process).token;
  }
  NodeOptions options;
  options.quotas.names = 1;
  options.first_number = 1000;
  options.recovering = true;
  options.left = {{"n", root.interface, 0, 1}, {"o", user.interface, 1001, 2}};
  NodeWorld world{options};
  EXPECT_EQ(world.attach(1, 1000, 1000, resume(root)).interface, root.interface);
  world.say(1, publish[0]);
  EXPECT_EQ(world.reply(1).kind, ReplyKind::published);
  world.say(1, ask(RequestKind::publish, 2, "more"));
  EXPECT_EQ(error_of(world.reply(1)), ErrorCode::quota_names) << "it counts for the user that it has become";
  world.attach(3, 0, 0);
  world.say(3, ask(RequestKind::publish, 3, "roots"));
  EXPECT_EQ(world.reply(3).kind, ReplyKind::published) << "and for root no more";
  // Of another user than root nobody has become anything.
  EXPECT_EQ(world.attach(2, 1000, 1000, resume(user)).error,
            static_cast<std::uint32_t>(ErrorCode::not_permitted));
}

TEST(Node, WhatNobodyCameBackForIsFree) {
  NodeOptions options;
  options.recovering = true;
  NodeWorld world{options};
  world.attach(1);
  world.say(1, ask(RequestKind::publish, 1, "n"));
  world.say(1, ask(RequestKind::lookup, 2, "n"));
  world.say(1, ask(RequestKind::lookup, 3, "m"));
  world.say(1, ask(RequestKind::introduce, 4, 12345));
  world.pass(options.grace - Time{1});
  EXPECT_TRUE(world.quiet(1));
  world.pass(Time{1});
  EXPECT_EQ(error_of(world.reply(1)), ErrorCode::name_unknown);
  EXPECT_EQ(error_of(world.reply(1)), ErrorCode::name_unknown);
  EXPECT_EQ(world.reply(1).kind, ReplyKind::published);
  EXPECT_EQ(world.reply(1).kind, ReplyKind::found) << "its own look-up, once";
  EXPECT_TRUE(world.quiet(1));
}

std::vector<std::string> left_at(const std::string& socket) {
  std::vector<std::string> out;
  const auto names = NameFile::left_at(socket);
  if (!names) return {"unknown"};
  for (const OwnedName& name : *names) out.push_back(name.name);
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Node, WritesDownWhoHasWhichName) {
  using Given = std::map<std::string, std::uint64_t>;
  NodeWorld world;
  const std::uint64_t one = world.attach(1).interface, two = world.attach(2).interface;
  for (const char* name : {"a", "b", "c"}) world.say(1, ask(RequestKind::publish, 1, name));
  world.say(2, ask(RequestKind::publish, 1, "a"));
  world.say(2, ask(RequestKind::publish, 1, "d"));
  EXPECT_EQ(world.given, (Given{{"a", one}, {"b", one}, {"c", one}, {"d", two}}));
  world.say(1, ask(RequestKind::withdraw, 2, "a"));
  EXPECT_EQ(world.given, (Given{{"b", one}, {"c", one}, {"d", two}}));
  world.node.broken(1);
  world.node.disconnected(2);
  EXPECT_EQ(world.given, (Given{{"b", one}, {"c", one}})) << "they are kept";
  world.pass(NodeOptions{}.grace);
  EXPECT_EQ(world.given, Given{});
}

TEST(NameFile, IsWhatTheDaemonBeforeHasLeft) {
  using Names = std::vector<std::string>;
  const Folder folder;
  const std::string socket = folder.file("s");
  const auto self = static_cast<std::uint32_t>(::getpid());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(left_at(socket), Names{"unknown"});
  {
    NameFile file(socket, std::nullopt);
    file.put({"a", 1, 1000, self});
    EXPECT_EQ(left_at(socket), Names{"unknown"}) << "others may come back";
    file.complete();
    for (const char* name : {"b", "c", "d"}) file.put({name, 1, 1000, self});
    file.put({"of one that has ended", 2, 1000, static_cast<std::uint32_t>(child)});
    file.put({"ended", 2, 1000, static_cast<std::uint32_t>(child)});
    EXPECT_EQ(left_at(socket), Names{"unknown"}) << "no daemon writes such a name";
    file.remove("of one that has ended");
    file.remove("b");
    file.put({"e", 3, 1001, self});
    file.put({"d", 4, 1001, self});
    file.remove("nothing");
  }
  EXPECT_EQ(left_at(socket), (Names{"a", "c", "d", "e"}));
  const auto names = NameFile::left_at(socket);
  for (const OwnedName& name : *names) EXPECT_EQ(name.interface == 4 && name.uid == 1001, name.name == "d");
  {
    NameFile next(socket, names);
    EXPECT_EQ(left_at(socket), (Names{"a", "c", "d", "e"})) << "also if that one ends at once";
    next.remove("d");
  }
  EXPECT_EQ(left_at(socket), (Names{"a", "c", "e"}));
  ASSERT_EQ(::truncate((socket + ".names").c_str(), 100), 0);
  EXPECT_EQ(left_at(socket), Names{"unknown"});
}

// When a connection breaks and the process lives.

TEST(Node, KeepsTheNamesOfWhoseConnectionBroke) {
  NodeWorld world;
  const Welcome owner = world.attach(1);
  world.say(1, ask(RequestKind::publish, 1, "n"));
  const Token token = world.reply(1).token;
  world.attach(2, 1001, 1001);
  world.node.broken(1);
  world.say(2, ask(RequestKind::publish, 1, "n"));
  world.say(2, ask(RequestKind::lookup, 2, "n"));
  EXPECT_TRUE(world.quiet(2)) << "it waits for whom the name belongs to";
  EXPECT_EQ(world.attach(3, 1000, 1000, resume(owner)).interface, owner.interface);
  Request publish = ask(RequestKind::publish, 4, "n");
  publish.token = token;
  world.say(3, publish);
  EXPECT_EQ(world.reply(3).kind, ReplyKind::published);
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::name_taken);
  EXPECT_EQ(error_of(world.reply(2)), ErrorCode::not_permitted) << "another user's look-up";
  EXPECT_TRUE(world.quiet(2));
}

// A token is good for ever: also that of who had the name before, and gave it up.
TEST(Node, AKeptNameIsNotForWhoHadItBefore) {
  NodeWorld world;
  world.attach(1, 1001, 1001);
  world.say(1, ask(RequestKind::publish, 1, "n"));
  Request seize = ask(RequestKind::publish, 3, "n");
  seize.token = world.reply(1).token;
  world.say(1, ask(RequestKind::withdraw, 2, "n"));
  EXPECT_EQ(world.reply(1).kind, ReplyKind::withdrawn);
  world.attach(2);
  world.say(2, ask(RequestKind::publish, 1, "n"));
  EXPECT_EQ(world.reply(2).kind, ReplyKind::published);
  world.node.broken(2);
  world.say(1, seize);
  EXPECT_TRUE(world.quiet(1)) << "it waits like anybody else";
  world.pass(NodeOptions{}.grace);
  EXPECT_EQ(world.reply(1).kind, ReplyKind::published);
}

TEST(Node, KeepsNamesForATimeOrUntilTheProcessHasEnded) {
  for (const bool ends : {false, true}) {
    NodeWorld world{with_quotas({.names = 1})};
    world.attach(1);
    world.attach(2);
    world.attach(3, 1001, 1001);
    world.say(1, ask(RequestKind::publish, 1, "n"));
    world.node.broken(1);
    world.say(2, ask(RequestKind::publish, 1, "m"));
    EXPECT_EQ(error_of(world.reply(2)), ErrorCode::quota_names) << "kept names count";
    world.say(3, ask(RequestKind::publish, 1, "n"));
    world.say(3, ask(RequestKind::lookup, 2, "other"));
    EXPECT_EQ(error_of(world.reply(3)), ErrorCode::name_unknown) << "nothing else waits";
    world.pass(NodeOptions{}.grace - Time{1});
    EXPECT_TRUE(world.quiet(3));
    ends ? world.node.disconnected(1) : world.pass(Time{1});
    EXPECT_EQ(world.reply(3).kind, ReplyKind::published);
    world.say(2, ask(RequestKind::publish, 2, "m"));
    EXPECT_EQ(world.reply(2).kind, ReplyKind::published);
  }
}

TEST(Node, TokensAreForOneUserNumberNameAndKey) {
  NodeWorld world;
  const Welcome owner = world.attach(1);
  world.say(1, ask(RequestKind::publish, 1, "n"));
  const Token token = world.reply(1).token;
  world.node.disconnected(1);
  const auto refused = [&](NodeWorld& where, std::uint64_t connection, std::string_view name) {
    Request publish = ask(RequestKind::publish, 1, name);
    publish.token = token;
    where.say(connection, publish);
    return error_of(where.reply(connection)) == ErrorCode::not_permitted;
  };
  world.attach(2);
  EXPECT_TRUE(refused(world, 2, "n")) << "another interface";
  world.attach(3, 1000, 1000, resume(owner));
  EXPECT_TRUE(refused(world, 3, "m")) << "another name";
  EXPECT_FALSE(refused(world, 3, "n"));
  NodeOptions other_key;
  other_key.key[0] = std::byte{1};
  NodeWorld elsewhere{other_key};
  EXPECT_EQ(elsewhere.attach(1, 1000, 1000, resume(owner)).error,
            static_cast<std::uint32_t>(ErrorCode::not_permitted));
}

// Lists.

}  // namespace
}  // namespace hamlyn::test
