#pragma once
// The minds of several daemons, without sockets or clock.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn::test {

using node::FarReply;
using node::NodeId;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using node::Time;

inline constexpr const char* kAddress = "an address";

// Daemons that reach each other; what they say waits until `settle`.
class FarWorld {
 public:
  explicit FarWorld(std::size_t count, const node::NodeOptions& options = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = static_cast<NodeId>(i + 1);
      node::NodeOptions each = options;
      each.first_number = std::uint64_t{id} << node::kNodeShift | 100;
      sides_[id] = std::make_unique<Side>(*this, id, each);
    }
  }

  NodeWorld& at(NodeId id) { return sides_.at(id)->world; }
  // The nodes as that daemon sees them; after a change of them it looks.
  std::vector<node::MemberReply>& rows(NodeId id) { return sides_.at(id)->rows; }
  void look(NodeId id) { at(id).node.look_at_members(at(id).now); }
  // Has a connection watch the nodes; false: it was dropped.
  bool watch(NodeId id, std::uint64_t connection) {
    node::Hello hello;
    hello.flags = node::Hello::kObserver;
    at(id).attach(connection, 1000, 1000, hello);
    at(id).say(connection, ask(RequestKind::watch, 5));
    return !at(id).dropped(connection);
  }
  // Attaches a process that can be reached.
  std::uint64_t attach(NodeId at, std::uint64_t connection, std::uint32_t uid = 1000) {
    const std::uint64_t out = this->at(at).attach(connection, uid, uid).interface;
    this->at(at).say(connection, address());
    return out;
  }
  static Request address() {
    Request out = ask(RequestKind::fabric_address, 0, kAddress);
    std::memcpy(out.engine, "efa", 3);
    return out;
  }
  void settle() {
    while (!said_.empty()) {
      const auto [from, to, message] = said_.front();
      said_.pop_front();
      if (reach(from, to)) at(to).node.node_said(from, message, at(to).now);
    }
  }
  // `silent`: neither daemon hears the other, and their processes may live.
  void part(NodeId one, NodeId other, bool silent = false) {
    apart_.insert({std::min(one, other), std::max(one, other)});
    std::erase_if(said_, [&](const Said& said) { return !reach(said.from, said.to); });
    const char* const why = silent ? "it is silent" : "it has left";
    at(one).node.node_gone(other, why, silent, at(one).now);
    at(other).node.node_gone(one, why, silent, at(other).now);
  }
  void meet(NodeId one, NodeId other) {
    apart_.erase({std::min(one, other), std::max(one, other)});
    at(one).node.node_came(other, at(one).now);
    at(other).node.node_came(one, at(other).now);
  }
  // Others know that node by another incarnation from now on. (What it knows stays.)
  void start_again(NodeId id) { sides_.at(id)->started += 10'000; }
  void pass(Time time) {
    for (auto& [id, side] : sides_) side->world.pass(time);
    settle();
  }
  // Introduces 1 of node 1 to 2 of node 2; what both are told.
  std::pair<FarReply, FarReply> link(std::uint64_t peer) {
    at(1).say(1, ask(RequestKind::introduce, 9, peer));
    settle();
    return {at(1).take<FarReply>(1), at(2).take<FarReply>(2)};
  }
  std::set<NodeId> full;  // nodes for which much waits
  // What has been said and not yet heard, of one kind.
  std::size_t said(node::FarKind kind) const {
    return static_cast<std::size_t>(std::ranges::count_if(said_, [&](const Said& said) {
      return node::split_message(said.message)->first == static_cast<std::uint16_t>(kind);
    }));
  }

 private:
  struct Said {
    NodeId from = 0;
    NodeId to = 0;
    std::vector<std::byte> message;
  };
  struct Side final : node::OtherNodes {
    Side(FarWorld& all, NodeId which, const node::NodeOptions& options)
        : far(all), id(which), started(1000u + which), world(options, this) {}
    NodeId self() const override { return id; }
    std::uint64_t incarnation() const override { return started; }
    std::uint64_t incarnation_of(NodeId node) const override {
      return far.reach(id, node) ? far.sides_.at(node)->started : 0;
    }
    std::vector<NodeId> there() const override {
      std::vector<NodeId> out;
      for (const auto& [node, side] : far.sides_) {
        if (node != id && far.reach(id, node)) out.push_back(node);
      }
      return out;
    }
    std::string reached_at(NodeId by) const override {
      return "127.0.0." + std::to_string(id) + " by " + std::to_string(by);
    }
    std::optional<node::Address> place_of(NodeId node) const override {
      return far.reach(id, node) ? std::optional{ClusterWorld::address_of(node)} : std::nullopt;
    }
    bool has_room(NodeId node) const override { return far.reach(id, node) && !far.full.contains(node); }
    void tell(NodeId node, std::vector<std::byte> message) override {
      if (far.reach(id, node)) far.said_.push_back({id, node, std::move(message)});
    }
    void random(std::span<std::byte> out) override {
      for (std::byte& byte : out) {
        far.random_ = far.random_ * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<std::byte>(far.random_ >> 56);
      }
    }
    std::vector<node::MemberReply> members() const override { return rows; }
    static std::vector<node::MemberReply> many() {
      std::vector<node::MemberReply> out(70);
      for (std::size_t i = 0; i < out.size(); ++i) out[i].id = static_cast<std::uint16_t>(i + 1);
      return out;
    }
    FarWorld& far;
    NodeId id;
    std::uint64_t started;  // its incarnation
    std::vector<node::MemberReply> rows = many();
    NodeWorld world;
  };
  bool reach(NodeId one, NodeId other) const {
    return sides_.contains(other) && !apart_.contains({std::min(one, other), std::max(one, other)});
  }

  std::map<NodeId, std::unique_ptr<Side>> sides_;
  std::set<std::pair<NodeId, NodeId>> apart_;
  std::deque<Said> said_;
  std::uint64_t random_ = 0;
};

struct TwoDaemons {
  explicit TwoDaemons(const node::NodeOptions& options = {}) : far(2, options) {
    one = far.attach(1, 1);
    two = far.attach(2, 2, 2000);
  }
  FarWorld far;
  std::uint64_t one = 0;
  std::uint64_t two = 0;
};

inline Request publish(std::uint64_t interface, std::string_view name,
                       std::uint32_t rights = Request::kEveryone) {
  Request out = ask(RequestKind::publish, 50, name, rights);
  out.ticket.interface = interface;
  return out;
}

}  // namespace hamlyn::test
