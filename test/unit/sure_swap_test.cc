// Compare-and-swap of which everybody finds out, where requests are lost, done and not answered, or done much
// later, in whatever order.
#include "segment/swapped_word.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <random>

namespace hamlyn::test {
namespace {

using segment::SwappedWord;

// The words, and the way there. Before each operation others may do whole swaps of theirs.
class BadWay {
 public:
  explicit BadWay(std::uint64_t seed) : chance_(seed) {}

  Outcome serve(const SwappedWord::Operation& asked) {
    if (others) others();
    if (one_in(6)) be_late();
    const std::size_t at = asked.offset / 8;
    if (!asked.swaps) return {Status::ok, {}, words.at(at)};
    const auto swap = [this, at, asked] {
      const std::uint64_t before = words.at(at);
      if (before == asked.expected) words[at] = asked.desired;
      return before;
    };
    if (kind) return {Status::ok, {}, swap()};
    if (one_in(20)) return {Status::refused, Refusal::not_pinned, 0};
    if (one_in(8)) late_.push_back(swap);  // once more
    if (one_in(8)) {                       // lost, or late
      if (one_in(2)) late_.push_back(swap);
      return {one_in(2) ? Status::link_ended : Status::timed_out, {}, 0};
    }
    const std::uint64_t before = swap();
    if (one_in(8)) return {Status::link_ended, {}, 0};  // its answer is
    return {Status::ok, {}, before};
  }
  bool one_in(std::uint64_t of) { return chance_() % of == 0; }
  std::uint64_t below(std::uint64_t of) { return chance_() % of; }

  std::array<std::uint64_t, 5> words{};
  std::function<void()> others;
  bool kind = false;

 private:
  void be_late() {
    if (late_.empty()) return;
    const auto which = late_.begin() + static_cast<std::ptrdiff_t>(below(late_.size()));
    const auto swap = *which;
    if (one_in(2)) late_.erase(which);  // or it comes again
    swap();
  }

  std::mt19937_64 chance_;
  std::deque<std::function<std::uint64_t()>> late_;
};

template <class Way>
auto through(Way& way) {
  return [&way](const SwappedWord::Operation& asked) { return way.serve(asked); };
}

// Counts up by steps, and knows how far; dies, and comes again under the same number.
struct Counter {
  void turn(BadWay& way) {
    if (std::exchange(busy, true)) return;
    if (way.one_in(40)) {
      if (!swap->settled()) unknown += step;
      swap.emplace(0, 4, who);
    }
    if (swap->settled()) step = static_cast<std::uint32_t>(1 + way.below(3));
    const Status status = swap->settled() ? swap->swap(through(way), value, value + step, &value)
                                          : swap->settle(through(way), &value);
    if (status == Status::ok) done += step;
    busy = false;
  }
  std::uint32_t who = 0;
  std::optional<SwappedWord> swap{};
  std::uint32_t value = 0, step = 0, done = 0, unknown = 0;
  bool busy = false;
};

TEST(SureSwap, is_done_once_and_known_however_late_or_often_its_requests_come) {
  std::uint64_t all = 0;
  for (std::uint64_t seed = 1; seed <= 3000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    BadWay way(seed);
    std::array<Counter, 4> counters;
    for (std::uint32_t i = 0; i < counters.size(); ++i) {
      counters[i].who = i + 1;
      counters[i].swap.emplace(0, 4, i + 1);
      way.words[i + 1] = (1u << 24) - 20 * way.below(3);  // numbers come round
    }
    way.words[0] = 0;
    way.others = [&] {
      if (way.one_in(3)) counters[way.below(counters.size())].turn(way);
    };
    for (int i = 0; i < 300; ++i) counters[way.below(counters.size())].turn(way);
    way.kind = true;
    way.others = nullptr;
    std::uint64_t done = 0, unknown = 0;
    for (Counter& each : counters) {
      while (!each.swap->settled()) each.turn(way);
      done += each.done;
      unknown += each.unknown;
    }
    const std::uint64_t value = way.words[0] & 0xFFFFFFFF;
    EXPECT_GE(value, done);
    EXPECT_LE(value, done + unknown);
    all += done;
  }
  EXPECT_GT(all, 3000u * 50);
}

TEST(SureSwap, refuses_numbers_that_nobody_has_and_words_that_nobody_has_made) {
  BadWay way(1);
  way.kind = true;
  for (const std::uint32_t who : {0u, 5u})
    EXPECT_EQ(SwappedWord(0, 4, who).swap(through(way), 0, 1), Status::invalid) << who;
  EXPECT_EQ(SwappedWord(0, 256, 1).swap(through(way), 0, 1), Status::invalid);
  SwappedWord swap(0, 4, 1);
  way.words[0] = std::uint64_t{5} << 56 | 7;
  EXPECT_EQ(swap.swap(through(way), 7, 8), Status::invalid);
  EXPECT_EQ(way.words[0] & 0xFF, 7u);
  EXPECT_EQ(swap.settle(through(way)), Status::not_ready) << "none was begun";
}

// The words alone, and one swap of the first that is not answered.
struct PlainWay {
  Outcome serve(const SwappedWord::Operation& asked) {
    std::uint64_t& word = words.at(asked.offset / 8);
    if (!asked.swaps) return {Status::ok, {}, word};
    const Status status = asked.offset == 0 ? std::exchange(next, Status::ok) : Status::ok;
    const std::uint64_t before = word;
    if (before == asked.expected && (status == Status::ok || done)) word = asked.desired;
    return {status, {}, before};
  }
  std::array<std::uint64_t, 3> words{};
  Status next = Status::ok;
  bool done = false;  // though not answered
};

TEST(SureSwap, is_not_misled_by_one_that_was_idle_while_another_swapped_millions_of_times) {
  PlainWay way;
  SwappedWord idle(0, 2, 1);
  ASSERT_EQ(idle.swap(through(way), 0, 1), Status::ok);
  ASSERT_EQ(SwappedWord(0, 2, 2).swap(through(way), 1, 7), Status::ok);
  std::uint32_t value = 0;
  ASSERT_EQ(idle.load(through(way), value), Status::ok);
  way.words[2] += 9'500'000;
  way.words[0] += std::uint64_t{9'500'000} << 32;
  SwappedWord busy(0, 2, 2);
  ASSERT_EQ(busy.swap(through(way), 7, 7), Status::ok);
  ASSERT_EQ(idle.swap(through(way), 7, 8), Status::ok);
  way.next = Status::link_ended;
  ASSERT_EQ(busy.swap(through(way), 8, 9), Status::link_ended);
  ASSERT_EQ(idle.swap(through(way), 8, 10), Status::ok);
  EXPECT_EQ(busy.settle(through(way), &value), Status::not_ready);
  EXPECT_EQ(value, 10u);
}

TEST(SureSwap, is_settled_where_it_may_have_been_done_in_memory_that_was_taken_back) {
  for (const bool done : {false, true}) {
    PlainWay way;
    SwappedWord swap(0, 2, 1);
    way.next = Status::stale;
    way.done = done;
    EXPECT_EQ(swap.swap(through(way), 0, 5), Status::stale);
    EXPECT_FALSE(swap.settled());
    EXPECT_EQ(swap.settle(through(way)), Status::ok) << "it was done, or is now";
    EXPECT_EQ(way.words[0] & 0xFFFFFFFF, 5u);
  }
}

// If nobody else swaps, nobody else writes down; and what is far behind is taken for what is ahead.
TEST(SureSwap, writes_its_own_down_now_and_then) {
  PlainWay way;
  constexpr std::uint64_t kOften = 1u << 20;
  way.words[1] = kOften - 3;
  SwappedWord swap(0, 2, 1);
  for (std::uint32_t value = 0; value < 3; ++value) {
    EXPECT_EQ(way.words[1], kOften - (value == 0 ? 3 : 2));
    EXPECT_EQ(swap.swap(through(way), value, value + 1), Status::ok);
  }
  EXPECT_EQ(way.words[1], kOften);
}

TEST(SureSwap, that_was_not_begun_is_settled_by_a_look) {
  PlainWay way;
  way.words[0] = 3;
  SwappedWord swap(0, 2, 1);
  std::uint32_t value = 0;
  EXPECT_EQ(swap.settle(through(way), &value), Status::not_ready);
  EXPECT_EQ(value, 3u);
  way.next = Status::refused;
  EXPECT_EQ(swap.swap(through(way), 3, 4), Status::refused);
  EXPECT_TRUE(swap.settled()) << "it was not done";
  EXPECT_EQ(swap.swap(through(way), 3, 4), Status::ok);
}

}  // namespace
}  // namespace hamlyn::test
