// Nodes that come, go, fail and are replaced, on virtual time over a bad wire, over many seeds. What goes
// wrong is a seed that anyone can run again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "test/support/cluster_world.h"

namespace hamlyn {
namespace {

using node::NodeId;
using node::Time;
using test::ClusterWorld;

// A sanitizer makes each step several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr NodeId kMany = 60;
constexpr std::uint64_t kSeeds = 15;
#else
constexpr NodeId kMany = 200;
constexpr std::uint64_t kSeeds = 40;
#endif

void expect_right(const ClusterWorld& world, std::uint64_t seed) {
  EXPECT_EQ(world.wrong, "") << "seed " << seed;
}

struct Joined {
  Time time{};
  std::uint64_t packets = 0;
};

// `count` nodes start at once; until all see all.
Joined all_join(NodeId count, std::uint64_t seed) {
  ClusterWorld world{seed, {.loss = 0.01, .repeat = 0.01, .least_delay = 1, .most_delay = 3}};
  world.dead_after = Time{20000};  // so that what is counted is joining, not heartbeats
  for (NodeId id = 1; id <= count; ++id) id == 1 ? world.start(id, true, {}) : world.start(id, false, {1});
  const Time began = world.now;
  EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{30000}))
      << count << " nodes, seed " << seed;
  expect_right(world, seed);
  return {world.now - began, world.packets};
}

TEST(SimulatedCluster, TwoHundredNodesJoinAtACostThatGrowsLinearly) {
  const Joined some = all_join(kMany / 4, 1);
  const Joined many = all_join(kMany, 1);
  RecordProperty("packets", static_cast<int>(many.packets));
  RecordProperty("milliseconds", static_cast<int>(many.time.count()));
  const double each_of_some = static_cast<double>(some.packets) / (kMany / 4);
  const double each_of_many = static_cast<double>(many.packets) / kMany;
  EXPECT_LT(each_of_many, 4.8 * each_of_some) << "packets per join";
  EXPECT_LT(each_of_many, kMany * 9) << "packets per join and node there";
  EXPECT_LT(many.time.count(), 10000);
}

// Kills, restarts, leaves, stops, cuts and partitions, `at_once` at a time, then calm.
void trouble(std::uint64_t seed, NodeId most, int steps, int at_once) {
  ClusterWorld world{seed, {.loss = 0.1, .repeat = 0.05, .least_delay = 1, .most_delay = 30}};
  const auto pick = [&](std::uint64_t below) { return world.random() % below; };
  const NodeId count = static_cast<NodeId>(most - pick(7));
  const auto start = [&](NodeId id) {
    id == 1   ? world.start(id, true, {2})
    : id == 2 ? world.start(id, true, {1})
              : world.start(id, false, {1, 2});
  };
  for (NodeId id = 1; id <= count; ++id) start(id);
  std::set<std::pair<NodeId, NodeId>> cuts;
  std::set<NodeId> island;
  world.cut = [&](NodeId from, NodeId to) {
    return cuts.contains({from, to}) || island.contains(from) != island.contains(to);
  };
  for (int i = 0; i < steps * at_once; ++i) {
    if (i % at_once == 0) world.run(Time{static_cast<int>(pick(1500))});
    const auto id = static_cast<NodeId>(1 + pick(count));
    const auto other = static_cast<NodeId>(1 + pick(count));
    auto& host = *world.hosts.at(id);
    switch (pick(8)) {
      case 0:
        if (host.cluster) world.kill(id);
        break;
      case 1:
        if (host.cluster && !host.stopped) world.leave(id);
        break;
      case 2:
      case 3:
        if (host.cluster) world.kill(id);
        start(id);
        break;
      case 4:
        host.stopped ? world.go_on(id) : void(host.stopped = host.cluster != nullptr);
        break;
      case 5:
        if (!cuts.emplace(id, other).second) cuts.erase({id, other});
        break;
      case 6:
        if (!island.insert(id).second) island.erase(id);
        break;
      case 7:
        cuts.clear();
        island.clear();
        break;
    }
  }
  cuts.clear();
  island.clear();
  for (NodeId id = 1; id <= count; ++id) {
    if (world.hosts.at(id)->stopped) world.go_on(id);
    if (!world.hosts.at(id)->cluster) start(id);
  }
  EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{20000})) << "seed " << seed;
  expect_right(world, seed);
}

TEST(SimulatedCluster, AgreesThroughTroubleAndIsWholeAfterIt) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed)
    trouble(seed, 10, 24, 1);
}

// HAMLYN_TEST_SEEDS: how many; one takes ten seconds.
TEST(SimulatedCluster, HundredsOfNodesAgreeThroughTroubleAndAreWholeAfterIt) {
  const char* const seeds = std::getenv("HAMLYN_TEST_SEEDS");
  const std::uint64_t last = seeds == nullptr ? 1 : std::strtoull(seeds, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= last && !testing::Test::HasFailure(); ++seed)
    trouble(seed, kMany, 6, kMany / 8);
}

TEST(SimulatedCluster, APartitionIsTwoClustersUntilItHeals) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterWorld world{seed, {.loss = 0.05, .repeat = 0, .least_delay = 1, .most_delay = 10}};
    for (NodeId id = 1; id <= 12; ++id)
      world.start(id, id <= 2, id == 1 ? std::vector<NodeId>{2} : std::vector<NodeId>{1, 2});
    ASSERT_TRUE(world.run_until([&] { return world.whole(); }, Time{10000})) << seed;
    bool apart = true;
    world.cut = [&](NodeId from, NodeId to) { return apart && from % 2 != to % 2; };
    world.run(Time{2500});
    for (const auto& [at, host] : world.hosts) EXPECT_EQ(host->there.size(), 5u) << at << ", seed " << seed;
    world.start(13, false, {1, 2});  // comes meanwhile, to one side
    world.run(Time{3000});
    apart = false;
    EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{10000})) << seed;
    expect_right(world, seed);
  }
}

// Two daemons of one id, on two hosts: at most one of them is let in, and the other when that one has gone.
TEST(SimulatedCluster, AnIdHasOneLivingNode) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterWorld world{seed, {.loss = 0.05, .repeat = 0.05, .least_delay = 1, .most_delay = 10}};
    world.unique_ids = false;
    for (NodeId id = 1; id <= 4; ++id)
      world.start(id, id == 1, id == 1 ? std::vector<NodeId>{} : std::vector<NodeId>{1});
    world.start(5, false, {1}, 105);
    world.run(Time{3000});
    auto& second = world.start(5, false, {1}, 205);
    const std::uint64_t first = world.hosts.at(105)->incarnation;
    world.run(Time{3000});
    for (NodeId id = 1; id <= 4; ++id) EXPECT_EQ(world.cluster(id).incarnation_of(5), first) << seed;
    EXPECT_TRUE(second.there.empty());
    EXPECT_EQ(second.cluster->kept_out(), node::Reason::id_alive);
    EXPECT_GT(world.cluster(1).counts().id_alive, 0u);
    world.kill(105);
    EXPECT_TRUE(world.run_until([&] { return second.there.size() == 4; }, Time{8000})) << seed;
    expect_right(world, seed);
  }
}

// Messages between two nodes come in order, each once, for as long as they have each other.
TEST(SimulatedCluster, MessagesComeInOrderOverABadWire) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterWorld world{seed, {.loss = 0.2, .repeat = 0.2, .least_delay = 1, .most_delay = 40}};
    world.dead_after = Time{5000};
    world.start(1, true, {});
    world.start(2, false, {1});
    ASSERT_TRUE(world.run_until([&] { return world.whole(); }, Time{20000}));
    for (unsigned i = 0; i < 300; ++i) {
      std::vector<std::byte> message(2 + 4 + world.random() % 400);
      message[0] = std::byte{200};
      std::memcpy(message.data() + 2, &i, sizeof i);
      ASSERT_TRUE(world.cluster(1).tell(2, message, world.now));
    }
    const auto& got = world.hosts.at(2)->messages[1];
    EXPECT_TRUE(world.run_until([&] { return got.size() == 300; }, Time{60000}))
        << got.size() << ", seed " << seed;
    for (unsigned i = 0; i < got.size(); ++i) EXPECT_EQ(std::memcmp(got[i].data() + 2, &i, sizeof i), 0);
    expect_right(world, seed);
  }
}

}  // namespace
}  // namespace hamlyn
