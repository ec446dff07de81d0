// Costs of one turn of the daemon when another node goes or comes, a process of many links ends, or the
// time is over in which processes of the run before come back: the same, however many that concerns. Counted
// are pieces of memory that are taken and given back, as all that is told or forgotten takes or gives some.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <set>
#include <string>

#include "test/unit/far_world.h"

namespace {

std::uint64_t pieces = 0;  // taken and given back; by one thread

}  // namespace

void* operator new(std::size_t bytes) {
  ++pieces;
  if (void* const out = std::malloc(bytes)) return out;
  throw std::bad_alloc{};
}
void operator delete(void* piece) noexcept {
  ++pieces;
  std::free(piece);
}
void operator delete(void* piece, std::size_t) noexcept { operator delete(piece); }

namespace hamlyn::test {
namespace {

using node::FarKind;

constexpr std::uint64_t kFew = 100, kMany = 1000;
constexpr std::uint64_t kTurn = 4500;  // pieces of two times 16 steps, of up to 8 ends of links each

template <class Act>
std::uint64_t cost_of(Act&& act) {
  const std::uint64_t before = pieces;
  act();
  return pieces - before;
}

std::uint64_t finish(node::Node& node) {
  std::uint64_t dearest = 0;
  while (node.has_more()) dearest = std::max(dearest, cost_of([&] { node.go_on(); }));
  return dearest;
}

// Process 1 of node 1 has `links` with processes of node 2.
struct Linked {
  explicit Linked(std::uint64_t links) {
    far.attach(1, 1);
    for (std::uint64_t i = 0; i < links; ++i) {
      here.say(1, ask(RequestKind::introduce, i + 1, far.attach(2, 1000 + i)));
      far.settle();
    }
    here.sent.clear();
    there.sent.clear();
  }
  // How many of the peers have heard of an end, for that reason.
  std::uint64_t told(LinkReason reason) {
    far.settle();
    std::uint64_t out = 0;
    for (auto& [connection, queue] : there.sent) {
      EXPECT_LE(queue.size(), 1u) << "once";
      if (!queue.empty() && there.reply(connection).initiator == static_cast<std::uint32_t>(reason)) ++out;
    }
    return out;
  }

  FarWorld far{2};
  NodeWorld& here = far.at(1);
  NodeWorld& there = far.at(2);
};

TEST(NodeWork, AProcessThatEndsIsToldOfInParts) {
  for (const std::uint64_t links : {kFew, kMany}) {
    Linked of(links);
    EXPECT_LE(cost_of([&] { of.here.node.disconnected(1); }), kTurn) << links;
    EXPECT_LE(finish(of.here.node), kTurn) << links;
    EXPECT_EQ(of.told(LinkReason::died), links);
  }
}

TEST(NodeWork, AProcessWhoseConnectionWasClosedIsToldOfInPartsWhenItIsKnownWhy) {
  for (const bool died : {false, true}) {
    for (const std::uint64_t links : {kFew, kMany}) {
      Linked of(links);
      EXPECT_LE(cost_of([&] { of.here.node.broken(1); }), kTurn) << links;
      if (links == kFew) finish(of.here.node);  // the others are not even counted up when it is known
      EXPECT_EQ(of.told(LinkReason::ended), 0u) << "it may be dying";
      const std::uint64_t cost = cost_of([&] {
        if (died)
          of.here.node.disconnected(1);
        else
          of.here.pass(Time{1100});
      });
      EXPECT_LE(cost, kTurn) << links;
      EXPECT_LE(finish(of.here.node), kTurn) << links;
      EXPECT_EQ(of.told(died ? LinkReason::died : LinkReason::ended), links);
    }
  }
}

// As many of each kind: links, requests for links, look-ups; and requests of the other node.
struct Crowded : Linked {
  explicit Crowded(std::uint64_t many) : Linked(many), count(many) {
    const std::uint64_t deaf = far.attach(1, 2), silent = far.attach(2, 2);
    here.slow.insert(2);
    there.slow.insert(2);
    for (std::uint64_t i = 0; i < many; ++i) {
      far.attach(1, 10'000 + i, 1001);
      here.say(10'000 + i, ask(RequestKind::introduce, 1, silent));
      here.say(10'000 + i, ask(RequestKind::lookup, 2, "there" + std::to_string(i), kWait));
      there.say(1000 + i, ask(RequestKind::introduce, 1, deaf));
      there.say(1000 + i, ask(RequestKind::lookup, 2, "here" + std::to_string(i), kWait));
      far.settle();
    }
    here.sent.clear();
  }
  std::uint64_t count;
};

TEST(NodeWork, ANodeThatGoesCostsTheSameHoweverManyThatConcerns) {
  for (const std::uint64_t many : {kFew, kMany}) {
    Crowded of(many);
    EXPECT_LE(cost_of([&] { of.here.node.node_gone(2, "it has left", false, of.here.now); }), kTurn) << many;
    EXPECT_LE(finish(of.here.node), kTurn) << many;
    EXPECT_EQ(of.here.sent[1].size(), many);
    for (std::uint64_t i = 0; i < many; ++i)
      ASSERT_EQ(error_of(of.here.reply(10'000 + i)), ErrorCode::peer_died) << i;
  }
}

// Requests that a node had made before it went are nobody's: it is not answered when it is back, and is asked
// anew.
TEST(NodeWork, ANodeThatIsBackBeforeAllAreToldIsAnsweredWhatItAsksFromThenOn) {
  Crowded of(kMany);
  of.far.part(1, 2);
  of.far.meet(1, 2);
  finish(of.there.node);
  of.far.settle();  // the same look-ups, while those of before are remembered
  ASSERT_TRUE(of.here.node.has_more());
  of.there.sent.clear();
  of.here.slow.clear();
  of.here.node.caught_up(2);
  of.here.say(9, publish(of.far.attach(1, 9), "here7"));
  finish(of.here.node);
  of.far.settle();
  EXPECT_EQ(of.there.reply(1007).kind, ReplyKind::found);
  EXPECT_TRUE(of.here.quiet(2)) << "nobody wants that link any more";
  of.there.node.disconnected(1008);
  of.far.settle();
  const std::uint64_t again = of.far.attach(2, 7, 1001);
  of.there.say(7, ask(RequestKind::lookup, 1, "here9", kWait));
  of.here.say(9, publish(again, "here9"));
  of.far.settle();
  EXPECT_EQ(of.there.reply(1009).kind, ReplyKind::found);
  EXPECT_EQ(of.there.reply(7).kind, ReplyKind::found);
}

TEST(NodeWork, ANodeThatComesCostsTheSameHoweverManyWaitForIt) {
  for (const std::uint64_t many : {kFew, kMany}) {
    FarWorld far{2};
    NodeWorld& here = far.at(1);
    far.part(1, 2);
    for (std::uint64_t i = 0; i < many; ++i) {  // none knows where it is reached
      here.attach(1000 + i);
      here.say(1000 + i, ask(RequestKind::lookup, 1, "there" + std::to_string(i), kWait));
    }
    far.meet(1, 2);
    EXPECT_LE(std::ranges::count_if(here.sent, [](const auto& each) { return !each.second.empty(); }), 16);
    far.part(1, 2);
    finish(here.node);
    here.sent.clear();
    EXPECT_LE(cost_of([&] { far.meet(1, 2); }), kTurn) << many;
    EXPECT_LE(finish(here.node), kTurn) << many;
    EXPECT_EQ(far.said(FarKind::lookup), many);
  }
}

TEST(NodeWork, TheEndOfTheTimeToComeBackCostsTheSameHoweverManyWaitForIt) {
  for (const std::uint64_t many : {kFew, kMany}) {
    node::NodeOptions options;
    options.recovering = true;
    FarWorld far{2, options};
    NodeWorld& here = far.at(1);
    for (std::uint64_t i = 0; i < many; ++i) {
      far.attach(1, 1000 + i);
      here.say(1000 + i, ask(RequestKind::introduce, 1, (std::uint64_t{1} << node::kNodeShift) + 50'000 + i));
      here.say(1000 + i, ask(RequestKind::publish, 2, "n" + std::to_string(i)));
      far.attach(2, 1000 + i);
      far.at(2).say(1000 + i,
                    ask(RequestKind::introduce, 1, (std::uint64_t{1} << node::kNodeShift) + 50'000 + i));
      far.settle();
      EXPECT_TRUE(here.quiet(1000 + i));
    }
    EXPECT_LE(cost_of([&] { here.pass(options.grace); }), kTurn) << many;
    EXPECT_LE(finish(here.node), kTurn) << many;
    EXPECT_EQ(far.said(FarKind::refused), many);
    for (std::uint64_t i = 0; i < many; ++i) {
      std::set<ReplyKind> kinds{here.reply(1000 + i).kind, here.reply(1000 + i).kind};
      ASSERT_EQ(kinds, (std::set{ReplyKind::refused, ReplyKind::published})) << i;
    }
  }
}

}  // namespace
}  // namespace hamlyn::test
