// Compare-and-swap of which everybody finds out, where requests are lost, done and not answered, or done much
// later, in whatever order.
#include "hamlyn/sure_swap.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <random>

namespace hamlyn::test {
namespace {

// The words, and the way there. Before each operation others may do whole swaps of theirs.
class BadWay {
 public:
  explicit BadWay(std::uint64_t seed) : chance_(seed) {}

  Outcome fetch(std::size_t offset, const Fetch& fetch, std::chrono::nanoseconds) {
    if (others) others();
    if (one_in(6)) be_late();
    const std::size_t at = offset / 8;
    if (fetch.op != FetchOp::compare_and_swap) return {Status::ok, {}, words.at(at)};
    const auto swap = [this, at, fetch] {
      const std::uint64_t before = words.at(at);
      if (before == fetch.compare) words[at] = fetch.operand;
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
  Outcome compare_and_swap(std::size_t offset, std::uint64_t expected, std::uint64_t desired,
                           std::chrono::nanoseconds timeout) {
    return fetch(offset, {.op = FetchOp::compare_and_swap, .operand = desired, .compare = expected}, timeout);
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

// Counts up by steps, and knows how far; dies, and comes again under the same number.
struct Counter {
  void turn(BadWay& way) {
    if (std::exchange(busy, true)) return;
    if (way.one_in(40)) {
      if (!swap->settled()) unknown += step;
      swap.emplace(0, 4, who);
    }
    if (swap->settled()) step = static_cast<std::uint32_t>(1 + way.below(3));
    const Status status =
        swap->settled() ? swap->swap(way, value, value + step, {}, &value) : swap->settle(way, {}, &value);
    if (status == Status::ok) done += step;
    busy = false;
  }
  std::uint32_t who = 0;
  std::optional<SureSwapIn<BadWay>> swap{};
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
    EXPECT_EQ((SureSwapIn<BadWay>(0, 4, who).swap(way, 0, 1, {})), Status::invalid) << who;
  EXPECT_EQ((SureSwapIn<BadWay>(0, 256, 1).swap(way, 0, 1, {})), Status::invalid);
  SureSwapIn<BadWay> swap(0, 4, 1);
  way.words[0] = std::uint64_t{5} << 56 | 7;
  EXPECT_EQ(swap.swap(way, 7, 8, {}), Status::invalid);
  EXPECT_EQ(way.words[0] & 0xFF, 7u);
  EXPECT_EQ(swap.settle(way, {}), Status::not_ready) << "none was begun";
}

}  // namespace
}  // namespace hamlyn::test
