// What looking for names on other nodes rests on: what each way has cost, whose reads are under way, and what
// was read lately.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "segment/look_up_costs.h"
#include "segment/name_cache.h"
#include "segment/read_places.h"

namespace hamlyn::internal_::segment {
namespace {

TEST(LookUpCosts, MeasureBothWaysAndTakeTheCheaper) {
  LookUpCosts costs;
  EXPECT_TRUE(costs.read_next());
  EXPECT_EQ(costs.most_reads(), 64u);
  costs.was_read(20'000, 2);
  EXPECT_FALSE(costs.read_next()) << "what asking costs is not known";
  costs.was_asked(70'000);
  EXPECT_EQ(costs.most_reads(), 7u);
  int reads = 0;
  for (int i = 0; i < 1024; ++i) reads += costs.read_next() ? 1 : 0;
  EXPECT_EQ(reads, 1008);
  for (int i = 0; i < 40; ++i) costs.was_asked(15'000);
  reads = 0;
  for (int i = 0; i < 1024; ++i) reads += costs.read_next() ? 1 : 0;
  EXPECT_EQ(reads, 16);
  EXPECT_EQ(costs.most_reads(), 1u);
  costs.was_asked(1e12);
  EXPECT_EQ(costs.most_reads(), 64u);
}

TEST(ReadPlaces, ANodeThatDoesNotAnswerHoldsItsShareAndIsNotReadUntilItDoes) {
  using std::chrono::milliseconds;
  ReadPlaces places;
  const ReadPlaces::Time start{std::chrono::hours{1}};
  EXPECT_EQ(places.deadline(), std::nullopt);
  std::set<std::size_t> of_two;
  while (const auto place = places.take(2, start)) of_two.insert(*place);
  EXPECT_EQ(of_two.size(), ReadPlaces::kMostOfNode);
  const auto other = places.take(3, start + milliseconds{100});
  ASSERT_TRUE(other);
  EXPECT_FALSE(of_two.contains(*other));
  EXPECT_EQ(places.deadline(), start + ReadPlaces::kLate);
  EXPECT_EQ(places.find_late(start + ReadPlaces::kLate - milliseconds{1}), std::nullopt);
  std::set<std::size_t> late;
  while (const auto place = places.find_late(start + ReadPlaces::kLate)) late.insert(*place);
  EXPECT_EQ(late, of_two);
  EXPECT_EQ(places.deadline(), start + milliseconds{100} + ReadPlaces::kLate);
  // All answers but one have come.
  for (const std::size_t place : of_two) {
    EXPECT_EQ(places.take(2, start), std::nullopt);
    EXPECT_TRUE(places.taken(place) && places.late(place));
    places.give(place);
  }
  EXPECT_TRUE(places.take(2, start));
  EXPECT_FALSE(places.late(*other));
  for (std::uint32_t node = 4; places.take(node, start); ++node) {
  }
  EXPECT_EQ(places.take(3, start), std::nullopt) << "all are taken";
  places.give(*other);
  EXPECT_EQ(places.take(3, start), other);
}

TEST(NameCache, KeepsTheNewerAndALimit) {
  NameCache cache;
  node::RegisteredName what;
  what.generation = 5;
  cache.put("n", 2, what);
  what.generation = 4;
  cache.put("n", 2, what);
  EXPECT_EQ(cache.find("n", 0)->generation, 5u);
  EXPECT_EQ(cache.find("n", 3), nullptr);
  for (std::size_t i = 0; i < NameCache::kMost; ++i) cache.put("x" + std::to_string(i), 2, what);
  EXPECT_EQ(cache.size(), NameCache::kMost);
  EXPECT_EQ(cache.find("n", 0), nullptr);
  EXPECT_NE(cache.find("x0", 0), nullptr);
  EXPECT_EQ(cache.take_used(2), std::vector<std::string>{"x0"});
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace hamlyn::internal_::segment
