// Compare-and-swap over the simulated network's datagrams: over many seeds every history is one that some
// order of its operations explains.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "fabric/sim/sim_datagrams.h"
#include "test/support/swap_storm.h"

namespace hamlyn::test {
namespace {

using segment::Peer;
using segment::SwapRequester;
using segment::SwapTarget;

constexpr std::uint64_t kTick = SwapStorm::kTick, kEnd = SwapStorm::kEnd;

TEST(SwapHistories, are_told_from_those_that_cannot_be) {
  constexpr std::uint64_t kNever = SwapEvent::kNever;
  const auto explained = [](std::vector<SwapEvent> events) {
    return SwapExplanation(std::move(events)).exists(0);
  };
  EXPECT_TRUE(explained({{1, 4, 0, 1, 0}, {2, 3, 1, 2, 1}}));
  EXPECT_FALSE(explained({{1, 2, 0, 1, 0}, {3, 4, 0, 2, 0}})) << "both found 0";
  EXPECT_FALSE(explained({{1, 2, 1, 2, 1}, {3, 4, 0, 1, 0}})) << "what came later was found";
  EXPECT_TRUE(explained({{1, kNever, 0, 1, 0}, {3, 4, 1, 2, 1}}));
  EXPECT_TRUE(explained({{1, kNever, 0, 1, 0}, {3, 4, 0, 2, 0}}));
  EXPECT_FALSE(explained({{1, kNever, 0, 1, 0}, {2, 3, 1, 0, 1}, {4, 5, 1, 2, 1}})) << "swapped twice";
}

TEST(SwapHistories, of_many_storms_are_explained) {
  std::size_t known = 0;
  for (std::uint64_t seed = 1; seed <= 30 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    sim::Generator chance(seed);
    sim::SimDatagramNet net(seed, {.least_delay = 1,
                                   .most_delay = chance.between(10, 600),
                                   .lost_one_in = chance.between(2, 6),
                                   .repeated_one_in = chance.between(1, 4)});
    std::vector<std::unique_ptr<sim::SimDatagramPort>> ports;
    std::vector<fabric::DatagramPort*> all;
    for (std::uint64_t left = 1 + chance.between(2, 5); left != 0; --left)
      all.push_back(ports.emplace_back(net.make_port()).get());
    SwapStorm storm(chance, all, [&](std::uint64_t time) { net.pass(time); });
    storm.run();
    known += storm.known();
  }
  EXPECT_GT(known, 30u * 50);
}

// Each success counts one up: as many as there were are in the word.
TEST(SwapHistories, count_every_success_once) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    sim::SimDatagramNet net(seed, {.most_delay = 300, .lost_one_in = 2, .repeated_one_in = 2});
    std::uint64_t memory[1] = {};
    const auto target_port = net.make_port(), port = net.make_port(), other_port = net.make_port();
    SwapTarget target(*target_port, std::as_writable_bytes(std::span(memory)), 2, chance_of(seed));
    std::uint64_t now = 1, successes = 0;
    struct Counter {
      SwapRequester requester;
      std::uint64_t number = 0, value = 0;
    };
    std::vector<std::unique_ptr<Counter>> counters;
    for (auto* const each : {port.get(), other_port.get()}) {
      target_port->insert(each->address());
      const Peer peer = each->insert(target_port->address());
      counters.push_back(std::make_unique<Counter>(
          SwapRequester(*each, peer, {.first_wait = 50, .most_wait = 200}, chance_of(seed * 77 + now++))));
    }
    for (bool over = false; now < 40 * kEnd && !over; now += kTick) {
      net.pass(kTick);
      target.run();
      over = true;
      for (const auto& each : counters) {
        each->requester.run(now);
        const SwapRequester::Answer answer = each->requester.answer(each->number);
        over = over && each->number == 0 && now > kEnd;
        if (answer.status == Status::pending) continue;
        if (answer.status == Status::ok) {
          const bool swapped = answer.found == each->value;
          successes += swapped ? 1 : 0;
          each->value = answer.found + (swapped ? 1 : 0);
        }
        each->number = 0;
        if (now > kEnd) continue;
        ASSERT_EQ(each->requester.begin(0, each->value, each->value + 1, now, each->number), Status::ok);
      }
    }
    EXPECT_EQ(memory[0], successes);
    EXPECT_GT(successes, 5u);
  }
}

}  // namespace
}  // namespace hamlyn::test
