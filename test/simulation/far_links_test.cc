// Whole daemons, with processes that ask for links and names of other nodes, while the way between them
// fails: in the end both ends of each link know of it or neither does, and no request hangs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn {
namespace {

using node::FarReply;
using node::NodeId;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using node::Time;
using test::ask;
using test::ClusterWorld;
using test::NodeWorld;

constexpr NodeId kNodes = 4;
constexpr std::uint64_t kProcesses = 2;  // of each node

struct Process {
  std::uint64_t interface = 0;
  std::uint64_t next = 1;
  std::map<std::uint64_t, std::uint64_t> asked;  // request to peer; 0: a look-up
  std::map<std::uint64_t, std::uint64_t> links;  // to peers
};

struct Daemon final : node::OtherNodes {
  Daemon(ClusterWorld& all, NodeId which) : world(all), id(which), node(options(which), this) {
    auto& host = *world.hosts.at(id);
    host.on_came = [this](NodeId other) { node.node.node_came(other, world.now); };
    host.on_gone = [this](NodeId other, bool silent) {
      node.node.node_gone(other, "it is gone", silent, world.now);
    };
    host.on_message = [this](NodeId other, std::span<const std::byte> message) {
      node.node.node_said(other, message, world.now);
    };
    for (std::uint64_t i = 1; i <= kProcesses; ++i) processes[i].interface = node.attach(i).interface;
  }
  static node::NodeOptions options(NodeId id) {
    node::NodeOptions out;
    out.first_number = std::uint64_t{id} << node::kNodeShift | 1;
    return out;
  }
  NodeId self() const override { return id; }
  std::uint64_t incarnation() const override { return world.cluster(id).incarnation(); }
  std::uint64_t incarnation_of(NodeId other) const override {
    return world.cluster(id).incarnation_of(other);
  }
  std::vector<NodeId> there() const override { return world.cluster(id).alive(); }
  std::string reached_at(NodeId) const override { return "127.0.0.1"; }
  std::optional<node::Address> place_of(NodeId other) const override {
    return world.cluster(id).place_of(other);
  }
  bool has_room(NodeId other) const override { return world.cluster(id).has_room(other); }
  void tell(NodeId other, std::vector<std::byte> message) override {
    world.cluster(id).tell(other, std::move(message), world.now);
  }
  void random(std::span<std::byte> out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(world.random());
  }
  std::vector<node::MemberReply> members() const override { return {}; }

  void say_address(std::uint64_t process) {
    Request out = ask(RequestKind::fabric_address, 0, "somewhere");
    std::memcpy(out.engine, "efa", 3);
    node.say(process, out);
  }
  // What the processes have been told.
  void read() {
    for (auto& [number, process] : processes) {
      auto& queue = node.sent[number];
      while (!queue.empty()) {
        if (queue.front().size() == sizeof(FarReply)) {
          const auto reply = node.take<FarReply>(number);
          world.check(node::invalid(reply) == nullptr, "an invalid introduction");
          if (reply.initiator != 0)
            world.check(process.asked.erase(reply.request) == 1, "an answer nobody waits for");
          for (const auto& [link, peer] : process.links)
            world.check(peer != reply.peer, "two links with one peer");
          process.links[reply.link] = reply.peer;
          continue;
        }
        const Reply reply = node.reply(number);
        if (reply.kind == ReplyKind::open_fabric) {
          say_address(number);
        } else if (reply.kind == ReplyKind::far_gone) {
          // Nothing comes here by a link whose node is silent: it is over, too, and the process may be told
          // twice.
          const bool silent = reply.error == static_cast<std::uint32_t>(ErrorCode::timed_out);
          const bool had = process.links.erase(reply.link) == 1;
          world.check(had || silent, "the end of a link that was not there");
          if (!had) continue;
          node.say(number, ask(RequestKind::link_ended, 0, reply.link));
        } else {
          world.check(process.asked.erase(reply.request) == 1, "an answer nobody waits for");
        }
      }
    }
  }

  ClusterWorld& world;
  NodeId id;
  NodeWorld node;
  std::map<std::uint64_t, Process> processes;
};

void run(std::uint64_t seed) {
  ClusterWorld world{seed, {.loss = 0.1, .repeat = 0.05, .least_delay = 1, .most_delay = 20}};
  const auto pick = [&](std::uint64_t below) { return world.random() % below; };
  std::map<NodeId, std::unique_ptr<Daemon>> daemons;
  for (NodeId id = 1; id <= kNodes; ++id) {
    world.start(id, id == 1, id == 1 ? std::vector<NodeId>{} : std::vector<NodeId>{1});
    daemons[id] = std::make_unique<Daemon>(world, id);
  }
  const auto go_on = [&](Time time) {
    for (const Time until = world.now + time; world.now < until;) {
      world.run(Time{5});
      for (auto& [id, daemon] : daemons) {
        daemon->node.now = world.now;
        daemon->node.node.tick(world.now);
        daemon->read();
      }
    }
  };
  std::set<std::pair<NodeId, NodeId>> cuts;
  world.cut = [&](NodeId from, NodeId to) { return cuts.contains({from, to}); };
  go_on(Time{1000});
  for (int i = 0; i < 250; ++i) {
    go_on(Time{static_cast<int>(pick(60))});
    auto& daemon = *daemons.at(static_cast<NodeId>(1 + pick(kNodes)));
    const std::uint64_t number = 1 + pick(kProcesses);
    Process& process = daemon.processes.at(number);
    const Process& peer =
        daemons.at(static_cast<NodeId>(1 + pick(kNodes)))->processes.at(1 + pick(kProcesses));
    daemon.node.now = world.now;
    switch (pick(12)) {
      default:
        if (node::node_of(peer.interface) == daemon.id) break;
        daemon.say_address(number);
        process.asked[process.next] = peer.interface;
        daemon.node.say(number, ask(RequestKind::introduce, process.next++, peer.interface));
        break;
      case 0:
      case 1:
        if (process.links.empty()) break;
        daemon.node.say(number, ask(RequestKind::link_ended, 0, process.links.begin()->first));
        process.links.erase(process.links.begin());
        break;
      case 2:
        process.asked[process.next] = 0;
        daemon.node.say(number, ask(RequestKind::lookup, process.next++, "nobodys"));
        break;
      case 3:
        if (!process.asked.empty())
          daemon.node.say(number, ask(RequestKind::cancel, process.asked.begin()->first));
        break;
      case 4: {
        const auto cut = std::pair{daemon.id, node::node_of(peer.interface)};
        if (!cuts.insert(cut).second) cuts.erase(cut);
        break;
      }
      case 5:
        cuts.clear();
        break;
    }
    daemon.read();
  }
  cuts.clear();
  go_on(Time{12000});
  EXPECT_TRUE(world.whole()) << seed;
  for (auto& [id, daemon] : daemons) {
    for (auto& [number, process] : daemon->processes) {
      EXPECT_TRUE(process.asked.empty()) << "a request hangs, seed " << seed;
      for (const auto& [link, peer] : process.links) {
        auto& there = daemons.at(node::node_of(peer))->processes;
        const auto other =
            std::ranges::find(there, peer, [](const auto& each) { return each.second.interface; });
        ASSERT_NE(other, there.end());
        const auto same = other->second.links.find(link);
        ASSERT_NE(same, other->second.links.end()) << "half a link, seed " << seed;
        EXPECT_EQ(same->second, process.interface);
      }
    }
  }
  EXPECT_EQ(world.wrong, "") << "seed " << seed;
}

TEST(SimulatedCluster, LinksBetweenNodesHaveTwoEndsOrNone) {
  for (std::uint64_t seed = 1; seed <= 25 && !testing::Test::HasFailure(); ++seed) run(seed);
}

}  // namespace
}  // namespace hamlyn
