// Nodes that come, go, fail and are replaced, on virtual time over a bad wire, over many seeds. What goes
// wrong is a seed that anyone can run again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "library/control/member_events.h"
#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

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

// Nodes 1 and 2 are boot servers.
std::vector<NodeId> joined_by(NodeId id) {
  if (id == 1) return {2};
  if (id == 2) return {1};
  return {1, 2};
}
ClusterWorld::Host& start_one(ClusterWorld& world, NodeId id, NodeId at = 0) {
  return world.start(id, id <= 2, joined_by(id), at);
}
// Whether all see all in time.
bool start_whole(ClusterWorld& world, NodeId count) {
  for (NodeId id = 1; id <= count; ++id) start_one(world, id);
  return world.run_until([&] { return world.whole(); }, Time{10000});
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

// What a process knows that watches the nodes, whichever daemon tells it: first that of its host, then the
// next one there.
struct Watched {
  library::MemberEvents events;
  std::map<NodeId, std::uint64_t> told;   // incarnations, by events alone
  std::map<NodeId, std::uint64_t> there;  // the same of those that are there
};

// While there is a daemon: what it sends the process, which reads it at once or late.
class Watcher final : public node::OtherNodes {
 public:
  Watcher(ClusterWorld& world, ClusterWorld::Host& host, Watched& watched)
      : world_(world), host_(host), watched_(watched), daemon_({}, this) {
    host.on_came = [this](NodeId) { look(); };
    host.on_gone = [this](NodeId, bool) { look(); };  // as ClusterPort does
    host.on_tick = [this] { look(); };
    node::Hello hello;
    hello.flags = node::Hello::kObserver;
    daemon_.attach(kConnection, 1000, 1000, hello);
    daemon_.say(kConnection, test::ask(node::RequestKind::watch, 1));
  }
  ~Watcher() override {
    read();
    host_.on_came = nullptr;
    host_.on_gone = nullptr;
    host_.on_tick = nullptr;
    watched_.events.lose();
    watched_.there.clear();
  }
  // From here on its daemon keeps the news for it.
  void be_slow() { daemon_.slow.insert(kConnection); }
  void read() {
    if (daemon_.slow.erase(kConnection) != 0) daemon_.node.caught_up(kConnection);
    while (!daemon_.quiet(kConnection)) {
      const auto reply = daemon_.take<node::MemberReply>(kConnection);
      if (reply.kind != node::ReplyKind::member || reply.id == 0) {  // that these were all
        daemon_.take<node::NodeReply>(kConnection);
        continue;
      }
      const auto& nodes = watched_.events.nodes();
      const auto found = std::ranges::find(nodes, reply.id, &Membership::Node::id);
      const std::optional<Membership::Node> was = found != nodes.end() ? std::optional{*found} : std::nullopt;
      if (const auto event = watched_.events.take(reply)) check(was, *event);
    }
  }

 private:
  static constexpr std::uint64_t kConnection = 7;

  void look() { daemon_.node.look_at_members(world_.now); }

  void check(const std::optional<Membership::Node>& was, const Membership::Event& event) {
    using Change = Membership::Change;
    using State = Membership::State;
    const Membership::Node& now = event.node;
    const bool there = now.state == State::alive || now.state == State::suspect;
    const bool was_there = watched_.there.contains(now.id);
    const auto told = watched_.told.find(now.id);
    const auto must = [&](bool good, const char* what) { world_.check(good, what); };
    must(now.incarnation >= event.former, "an incarnation is told of after a newer one");
    must(told == watched_.told.end() || told->second == event.former, "another incarnation was told of");
    must(world_.runs[now.id].contains(now.incarnation), "an incarnation that never was is told of");
    switch (event.change) {
      case Change::came:
        must((there || now.state == State::self) && !was_there, "who was there comes");
        must(event.former == 0 || event.former == now.incarnation, "another incarnation comes as the same");
        break;
      case Change::returned:
        must(there && now.incarnation > event.former, "who has not gone returns");
        break;
      case Change::suspected:
        must(was_there && now.state == State::suspect, "who is not there is suspected");
        break;
      case Change::cleared:
        must(was && was->state == State::suspect && now.state == State::alive, "nobody suspected it");
        break;
      case Change::died:
        must(was_there && now.state == State::dead, "who was not there dies");
        break;
      case Change::left:
        must(was && was->state != State::left && now.state == State::left, "it leaves twice");
        break;
      case Change::renewed:
        must(now.state == State::self && now.incarnation > event.former, "it is as it was");
        break;
      case Change::missed:
        must(event.changes > 1 && there == was_there, "nothing was missed");
        must(!there || event.former == now.incarnation, "another incarnation is there unnoticed");
        break;
      case Change::daemon_gone:
        must(false, "a daemon tells of its end");
    }
    watched_.told[now.id] = now.incarnation;
    there ? void(watched_.there[now.id] = now.incarnation) : void(watched_.there.erase(now.id));
  }

  NodeId self() const override { return host_.id; }
  std::uint64_t incarnation() const override { return host_.cluster->incarnation(); }
  std::uint64_t incarnation_of(NodeId id) const override { return host_.cluster->incarnation_of(id); }
  std::vector<NodeId> there() const override { return host_.cluster->alive(); }
  std::string reached_at(NodeId) const override { return {}; }
  std::optional<node::Address> place_of(NodeId id) const override { return host_.cluster->place_of(id); }
  bool has_room(NodeId id) const override { return host_.cluster->has_room(id); }
  void tell(NodeId, std::vector<std::byte>) override {}
  void random(std::span<std::byte>) override {}
  std::vector<node::MemberReply> members() const override {
    return node::members_of(*host_.cluster, world_.now);
  }

  ClusterWorld& world_;
  ClusterWorld::Host& host_;
  Watched& watched_;
  test::NodeWorld daemon_;
};

// One at each node, or none.
class Watchers {
 public:
  Watchers(ClusterWorld& world, bool any) : world_(world), any_(any), chance_(world.random()) {}
  void begin(NodeId id) {
    if (any_) watchers_[id] = std::make_unique<Watcher>(world_, *world_.hosts.at(id), watched_[id]);
  }
  void end(NodeId id) { watchers_.erase(id); }
  void some_read() {
    for (auto& [id, watcher] : watchers_) chance_() % 3 == 0 ? watcher->be_slow() : watcher->read();
  }
  // All have read, and know by what they were told who is there.
  bool know() {
    for (auto& [id, watcher] : watchers_) {
      watcher->read();
      if (watched_[id].there != world_.hosts.at(id)->there) return false;
    }
    return true;
  }

 private:
  ClusterWorld& world_;
  const bool any_;
  std::mt19937_64 chance_;
  std::map<NodeId, Watched> watched_;
  std::map<NodeId, std::unique_ptr<Watcher>> watchers_;
};

// Kills, restarts, leaves, stops, cuts and partitions hosts, at places of which those that have one id are
// 1000 apart. Then there is calm.
class Disturbance {
 public:
  Disturbance(ClusterWorld& world, std::vector<NodeId> places) : world_(world), places_(std::move(places)) {
    world.cut = [this](NodeId from, NodeId to) {
      return cuts_.contains({from, to}) || island_.contains(from) != island_.contains(to);
    };
  }
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;
  ~Disturbance() { world_.cut = nullptr; }

  // For whoever lives on top of the daemons.
  std::function<void(NodeId)> on_start = [](NodeId) {}, on_end = [](NodeId) {};

  void start_all() {
    for (const NodeId at : places_) start(at);
  }
  void next() {
    const NodeId at = somewhere(), other = somewhere();
    auto& host = *world_.hosts.at(at);
    switch (world_.random() % 8) {
      case 0:
        if (host.cluster) kill(at);
        break;
      case 1:
        if (!host.cluster || host.stopped) break;
        on_end(at);
        world_.leave(at);
        break;
      case 2:
      case 3:
        if (host.cluster) kill(at);
        start(at);
        break;
      case 4:
        host.stopped ? world_.go_on(at) : void(host.stopped = host.cluster != nullptr);
        break;
      case 5:
        if (!cuts_.emplace(at, other).second) cuts_.erase({at, other});
        break;
      case 6:
        if (!island_.insert(at).second) island_.erase(at);
        break;
      case 7:
        cuts_.clear();
        island_.clear();
        break;
    }
  }
  // All of them run, and reach each other.
  void calm() {
    cuts_.clear();
    island_.clear();
    for (const NodeId at : places_) {
      if (world_.hosts.at(at)->stopped) world_.go_on(at);
      if (!world_.hosts.at(at)->cluster) start(at);
    }
  }

 private:
  NodeId somewhere() { return places_[world_.random() % places_.size()]; }
  void start(NodeId at) {
    start_one(world_, static_cast<NodeId>(at % 1000), at);
    on_start(at);
  }
  void kill(NodeId at) {
    on_end(at);
    world_.kill(at);
  }

  ClusterWorld& world_;
  const std::vector<NodeId> places_;
  std::set<std::pair<NodeId, NodeId>> cuts_;
  std::set<NodeId> island_;
};

// `at_once` of them at a time.
void trouble(std::uint64_t seed, NodeId most, int steps, int at_once, bool watched = false) {
  ClusterWorld world{seed, {.loss = 0.1, .repeat = 0.05, .least_delay = 1, .most_delay = 30}};
  std::vector<NodeId> places(most - world.random() % 7);
  std::iota(places.begin(), places.end(), NodeId{1});
  Watchers watchers(world, watched);
  Disturbance disturbance(world, places);
  disturbance.on_start = [&](NodeId id) { watchers.begin(id); };
  disturbance.on_end = [&](NodeId id) { watchers.end(id); };
  disturbance.start_all();
  for (int i = 0; i < steps * at_once; ++i) {
    if (i % at_once == 0) world.run(Time{static_cast<int>(world.random() % 1500)});
    disturbance.next();
    watchers.some_read();
  }
  disturbance.calm();
  EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{20000})) << "seed " << seed;
  EXPECT_TRUE(watchers.know()) << "seed " << seed;
  expect_right(world, seed);
}

// And whoever watches the nodes is told of all that, in its order.
TEST(SimulatedCluster, AgreesThroughTroubleAndIsWholeAfterIt) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed)
    trouble(seed, 10, 24, 1, true);
}

// HAMLYN_TEST_SEEDS: how many; one takes seven seconds.
TEST(SimulatedCluster, HundredsOfNodesAgreeThroughTroubleAndAreWholeAfterIt) {
  const char* const seeds = std::getenv("HAMLYN_TEST_SEEDS");
  const std::uint64_t last = seeds == nullptr ? 1 : std::strtoull(seeds, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= last && !testing::Test::HasFailure(); ++seed)
    trouble(seed, kMany, 3, kMany / 8);
}

TEST(SimulatedCluster, APartitionIsTwoClustersUntilItHeals) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterWorld world{seed, {.loss = 0.05, .repeat = 0, .least_delay = 1, .most_delay = 10}};
    ASSERT_TRUE(start_whole(world, 12)) << seed;
    bool apart = true;
    world.cut = [&](NodeId from, NodeId to) { return apart && from % 2 != to % 2; };
    world.run(Time{2500});
    for (const auto& [at, host] : world.hosts) EXPECT_EQ(host->there.size(), 5u) << at << ", seed " << seed;
    start_one(world, 13);  // comes meanwhile, to one side
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

// The same, let in by boot servers that could not see each other, and then can: the younger one stays, and is
// told of no end.
TEST(SimulatedCluster, OfTwoThatWereLetInWithOneIdTheYoungerStaysWhenAPartitionHeals) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ClusterWorld world{seed, {.loss = 0.02, .repeat = 0.05, .least_delay = 1, .most_delay = 10}};
    world.unique_ids = false;
    ASSERT_TRUE(start_whole(world, 4)) << seed;
    bool apart = true;
    world.cut = [&](NodeId from, NodeId to) { return apart && from % 2 != to % 2; };
    auto& older = start_one(world, 9, 109);
    world.run(Time{3000});
    auto& younger = start_one(world, 9, 210);
    world.run(Time{3000});
    ASSERT_EQ(older.there.size(), 2u) << seed;
    ASSERT_EQ(younger.there.size(), 2u) << seed;
    younger.on_gone = [&](NodeId, bool) { world.check(false, "the younger is told of an end"); };
    apart = false;
    EXPECT_TRUE(
        world.run_until([&] { return younger.there.size() == 4 && older.there.empty(); }, Time{10000}))
        << seed;
    world.run(Time{10000});
    EXPECT_TRUE(older.there.empty()) << seed;
    EXPECT_EQ(older.cluster->kept_out(), node::Reason::id_alive) << seed;
    EXPECT_EQ(younger.cluster->incarnation(), younger.incarnation) << seed;
    younger.on_gone = nullptr;
    world.kill(210);
    EXPECT_TRUE(world.run_until([&] { return older.there.size() == 4; }, Time{8000})) << seed;
    expect_right(world, seed);
  }
}

// Another that has asked for that id all the time is not let in by a boot server that has just started,
// either, where there is another one that knows better.
TEST(SimulatedCluster, AnIdHasOneLivingNodeThoughABootServerIsStartedAgain) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ClusterWorld world{seed, {.loss = 0.02, .repeat = 0.05, .least_delay = 1, .most_delay = 10}};
    world.unique_ids = false;
    auto& first = start_one(world, 9, 109);
    ASSERT_TRUE(start_whole(world, 4)) << seed;
    auto& second = start_one(world, 9, 210);
    world.run(Time{3000});
    world.kill(1);
    world.run(Time{static_cast<int>(world.random() % 3000)});
    start_one(world, 1);
    EXPECT_TRUE(world.run_until([&] { return first.there.size() == 4; }, Time{8000})) << seed;
    world.run(Time{3000});
    EXPECT_TRUE(second.there.empty()) << seed;
    EXPECT_EQ(first.cluster->incarnation(), first.incarnation) << seed;
    expect_right(world, seed);
  }
}

// Nor where there is no other: it knows who was there when it was killed.
TEST(SimulatedCluster, AnIdHasOneLivingNodeThoughTheOnlyBootServerIsStartedAgain) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ClusterWorld world{seed, {.loss = 0.02, .repeat = 0.05, .least_delay = 1, .most_delay = 10}};
    world.unique_ids = false;
    world.dead_after = Time{seed % 2 == 0 ? 1000 : 5000};
    world.start(1, true, {});
    auto& first = world.start(5, false, {1}, 105);
    for (NodeId id = 2; id <= 4; ++id) world.start(id, false, {1});
    ASSERT_TRUE(world.run_until([&] { return world.whole(); }, Time{8000})) << seed;
    auto& second = world.start(5, false, {1}, 205);
    world.run(Time{3000});
    for (int i = 0; i < 3; ++i) {
      world.kill(1);
      world.run(Time{static_cast<int>(world.random() % 3000)});
      world.start(1, true, {});
      world.run(Time{static_cast<int>(world.random() % 3000)});
    }
    EXPECT_TRUE(world.run_until([&] { return first.there.size() == 4; }, Time{15000})) << seed;
    world.run(Time{10000});
    EXPECT_TRUE(second.there.empty()) << seed;
    EXPECT_EQ(first.cluster->incarnation(), first.incarnation) << seed;
    expect_right(world, seed);
  }
}

// Whether of all hosts of an id one is in, and the others are out, and those that are in see each other.
bool one_of_each_id(const ClusterWorld& world, std::size_t ids) {
  std::map<NodeId, std::uint64_t> in;
  for (const auto& [at, host] : world.hosts) {
    if (host->there.empty()) continue;
    const bool first = in.emplace(host->id, host->cluster->incarnation()).second;
    if (!first || host->there.size() != ids - 1) return false;
  }
  for (const auto& [at, host] : world.hosts) {
    for (const auto& [id, incarnation] : host->there)
      if (!in.contains(id) || in.at(id) != incarnation) return false;
  }
  return in.size() == ids;
}

// Three daemons with one id among others, which come, go and fail as they like: when there is peace one of
// the three is in, and stays.
TEST(SimulatedCluster, AnIdOfThreeHostsHasOneLivingNodeAfterTrouble) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    ClusterWorld world{seed, {.loss = 0.05, .repeat = 0.05, .least_delay = 1, .most_delay = 20}};
    world.unique_ids = false;
    Disturbance disturbance(world, {1, 2, 3, 1003, 2003, 4, 5, 6});
    disturbance.start_all();
    for (int i = 0; i < 24; ++i) {
      world.run(Time{static_cast<int>(world.random() % 2500)});
      disturbance.next();
    }
    disturbance.calm();
    EXPECT_TRUE(world.run_until([&] { return one_of_each_id(world, 6); }, Time{30000})) << "seed " << seed;
    std::map<NodeId, std::uint64_t> in;
    for (const auto& [at, host] : world.hosts)
      if (!host->there.empty()) in[at] = host->cluster->incarnation();
    world.run(Time{10000});
    EXPECT_TRUE(one_of_each_id(world, 6)) << "seed " << seed;
    for (const auto& [at, incarnation] : in)
      EXPECT_EQ(world.cluster(at).incarnation(), incarnation) << at << ", seed " << seed;
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
