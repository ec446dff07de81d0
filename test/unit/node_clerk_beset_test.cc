// A clerk of names as the victim: whoever floods it is refused by its number alone. Counted are what the
// clerk is sent, questions whether somebody has read, and introductions.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using test::ask;
using test::error_of;
using test::FarReply;
using test::FarWorld;
using test::ReplyKind;
using test::Request;
using test::RequestKind;

constexpr std::uint32_t kClerk = 8;  // connection and process
constexpr std::uint32_t kRogue = 1001;
constexpr std::uint64_t kFirstRogue = 1000;

// Two nodes with a clerk each, and rogues on both that read nothing.
struct BesetClerk {
  explicit BesetClerk(std::uint64_t rogues) {
    for (const node::NodeId id : {node::NodeId{1}, node::NodeId{2}}) {
      far.at(id).node.set_clerk_process(kClerk);
      clerk.push_back(far.attach(id, kClerk, 3000));
      for (std::uint64_t i = 0; i < rogues; ++i) {
        interfaces.push_back(far.attach(id, kFirstRogue + i, kRogue));
        far.at(id).slow.insert(kFirstRogue + i);
      }
    }
    here.sent.clear();
  }
  // Each rogue asks for links with the first node's clerk and with a rogue beside it, and makes one up.
  void flood() {
    const std::uint64_t rogues = interfaces.size() / 2;
    for (std::uint64_t i = 0; i < rogues; ++i) {
      const std::uint64_t from = kFirstRogue + i;
      for (std::uint64_t request = 1; request <= 10; ++request) {
        here.say(from, ask(RequestKind::introduce, request, clerk[0]));
        far.at(2).say(from, ask(RequestKind::introduce, request, clerk[0]));
      }
      Request adopt = ask(RequestKind::adopt_link, 0, 1'000'000 + i);
      adopt.peer = clerk[0];
      here.say(from, adopt);
      here.say(from, ask(RequestKind::introduce, 50, interfaces[(i + 1) % rogues]));
    }
    far.settle();
  }
  // What one introduction of two honest processes asks.
  std::uint64_t introduces(std::uint64_t one, std::uint64_t other) {
    here.attach(one);
    const std::uint64_t peer = here.attach(other).interface;
    const std::uint64_t before = here.questions;
    here.say(one, ask(RequestKind::introduce, 1, peer));
    EXPECT_EQ(here.reply(one).kind, ReplyKind::introduced);
    return here.questions - before;
  }

  FarWorld far{2};
  test::NodeWorld& here = far.at(1);
  std::vector<std::uint64_t> clerk, interfaces;
};

TEST(NodeClerkBeset, HearsNothingOfAFloodAndHonestIntroductionsCostTheSame) {
  std::set<std::uint64_t> costs;
  for (const std::uint64_t rogues : {1u, 8u, 200u}) {
    BesetClerk b(rogues);
    b.flood();
    EXPECT_TRUE(b.here.quiet(kClerk));
    EXPECT_EQ(b.here.pairs, 0u);
    for (std::uint64_t i = 0; i < rogues; ++i) {
      for (int request = 1; request <= 10; ++request) {
        ASSERT_EQ(error_of(b.here.reply(kFirstRogue + i)), ErrorCode::not_permitted);
        ASSERT_EQ(error_of(b.far.at(2).reply(kFirstRogue + i)), ErrorCode::not_permitted)
            << "of the other node";
      }
    }
    for (std::uint64_t i = 0; i < 20; ++i) costs.insert(b.introduces(10 + 2 * i, 11 + 2 * i));
    EXPECT_EQ(b.here.pairs, 20u);
  }
  EXPECT_EQ(costs.size(), 1u) << "of 1, 8 and 200 rogues";
  EXPECT_LE(*costs.begin(), 2u);
}

TEST(NodeClerkBeset, IsRefusedToRoguesBeforeAnybodyIsAskedWhetherItHasRead) {
  BesetClerk b(50);
  const std::uint64_t before = b.here.questions;
  for (std::uint64_t i = 0; i < 50; ++i)
    for (std::uint64_t request = 1; request <= 10; ++request)
      b.here.say(kFirstRogue + i, ask(RequestKind::introduce, request, b.clerk[0]));
  EXPECT_EQ(b.here.questions, before);
}

TEST(NodeClerkBeset, HasItsLinksWithOtherClerksAllTheSame) {
  BesetClerk b(200);
  b.flood();
  b.here.say(kClerk, ask(RequestKind::introduce, 1, b.clerk[1]));
  b.far.settle();
  EXPECT_EQ(b.here.take<FarReply>(kClerk).peer, b.clerk[1]);
  EXPECT_EQ(b.far.at(2).take<FarReply>(kClerk).peer, b.clerk[0]);
}

// A clerk that was taken over, which counts as the daemon's user.
TEST(NodeClerkBeset, RegistersAndLooksUpNoNames) {
  BesetClerk b(1);
  b.here.say(9, test::publish(b.here.attach(9).interface, "private"));
  ASSERT_EQ(b.here.reply(9).kind, ReplyKind::published);
  b.here.say(kClerk, ask(RequestKind::lookup, 1, "private"));
  EXPECT_EQ(error_of(b.here.reply(kClerk)), ErrorCode::not_permitted);
  b.here.say(kClerk, ask(RequestKind::withdraw, 2, "private"));
  EXPECT_EQ(error_of(b.here.reply(kClerk)), ErrorCode::not_permitted);
  b.here.say(kClerk, test::publish(b.clerk[0], "root's"));
  EXPECT_EQ(error_of(b.here.reply(kClerk)), ErrorCode::not_permitted);
}

}  // namespace
}  // namespace hamlyn
