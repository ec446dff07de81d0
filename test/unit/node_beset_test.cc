// What requests cost while others ask without end, counted: sockets that are looked at, turns, descriptors
// under way.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "node/mind/tally.h"
#include "node/mind/user_turns.h"
#include "node/server/in_flight.h"

namespace hamlyn::test {
namespace {

using node::InFlight;
using node::Tally;
using node::UserTurns;

constexpr std::uint64_t kManyDescriptors = 1 << 20;
constexpr std::uint32_t kOwn = 999;
// From there on the kernel lets each sender of the user wait for its collector.
constexpr std::uint64_t kKernelsLine = 253 * 8;

// Sockets of processes that read nothing, unless they are named.
struct Sockets {
  std::uint64_t looks = 0;
  std::set<std::uint64_t> read;
  InFlight in_flight{kManyDescriptors, kOwn, [this](std::uint64_t connection) {
                       ++looks;
                       return read.contains(connection);
                     }};

  bool introduce(std::uint64_t connection, std::uint32_t uid) {
    if (!in_flight.has_room(connection, uid)) return false;
    in_flight.sent(connection, uid, InFlight::kOfIntroduction);
    return true;
  }
};

TEST(InFlight, AQuestionLooksAtAFewSocketsHoweverManyThereAre) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> costs;
  for (const std::uint64_t interfaces : {1u, 100u, 1791u}) {
    Sockets world;
    for (std::uint64_t i = 1; i <= interfaces; ++i) world.in_flight.sent(i, 1000, InFlight::kMostOfProcess);
    world.looks = 0;
    EXPECT_FALSE(world.in_flight.has_room(1, 1000));
    const std::uint64_t own = std::exchange(world.looks, 0);
    world.in_flight.has_room(5000, 1001);
    costs.emplace(own, world.looks);
  }
  EXPECT_EQ(costs.size(), 1u) << "the same for one interface and for many";
  EXPECT_EQ(costs.begin()->first, 1u + InFlight::kLooks);
  EXPECT_EQ(costs.begin()->second, 0u) << "of another user's sockets none";
}

TEST(InFlight, AProcessThatHasRoomIsTheOnlyOneThatIsLookedAt) {
  Sockets world;
  for (std::uint64_t i = 1; i <= 100; ++i) world.in_flight.sent(i, 1000, InFlight::kOfIntroduction);
  EXPECT_TRUE(world.in_flight.has_room(1, 1000));
  EXPECT_EQ(std::exchange(world.looks, 0), 1u);
  EXPECT_TRUE(world.in_flight.has_room(500, 1000));
  EXPECT_EQ(world.looks, 0u) << "nor one that was sent nothing";
}

TEST(InFlight, StaysBelowTheKernelsLineWhateverClientsDo) {
  Sockets world;
  std::uint64_t refused = 0;
  for (std::uint64_t round = 0; round < 64; ++round) {
    for (std::uint64_t connection = 1; connection <= 600; ++connection) {
      const auto uid = static_cast<std::uint32_t>(connection % 20);  // root, too
      refused += world.introduce(connection, uid) ? 0u : 1u;
      ASSERT_LE(world.in_flight.unread().in_all(), InFlight::kMostOfAll);
    }
  }
  static_assert(InFlight::kMostOfAll + 256 < kKernelsLine, "the clerk and its kin have some, too");
  EXPECT_GT(refused, 0u);
}

TEST(InFlight, OfUsersThatReadNothingTheOneWhoHasMuchWaitsBeforeTheOneWhoHasLittle) {
  Sockets world;
  const auto fill = [&](std::uint32_t uid) {
    std::uint64_t sent = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) sent += world.introduce(uid * 10000 + i, uid) ? 1u : 0u;
    return sent;
  };
  const std::uint64_t first = fill(1);
  const std::uint64_t second = fill(2);
  const std::uint64_t third = fill(3);
  EXPECT_GT(first, second);
  EXPECT_GT(second, third);
  EXPECT_GT(third, 32u);
  EXPECT_FALSE(world.introduce(19999, 1));
  EXPECT_TRUE(world.introduce(49999, 4)) << "who has nothing";
  for (std::uint32_t uid = 4; uid < 40; ++uid) fill(uid);
  EXPECT_FALSE(world.introduce(500000, 50)) << "now nothing is left for users";
  EXPECT_TRUE(world.introduce(1, 0)) << "but for root";
  EXPECT_TRUE(world.introduce(2, kOwn)) << "and the daemon's own user";
}

TEST(InFlight, AProcessThatReadsHasRoomWhenOthersOfItsUserReadNothing) {
  Sockets world;
  for (std::uint64_t i = 0; i < 64; ++i) {
    for (std::uint64_t connection = 1; connection <= 20; ++connection) world.introduce(connection, 1000);
  }
  EXPECT_FALSE(world.introduce(1, 1000));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(world.introduce(77, 1000)) << i;
    world.read.insert(77);
  }
  Sockets alone;
  for (std::uint64_t i = 0; i < InFlight::kMostOfProcess / InFlight::kOfIntroduction; ++i)
    EXPECT_TRUE(alone.introduce(1, 1000)) << "of one process as many as one process may have";
  EXPECT_FALSE(alone.introduce(1, 1000));
}

// What was read while nobody looked is found by later questions of the same user, without a walk.
TEST(InFlight, WhatWasReadIsFoundAFewSocketsAtATime) {
  Sockets world;
  for (std::uint64_t i = 1; i <= 600; ++i) world.introduce(i, 1000);
  const std::uint64_t before = world.in_flight.unread().of_user(1000);
  for (std::uint64_t i = 1; i <= 600; ++i) world.read.insert(i);
  int questions = 0;
  for (; world.in_flight.unread().of_user(1000) > before / 8; ++questions)
    world.in_flight.look_at(1000, InFlight::kLooks);
  EXPECT_LE(questions, 600 / InFlight::kLooks);
}

TEST(InFlight, WithFewDescriptorsHasHalfOfThemAtMost) {
  const InFlight few(256, kOwn, [](std::uint64_t) { return false; });
  EXPECT_EQ(few.most(), 128u);
}

TEST(Tally, AgreesWithAPlainOne) {
  std::mt19937 random(7);
  Tally tally;
  std::map<std::uint64_t, std::uint64_t> plain;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t connection = random() % 30;
    const auto uid = static_cast<std::uint32_t>(connection % 3);
    tally.set(connection, uid, plain[connection] = random() % 4);
    std::uint64_t sum = 0, of_user = 0, most = 0, most_of_user = 0;
    for (const auto& [each, amount] : plain) {
      sum += amount;
      most = std::max(most, amount);
      if (each % 3 != uid) continue;
      of_user += amount;
      most_of_user = std::max(most_of_user, amount);
    }
    ASSERT_EQ(tally.in_all(), sum);
    ASSERT_EQ(tally.of_user(uid), of_user);
    ASSERT_EQ(tally.of(connection), plain[connection]);
    ASSERT_EQ(tally.largest().has_value(), most != 0);
    if (most != 0) {
      ASSERT_EQ(plain[*tally.largest()], most);
    }
    ASSERT_EQ(tally.largest_of(uid).has_value(), most_of_user != 0);
    if (most_of_user != 0) {
      ASSERT_EQ(plain[*tally.largest_of(uid)], most_of_user);
    }
  }
}

TEST(Tally, GivesAUsersConnectionsOneAfterTheOther) {
  Tally tally;
  for (const std::uint64_t connection : {3u, 5u, 9u}) tally.set(connection, 1, 1);
  tally.set(4, 2, 1);
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) seen.push_back(*tally.next_of(1));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{3, 5, 9, 3}));
  tally.set(5, 1, 0);
  EXPECT_EQ(tally.next_of(1), 9u) << "who holds nothing is not looked at";
  EXPECT_EQ(tally.next_of(1), 3u);
  EXPECT_FALSE(tally.next_of(7));
}

// However many connections ask for the other user.
TEST(UserTurns, AUserThatWasQuietIsServedNext) {
  for (const std::uint64_t askers : {1u, 8u, 128u, 1791u}) {
    UserTurns turns;
    for (std::uint64_t asker = 1; asker <= askers; ++asker) turns.add(1000, asker);
    for (int i = 0; i < 5000; ++i) {
      const auto turn = turns.next();
      turns.charge(*turn, 20);
      turns.add(turn->user, turn->what);
    }
    turns.add(1001, 7);
    EXPECT_EQ(turns.next()->user, 1001u) << askers;
  }
}

TEST(UserTurns, ShareTheTimeAmongUsersHoweverMuchEachAsksFor) {
  UserTurns turns;
  std::map<std::uint64_t, std::uint64_t> used;
  for (std::uint64_t asker = 0; asker < 200; ++asker) turns.add(1, asker);
  turns.add(2, 1000);
  turns.add(3, 2000);
  for (int i = 0; i < 3000; ++i) {
    const auto turn = turns.next();
    const std::uint64_t cost = turn->user * 10;  // some requests take longer than others
    turns.charge(*turn, cost);
    used[turn->user] += cost;
    turns.add(turn->user, turn->what);
  }
  for (const std::uint64_t user : {1u, 2u, 3u})
    EXPECT_NEAR(static_cast<double>(used[user]), 16363, 100) << user;
}

// Who has been away has no more afterwards than the others, and who goes in debt does not lose it by that.
TEST(UserTurns, MakeUpForNothing) {
  UserTurns turns;
  turns.add(1, 1);
  turns.charge(*turns.next(), 1000);
  turns.add(2, 2);
  EXPECT_EQ(turns.next()->user, 2u);
  turns.charge({2, 2}, 10);
  turns.add(1, 1);
  for (int i = 0; i < 98; ++i) {
    turns.add(2, 2);
    const auto turn = turns.next();
    ASSERT_EQ(turn->user, 2u) << i;
    turns.charge(*turn, 10);
  }
  turns.add(2, 2);
  turns.charge(*turns.next(), 11);
  EXPECT_EQ(turns.next()->user, 1u);
}

// A range of subordinate users is large.
TEST(UserTurns, ForgetUsersThatOthersHaveCaughtUpWith) {
  UserTurns turns;
  const auto serve = [&](std::uint64_t user) {
    turns.add(user, 1);
    turns.charge(*turns.next(), 10);
  };
  for (std::uint64_t user = 1; user <= 1000; ++user) serve(user);
  for (int i = 0; i < 3; ++i) serve(1);
  EXPECT_EQ(turns.users(), 1u);
  for (int i = 0; i < 100; ++i) serve(static_cast<std::uint64_t>(i % 2));
  EXPECT_LE(turns.users(), 2u);
}

TEST(UserTurns, OfOneUserFirstComeFirstServed) {
  UserTurns turns;
  for (std::uint64_t what = 0; what < 10; ++what) turns.add(1, what);
  for (std::uint64_t what = 0; what < 10; ++what) EXPECT_EQ(turns.next()->what, what);
  EXPECT_TRUE(turns.empty());
  EXPECT_FALSE(turns.next());
}

}  // namespace
}  // namespace hamlyn::test
