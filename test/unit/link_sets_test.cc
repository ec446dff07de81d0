#include "interface/link_sets.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace hamlyn::internal_::interface {
namespace {

std::vector<std::size_t> all_of(LinkSets& sets, std::uint32_t link) {
  std::vector<std::size_t> out;
  for (std::size_t thing = sets.take(link); thing != LinkSets::kNone; thing = sets.take(link))
    out.push_back(thing);
  return out;
}

TEST(LinkSets, GiveEachThingOfALinkOnceAndNoneOfOthers) {
  std::mt19937 random{7};
  for (const std::size_t things : {1u, 63u, 64u, 65u, 4096u, 4097u, 300'000u}) {
    LinkSets sets;
    sets.resize(things, 2);
    std::map<std::uint32_t, std::set<std::size_t>> expected;
    for (int i = 0; i < 500; ++i) {
      const auto link = static_cast<std::uint32_t>(random() % 128);
      const std::size_t thing = random() % things;
      sets.add(thing, link);
      expected[link].insert(thing);
      EXPECT_TRUE(sets.has(thing, link));
    }
    for (std::uint32_t link = 0; link < 128; ++link) {
      const auto got = all_of(sets, link);
      EXPECT_EQ(std::set<std::size_t>(got.begin(), got.end()), expected[link]) << things << " " << link;
      EXPECT_EQ(got.size(), expected[link].size());
      EXPECT_EQ(sets.take(link), LinkSets::kNone);
    }
  }
}

TEST(LinkSets, AreThoseThatTheyWereWhenTheyHaveGrown) {
  LinkSets sets;
  EXPECT_EQ(sets.take(3), LinkSets::kNone) << "of nothing";
  sets.resize(10, 0);
  EXPECT_EQ(sets.take(3), LinkSets::kNone) << "of no links";
  sets.resize(10, 1);
  sets.add(9, 3);
  sets.resize(10, 2);
  sets.add(4, 100);
  sets.resize(10'000, 2);
  sets.add(9'999, 3);
  sets.resize(10'000, 4);
  EXPECT_EQ(all_of(sets, 3), (std::vector<std::size_t>{9, 9'999}));
  EXPECT_EQ(all_of(sets, 100), std::vector<std::size_t>{4});
}

}  // namespace
}  // namespace hamlyn::internal_::interface
