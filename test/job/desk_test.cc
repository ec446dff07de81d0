// The desk of a job: who has come, and how meetings end.
#include "job/desk.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace hamlyn::internal_::job {
namespace {

std::vector<std::byte> bytes(std::size_t count, unsigned value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

class JobDesk : public testing::Test {
 protected:
  // `ranks` that are all in.
  Desk& with(std::uint32_t ranks, bool go_on = false) {
    desk.emplace(ranks);
    for (std::uint32_t rank = 0; rank != ranks; ++rank) EXPECT_EQ(desk->join(rank, go_on), nullptr);
    return *desk;
  }
  void come(std::uint32_t rank, Kind kind = Kind::barrier, std::span<const std::byte> block = {}) {
    EXPECT_EQ(desk->meet(rank, kind, block), nullptr);
    while (const auto one = desk->take_told()) told[one->rank] = {one->outcome, std::string(one->words)};
  }
  std::map<std::uint32_t, std::pair<Outcome, std::string>> take() { return std::exchange(told, {}); }

  std::optional<Desk> desk;
  std::map<std::uint32_t, std::pair<Outcome, std::string>> told;
};

TEST_F(JobDesk, tells_when_all_have_come) {
  with(3);
  for (int round = 0; round != 3; ++round) {
    come(2), come(0);
    EXPECT_TRUE(take().empty());
    come(1);
    EXPECT_EQ(take().size(), 3u);
  }
}

TEST_F(JobDesk, gathers_by_rank_and_in_pieces) {
  with(3);
  for (const std::uint32_t rank : {1u, 2u, 0u}) come(rank, Kind::values, bytes(Job::kMostBytes, rank + 1));
  std::vector<std::byte> all;
  for (auto piece = desk->gathered(0, 0); !piece.empty(); piece = desk->gathered(0, all.size()))
    all.insert(all.end(), piece.begin(), piece.end());
  ASSERT_EQ(all.size(), 3 * Job::kMostBytes);
  for (std::uint32_t rank = 0; rank != 3; ++rank) EXPECT_EQ(all[rank * Job::kMostBytes], std::byte(rank + 1));
  EXPECT_TRUE(desk->gathered(1, 0).empty()) << "that one is not over";
}

TEST_F(JobDesk, names_those_that_disagree_and_lets_all_meet_again) {
  with(3);
  come(1);
  come(2, Kind::values, bytes(4, 0));
  auto all = take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].first, Outcome::disagree);
  EXPECT_EQ(all[2].second, "rank 1 is in a barrier, rank 2 in an all-gather of values of 4 bytes");
  come(1), come(2);
  EXPECT_TRUE(take().empty()) << "one is late";
  come(0);
  EXPECT_EQ(take()[0].first, Outcome::disagree) << "of the meeting that it came too late to";
  come(0);
  EXPECT_EQ(take().size(), 3u);
  come(0, Kind::values, bytes(4, 0)), come(1, Kind::values, bytes(5, 0));
  EXPECT_EQ(take()[0].first, Outcome::disagree) << "of two lengths";
}

TEST_F(JobDesk, ends_meetings_that_somebody_never_comes_to) {
  with(3);
  come(0);
  desk->ended(1, 0);
  EXPECT_EQ(desk->take_told()->outcome, Outcome::ended);
  come(2);
  EXPECT_EQ(take()[2], (std::pair{Outcome::ended, std::string("rank 1 has ended, and did not come")}));
  come(0);
  EXPECT_EQ(take()[0].first, Outcome::ended) << "at once";
}

TEST_F(JobDesk, counts_whoever_came_and_ended_then) {
  with(2);
  come(0, Kind::bytes, bytes(3, 7));
  desk->ended(0, 1);
  come(1, Kind::bytes, bytes(1, 8));
  EXPECT_EQ(take()[1].first, Outcome::met);
  EXPECT_EQ(desk->gathered(0, 0).size(), 4u + 3 + 4 + 1);
}

TEST_F(JobDesk, lets_those_that_go_on_meet_without_the_others) {
  with(3, true);
  come(0, Kind::values, bytes(2, 1)), come(2, Kind::values, bytes(2, 3));
  desk->ended(1, 9);
  int count = 0;
  while (const auto one = desk->take_told()) count += one->outcome == Outcome::met;
  EXPECT_EQ(count, 2);
  const auto all = desk->gathered(0, 0);
  EXPECT_EQ(std::vector(all.begin(), all.end()), (std::vector{std::byte{1}, std::byte{1}, std::byte{0},
                                                              std::byte{0}, std::byte{3}, std::byte{3}}));
  ASSERT_EQ(desk->ends(0).size(), 1u);
  EXPECT_EQ(desk->ends(0)[0].status, 9u);
  EXPECT_TRUE(desk->ends(1).empty());
  EXPECT_TRUE(desk->ends(100).empty());
}

TEST_F(JobDesk, refuses_what_cannot_be) {
  with(2);
  EXPECT_STREQ(desk->join(2, false), "the job has no such rank");
  EXPECT_STREQ(desk->meet(2, Kind::barrier, {}), "that rank is not in the job");
  EXPECT_STREQ(desk->meet(0, Kind::count, {}), "there is no such meeting");
  EXPECT_STREQ(desk->meet(0, Kind::bytes, bytes(Job::kMostBytes + 1, 0)), "there is no such meeting");
  EXPECT_EQ(desk->meet(0, Kind::barrier, {}), nullptr);
  EXPECT_STREQ(desk->meet(0, Kind::barrier, {}), "that rank is in a meeting already");
  desk->leave(0);
  EXPECT_STREQ(desk->meet(0, Kind::barrier, {}), "that rank is not in the job");
  EXPECT_EQ(desk->join(0, false), nullptr);
  EXPECT_EQ(desk->meet(0, Kind::barrier, {}), nullptr) << "it had left the meeting";
  desk->ended(1, 0);
  EXPECT_STREQ(desk->join(1, false), "that rank has ended");
  EXPECT_STREQ(desk->meet(1, Kind::barrier, {}), "that rank has ended");
}

// A process that a rank has started may be in the job, and live longer.
TEST_F(JobDesk, tells_what_waits_for_a_rank_that_has_ended) {
  with(2);
  come(0);
  desk->ended(0, 0);
  come(1);
  EXPECT_EQ(take().size(), 2u);
}

TEST_F(JobDesk, takes_another_process_in_the_place_of_the_first) {
  with(2);
  come(0);
  EXPECT_EQ(desk->join(0, false), nullptr);
  come(1);
  EXPECT_TRUE(take().empty()) << "who came has been replaced";
  come(0);
  EXPECT_EQ(take().size(), 2u);
}

TEST_F(JobDesk, names_who_is_still_there_when_the_first_one_has_left) {
  with(3);
  come(0), come(2);
  desk->leave(0);
  come(1, Kind::bytes);
  EXPECT_EQ(take()[1].second, "rank 2 is in a barrier, rank 1 in an all-gather of bytes");
}

// Ranks that come in any order, do different things now and then, leave, join again and end: each is told of
// each of its meetings once, all those of one meeting the same, and nobody waits for ever.
TEST_F(JobDesk, holds_over_random_orders) {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed != first + 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 chance(seed);
    const auto below = [&](std::uint32_t most) {
      return std::uniform_int_distribution<std::uint32_t>(0, most - 1)(chance);
    };
    const std::uint32_t ranks = 1 + below(5);
    const bool go_on = below(2) == 0;
    Desk& all = with(ranks, go_on);
    std::vector<bool> waits(ranks), ended(ranks);
    std::vector<std::uint64_t> next(ranks);
    std::map<std::uint64_t, bool> met;
    const auto drain = [&] {
      while (const auto one = all.take_told()) {
        ASSERT_TRUE(waits[one->rank]);
        waits[one->rank] = false;
        ASSERT_EQ(one->round, next[one->rank]++);
        const bool well = one->outcome == Outcome::met;
        ASSERT_EQ(met.try_emplace(one->round, well).first->second, well);
      }
    };
    for (int step = 0; step != 200; ++step) {
      const std::uint32_t rank = below(ranks);
      if (ended[rank]) {
        ASSERT_NE(all.meet(rank, Kind::barrier, {}), nullptr);
        continue;
      }
      if (below(100) == 0) {
        ended[rank] = true;
        all.ended(rank, below(2));
      } else if (below(50) == 0) {
        waits[rank] = false;
        if (below(2) == 0) all.leave(rank);
        ASSERT_EQ(all.join(rank, go_on), nullptr);
      } else if (!waits[rank]) {
        waits[rank] = true;
        ASSERT_EQ(all.meet(rank, below(20) == 0 ? Kind::bytes : Kind::barrier, {}), nullptr);
      }
      drain();
    }
    // All that live come to what goes on.
    for (std::uint32_t round = 0; round != 400; ++round)
      for (std::uint32_t rank = 0; rank != ranks; ++rank)
        if (!ended[rank] && !waits[rank] && std::ranges::count(waits, true) != 0) {
          waits[rank] = true;
          ASSERT_EQ(all.meet(rank, Kind::barrier, {}), nullptr);
          drain();
        }
    for (std::uint32_t rank = 0; rank != ranks; ++rank) EXPECT_TRUE(!waits[rank] || ended[rank]);
  }
}

}  // namespace
}  // namespace hamlyn::internal_::job
