#pragma once
// Many daemons' minds in one process, on virtual time, over a wire that loses, repeats, delays and so
// reorders: all of it from one seed.
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "node/cluster/cluster.h"

namespace hamlyn::test {

using node::Cluster;
using node::ClusterOptions;
using node::NodeId;
using node::Time;

struct Wire {
  double loss = 0;
  double repeat = 0;
  int least_delay = 1;  // ms
  int most_delay = 1;
};

class ClusterWorld {
 public:
  static constexpr Time kTick{20};

  class Host final : public node::ClusterEnvironment {
   public:
    Host(ClusterWorld& world, NodeId of) : id(of), address(address_of(of)), world_(world) {}

    const NodeId id;
    node::Address address;
    std::unique_ptr<Cluster> cluster;  // null: not running
    std::uint64_t incarnation = 0;
    std::vector<node::Member> known;  // the file of a boot server's that was killed
    bool stopped = false;             // what arrives waits
    Time resumed{};
    std::vector<std::pair<node::Address, std::vector<std::byte>>> waiting;
    std::map<NodeId, std::uint64_t> there;
    std::map<NodeId, std::vector<std::vector<std::byte>>> messages;
    std::vector<std::string> lines;
    std::uint64_t sent = 0;
    // For whoever lives on top of it.
    std::function<void(NodeId)> on_came;
    std::function<void(NodeId, bool silent)> on_gone;
    std::function<void()> on_tick;
    std::function<void(NodeId, std::span<const std::byte>)> on_message;

   private:
    void send(const node::Address& to, std::span<const std::byte> packet) override {
      ++sent;
      world_.carry(*this, to, packet);
    }
    void random(std::span<std::byte> out) override {
      for (std::byte& byte : out) byte = static_cast<std::byte>(world_.random());
    }
    void came(NodeId node, std::uint64_t of) override {
      world_.check(!there.contains(node), "came twice");
      there[node] = of;
      messages[node].clear();
      if (on_came) on_came(node);
    }
    void gone(NodeId node, const char*, bool silent) override {
      world_.check(there.erase(node) == 1, "gone, and was not there");
      if (on_gone) on_gone(node, silent);
    }
    void message(NodeId node, std::span<const std::byte> message) override {
      world_.check(there.contains(node), "a message of a node that is not there");
      if (on_message) return on_message(node, message);
      messages[node].emplace_back(message.begin(), message.end());
    }
    void say(const std::string& line) override { lines.push_back(line); }

    ClusterWorld& world_;
  };

  explicit ClusterWorld(std::uint64_t seed, Wire over = {}) : wire(over), random(seed) {
    secret.fill(std::byte{7});
  }

  static node::Address address_of(NodeId id, std::uint16_t port = 7471) {
    node::Address out;
    out.ip[10] = out.ip[11] = std::byte{0xFF};
    out.ip[12] = std::byte{10};
    out.ip[14] = static_cast<std::byte>(id >> 8);
    out.ip[15] = static_cast<std::byte>(id);
    out.port = port;
    return out;
  }

  // Makes the host if need be, and starts its daemon anew.
  Host& start(NodeId id, bool boot, const std::vector<NodeId>& join, NodeId at = 0) {
    auto& host = hosts[at == 0 ? id : at];
    if (!host) host = std::make_unique<Host>(*this, id);
    if (at != 0) host->address = address_of(at);
    ClusterOptions options;
    options.id = id;
    options.secret = secret;
    options.boot = boot;
    options.dead_after = dead_after;
    options.incarnation = ++last_incarnation;
    for (const NodeId one : join) options.join.push_back(address_of(one));
    if (boot) options.known = host->known;
    host->incarnation = options.incarnation;
    host->stopped = false;
    host->waiting.clear();
    host->there.clear();
    host->cluster = std::make_unique<Cluster>(options, *host, now);
    runs[id].insert(options.incarnation);
    return *host;
  }
  void kill(NodeId at) {
    if (hosts.at(at)->cluster) hosts.at(at)->known = hosts.at(at)->cluster->living();
    hosts.at(at)->cluster.reset();
    hosts.at(at)->there.clear();
    ended[{hosts.at(at)->id, hosts.at(at)->incarnation}] = now;
  }
  void leave(NodeId at) {
    hosts.at(at)->cluster->leave(now);
    kill(at);
  }
  void go_on(NodeId at) {
    Host& host = *hosts.at(at);
    host.stopped = false;
    host.resumed = now;
    if (host.cluster) host.cluster->tick(now);  // what wakes it is no packet
    for (const auto& [from, packet] : std::exchange(host.waiting, {}))
      if (host.cluster) host.cluster->received(from, packet, now);
  }
  Cluster& cluster(NodeId at) { return *hosts.at(at)->cluster; }

  void run(Time time) {
    const Time until = now + time;
    while (now < until) {
      now += Time{1};
      while (!flying.empty() && flying.top().at <= now) {
        const Packet packet = flying.top();
        flying.pop();
        arrive(packet);
      }
      for (auto& [at, host] : hosts) {
        // Each at its own moment, and only when it has asked for it.
        if (!host->cluster || host->stopped || (now.count() + at) % kTick.count() != 0) continue;
        if (now >= host->cluster->deadline()) host->cluster->tick(now);
        if (host->on_tick) host->on_tick();
      }
      if (now.count() % 50 == 0) check_agreement();
    }
  }
  bool run_until(const std::function<bool()>& done, Time most) {
    const Time until = now + most;
    while (now < until && !done()) run(Time{10});
    return done();
  }

  // All running daemons see each other, and the same incarnations.
  bool whole() const {
    std::size_t running = 0;
    for (const auto& [at, host] : hosts) running += host->cluster && !host->stopped;
    const Cluster* first = nullptr;
    for (const auto& [at, host] : hosts) {
      if (!host->cluster || host->stopped) continue;
      if (host->there.size() != running - 1) return false;
      if (first == nullptr) first = host->cluster.get();
      if (host->cluster->digest() != first->digest()) return false;
    }
    return true;
  }

  void check(bool good, const char* what) {
    if (!good && wrong.empty()) wrong = std::string(what) + " at " + std::to_string(now.count()) + " ms";
  }

  // Everything that was ever sent, for those who play it back.
  struct Packet {
    Time at{};
    std::uint64_t order = 0;
    node::Address from;
    node::Address to;
    std::vector<std::byte> bytes;
    bool operator<(const Packet& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };
  std::vector<Packet> record;
  bool recording = false;

  std::function<bool(NodeId from, NodeId to)> cut;  // whether that way is cut now
  Wire wire;
  std::mt19937_64 random;
  node::Secret secret;
  Time dead_after{1000};
  Time now{1000000};
  std::uint64_t last_incarnation = 1000;
  std::map<NodeId, std::unique_ptr<Host>> hosts;  // by where they are
  std::map<NodeId, std::set<std::uint64_t>> runs;
  std::map<std::pair<NodeId, std::uint64_t>, Time> ended;
  std::uint64_t packets = 0;
  std::string wrong;  // the first violation

 private:
  static NodeId host_of(const node::Address& address) {
    return static_cast<NodeId>(std::to_integer<unsigned>(address.ip[14]) << 8 |
                               std::to_integer<unsigned>(address.ip[15]));
  }

  bool chance(double of) { return of > 0 && std::uniform_real_distribution<double>(0, 1)(random) < of; }

  void carry(const Host& from, const node::Address& to, std::span<const std::byte> bytes) {
    ++packets;
    runs[from.id].insert(from.cluster->incarnation());  // it may have taken a newer one
    Packet packet{{}, 0, from.address, to, {bytes.begin(), bytes.end()}};
    if (recording) record.push_back(packet);
    if (cut && cut(host_of(from.address), host_of(to))) return;
    if (chance(wire.loss)) return;
    const int copies = chance(wire.repeat) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      packet.at = now + Time{std::uniform_int_distribution<int>(wire.least_delay, wire.most_delay)(random)};
      packet.order = ++order_;
      flying.push(packet);
    }
  }

  void arrive(const Packet& packet) {
    const auto found = hosts.find(host_of(packet.to));
    if (found == hosts.end() || !found->second->cluster || packet.to != found->second->address) return;
    Host& host = *found->second;
    if (!host.stopped) return host.cluster->received(packet.from, packet.bytes, now);
    if (host.waiting.size() < 256) host.waiting.emplace_back(packet.from, packet.bytes);
  }

  // What has to be true at every moment.
  void check_agreement() {
    for (const auto& [at, host] : hosts) {
      if (!host->cluster || host->stopped) continue;
      for (const auto& [id, incarnation] : host->there) {
        check(runs[id].contains(incarnation), "an incarnation that never was");
        check(host->cluster->incarnation_of(id) == incarnation, "two words for one incarnation");
        std::uint64_t& most = seen_[{at, host->incarnation, id}];
        check(incarnation >= most, "an incarnation that went back");
        most = incarnation;
        // A dead one is given up in time: the last it has sent may have been late on the wire.
        const auto over = ended.find({id, incarnation});
        check(over == ended.end() || now - std::max(over->second, host->resumed) <=
                                         dead_after + Time{wire.most_delay} + 2 * kTick + Time{50},
              "a dead node is taken for alive");
      }
    }
    if (!unique_ids) return;
    // Two who have somebody in common hold him for the same incarnation, unless one of the two is over.
    std::map<NodeId, std::uint64_t> held;
    for (const auto& [at, host] : hosts) {
      if (!host->cluster || host->stopped) continue;
      for (const auto& [id, incarnation] : host->there) {
        if (ended.contains({id, incarnation})) continue;
        const auto [found, fresh] = held.emplace(id, incarnation);
        check(fresh || found->second == incarnation, "two nodes disagree about an incarnation");
      }
    }
  }

  std::priority_queue<Packet> flying;
  std::uint64_t order_ = 0;
  std::map<std::tuple<NodeId, std::uint64_t, NodeId>, std::uint64_t> seen_;

 public:
  bool unique_ids = true;
};

}  // namespace hamlyn::test
