// The book of a pool of loans by itself, over thousands of random programs: takes, loans, returns (good,
// late, doubled, invented), force and deaths in any order, beside a plain book that keeps one line for each
// loan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "protocols/loan_book.h"

namespace hamlyn::test {
namespace {

using protocols::good;
using protocols::LoanBook;
using protocols::LoanCuts;
using protocols::LoanMessage;
using protocols::LoanPlace;

constexpr std::uint32_t kReceivers = 3;

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed), book_(cuts()) {}

  void step() {
    const std::uint32_t receiver = any(kReceivers);
    switch (any(8)) {
      case 0:
      case 1:
        return take();
      case 2:
      case 3:
        return lend(receiver);
      case 4:
        return let_go();
      case 5:
        return give_back(receiver);
      case 6:
        return invent(receiver);
      default:
        if (any(4) == 0) return die(receiver);
        if (any(4) == 0) withdraw();
    }
  }

  void check() {
    for (std::uint32_t r = 0; r < kReceivers; ++r) ASSERT_EQ(shelves_[r].count(), held_[r].size());
    std::uint32_t free = 0;
    for (std::uint32_t index = 0; index < book_.buffers(); ++index) {
      ASSERT_EQ(book_.holders(index), holders(index));
      free += !writers_.contains(index) && holders(index) == 0;
    }
    ASSERT_EQ(book_.free_buffers(), free);
  }

 private:
  static LoanCuts cuts() {
    LoanCuts cuts{};
    cuts[0] = {100, 3};
    cuts[1] = {10, 70};
    cuts[2] = {1000, 2};
    return cuts;
  }
  std::uint32_t any(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  std::uint32_t any_of(const std::set<std::uint32_t>& from) {
    return *std::next(from.begin(), any(static_cast<std::uint32_t>(from.size())));
  }
  std::uint32_t holders(std::uint32_t index) const {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(held_, [&](const auto& each) { return each.contains(index); }));
  }
  static std::uint32_t length(std::uint32_t index) { return index < 3 ? 100 : index < 73 ? 10 : 1000; }

  void collect() {
    for (std::uint32_t r = 0; r < kReceivers; ++r)
      book_.collect(shelves_[r], [&](std::uint32_t index) { return pages_[r][index]; });
  }
  void take() {
    constexpr std::array<std::uint32_t, 4> kSizes{5, 50, 500, 5000};
    const std::uint32_t bytes = kSizes[any(4)];
    const auto index = book_.take(bytes);
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < book_.buffers(); ++i) {
      const bool free = !writers_.contains(i) && holders(i) == 0;
      if (free && length(i) >= bytes && (best == 0 || length(i) < best)) best = length(i);
    }
    ASSERT_EQ(index.has_value(), best != 0);
    if (!index) return;
    ASSERT_EQ(length(*index), best);
    ASSERT_TRUE(writers_.insert(*index).second && holders(*index) == 0) << "it belongs to somebody";
    ASSERT_NE(book_.number(*index), std::exchange(numbers_[*index], book_.number(*index)));
  }
  void lend(std::uint32_t receiver) {
    if (writers_.empty()) return;
    const std::uint32_t index = any_of(writers_);
    const bool new_to_it = told_.insert({receiver, index, book_.number(index)}).second;
    ASSERT_EQ(book_.may_lend(index, shelves_[receiver]), new_to_it);
    if (!new_to_it) return;
    book_.lend(index, shelves_[receiver]);
    // If it has said before that it gives this one back, it has.
    if (pages_[receiver][index] != book_.number(index)) held_[receiver].emplace(index, book_.number(index));
    collect();
  }
  void let_go() {
    if (writers_.empty()) return;
    const std::uint32_t index = any_of(writers_);
    writers_.erase(index);
    book_.let_go(index);
  }
  void give_back(std::uint32_t receiver) {
    if (held_[receiver].empty()) return;
    const auto lent =
        std::next(held_[receiver].begin(), any(static_cast<std::uint32_t>(held_[receiver].size())));
    pages_[receiver][lent->first] = lent->second;
    held_[receiver].erase(lent);
    collect();
  }
  // A number of another loan, old or not there yet.
  void invent(std::uint32_t receiver) {
    const std::uint32_t index = any(book_.buffers());
    const auto lent = held_[receiver].find(index);
    const std::uint32_t number = any(2) == 0 ? any(5) : book_.number(index) + 1;
    if (lent == held_[receiver].end() || lent->second != number) pages_[receiver][index] = number;
  }
  void die(std::uint32_t receiver) {
    book_.clear(shelves_[receiver]);
    held_[receiver].clear();
  }
  void withdraw() {
    if (writers_.empty()) return;
    const std::uint32_t index = any_of(writers_);
    for (LoanBook::Shelf& shelf : shelves_) book_.take_back(index, shelf);
    book_.renew_number(index);
    for (auto& each : held_) each.erase(index);
  }

  std::mt19937_64 random_;
  LoanBook book_;
  std::array<LoanBook::Shelf, kReceivers> shelves_;
  std::array<std::array<std::uint32_t, protocols::kLoanBuffers>, kReceivers> pages_{};
  std::array<std::map<std::uint32_t, std::uint32_t>, kReceivers> held_;  // index to number
  std::set<std::uint32_t> writers_;
  std::map<std::uint32_t, std::uint32_t> numbers_;
  std::set<std::array<std::uint32_t, 3>> told_;
};

TEST(LoanBooks, agree_with_a_plain_one) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Program program(seed);
    for (int i = 0; i < 200; ++i) {
      ASSERT_NO_FATAL_FAILURE(program.step()) << "seed " << seed << ", step " << i;
      if (i % 10 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(program.check()) << "seed " << seed << ", step " << i;
    }
  }
}

// Whatever a peer says of its cuts, and then of a loan, leads into the area or is refused.
TEST(LoanBooks, refuse_words_that_lead_outside) {
  std::mt19937_64 random(1);
  const auto odd = [&]() -> std::uint64_t {
    constexpr std::array<std::uint64_t, 8> kEdges{
        0, 1, 63, 64, 4096, 1u << 30, (1u << 30) + 1, ~std::uint64_t{0}};
    return random() % 2 == 0 ? kEdges[random() % kEdges.size()] : random() >> random() % 64;
  };
  std::size_t taken = 0;
  for (int i = 0; i < 4000; ++i) {
    LoanCuts cuts{};
    for (std::uint64_t left = random() % 3 + 1; left != 0; --left) {
      auto& cut = cuts[random() % cuts.size()];
      cut = random() % 2 == 0 ? protocols::LoanCut{odd(), odd()}
                              : protocols::LoanCut{random() % 70000 + 1, random() % 300 + 1};
    }
    const std::uint64_t bytes = protocols::loan_area_bytes(cuts);
    if (bytes == 0) continue;
    ++taken;
    ASSERT_LE(bytes, protocols::kMostLoanArea);
    std::vector<LoanPlace> places;
    protocols::place_loans(cuts, [&](const LoanPlace& place) { places.push_back(place); });
    ASSERT_LE(places.size(), protocols::kLoanBuffers);
    std::uint64_t end = protocols::kFirstLoan;
    for (const LoanPlace& place : places) {
      ASSERT_TRUE(place.length != 0 && place.offset >= end && place.offset % 64 == 0);
      end = place.offset + place.length;
    }
    ASSERT_LE(end, bytes);
    const LoanMessage message = protocols::loan_of(odd());
    const std::uint64_t index = odd();
    if (!good(message, index, places)) continue;
    ASSERT_TRUE(message.number != 0 && index < places.size() && message.length <= places[index].length);
  }
  EXPECT_GT(taken, 300u);
}

}  // namespace
}  // namespace hamlyn::test
