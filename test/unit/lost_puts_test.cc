#include "interface/puts/lost_puts.h"

#include <gtest/gtest.h>

#include "test/unit/no_link.h"

namespace hamlyn::internal_::interface {
namespace {

using test::NoLink;

std::vector<std::unique_ptr<SendCredit>> lost_by(std::uint64_t terminus) {
  std::vector<std::unique_ptr<SendCredit>> out;
  out.push_back(std::make_unique<SendCredit>());
  out.back()->lose_with_link(terminus, {});
  return out;
}

// What a new link with that peer finds: termini by any opening, and by the one that is known.
std::pair<std::uint64_t, std::uint64_t> found(LostPuts& lost, std::uint64_t peer) {
  NoLink link{peer};
  lost.recall(link);
  return {link.lost_before, link.credits.empty() ? 0 : link.credits.front()->lost_with_link};
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

TEST(LostPuts, AreRememberedByTheirOpeningOnce) {
  LostPuts lost;
  lost.remember(7, lost_by(4));
  EXPECT_EQ(found(lost, 8), (Pair{0, 0}));
  EXPECT_EQ(found(lost, 7), (Pair{0, 4}));
  EXPECT_EQ(found(lost, 7), (Pair{0, 0}));
}

TEST(LostPuts, OfMorePeersThanAreRememberedAreNeverForgotten) {
  LostPuts lost;
  const std::uint64_t peers = LostPuts::kWithOpenings + 10;
  for (std::uint64_t peer = 1; peer <= peers; ++peer) lost.remember(peer, lost_by(peer % 2 == 0 ? 2 : 1));
  for (std::uint64_t peer = 1; peer <= peers; ++peer) {
    const std::uint64_t terminus = peer % 2 == 0 ? 2 : 1;
    EXPECT_EQ(found(lost, peer), peer <= 10 ? (Pair{terminus, 0}) : (Pair{0, terminus})) << peer;
  }
  EXPECT_EQ(found(lost, peers + 1), (Pair{0, 0})) << "who lost none hears of none";
  EXPECT_EQ(found(lost, 1), (Pair{0, 0})) << "and who was told hears no more";
}

TEST(LostPuts, OfMorePeersThanCanBeNamedMayBeAnybodys) {
  LostPuts lost;
  const std::uint64_t peers = LostPuts::kWithOpenings + LostPuts::kWithout + 1;
  for (std::uint64_t peer = 1; peer <= peers; ++peer) lost.remember(peer, lost_by(8));
  EXPECT_EQ(found(lost, peers + 1), (Pair{8, 0}));
  lost.forget_terminus(8);
  EXPECT_EQ(found(lost, peers + 1), (Pair{0, 0}));
}

TEST(LostPuts, OfATerminusThatHasGoneAreNobodys) {
  LostPuts lost;
  for (std::uint64_t peer = 1; peer <= LostPuts::kWithOpenings + 1; ++peer) lost.remember(peer, lost_by(3));
  lost.forget_terminus(1);
  EXPECT_EQ(found(lost, 1), (Pair{2, 0}));
  EXPECT_EQ(found(lost, 2), (Pair{0, 2}));
}

}  // namespace
}  // namespace hamlyn::internal_::interface
