#pragma once
// Nodes with clerks: minds of daemons, the service that decides how names are looked for, and clerks that
// read each other's memory.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "segment/name_service.h"
#include "segment/probe.h"
#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn::internal_::segment {

using node::NodeId;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;
using test::ask;
using test::error_of;
using test::kWait;
using test::NodeWorld;

constexpr std::uint32_t kCached = Request::kCached;

class Sites {
 public:
  struct Site final : node::OtherNodes, NameService::Environment {
    Site(Sites& all, NodeId which, std::uint32_t after)
        : sites(all), id(which), world(options(which), this), service(world.node, *this, {.after = after}) {
      world.node.set_clerk(service);
    }
    static node::NodeOptions options(NodeId id) {
      node::NodeOptions out;
      out.first_number = std::uint64_t{id} << node::kNodeShift | 100;
      return out;
    }

    NodeId self() const override { return id; }
    std::uint64_t incarnation() const override { return 1000u + id; }
    std::uint64_t incarnation_of(NodeId node) const override {
      return sites.gone.contains(node) || !sites.all.contains(node) ? 0 : 1000u + node;
    }
    std::vector<NodeId> there() const override {
      std::vector<NodeId> out;
      for (const auto& [node, site] : sites.all) {
        if (node != id && !sites.gone.contains(node)) out.push_back(node);
      }
      return out;
    }
    std::string reached_at(NodeId) const override { return "127.0.0.1"; }
    std::optional<node::Address> place_of(NodeId node) const override {
      return test::ClusterWorld::address_of(node);
    }
    bool has_room(NodeId) const override { return true; }
    void tell(NodeId node, std::vector<std::byte> message) override {
      ++said[node::split_message(message)->first];
      sites.said.push_back({id, node, std::move(message)});
    }
    void random(std::span<std::byte> out) override {
      for (std::byte& each : out) each = std::byte{5};
    }
    std::vector<node::MemberReply> members() const override { return {}; }

    bool start() override {
      ++starts;
      return startable;
    }
    bool say(const ClerkMessage& message) override {
      if (message.kind == ClerkKind::read && deaf) return false;
      sites.orders.push_back({id, message});
      return true;
    }
    std::span<std::byte> make_memory(std::size_t bytes) override {
      memories.push_back(std::make_unique<std::vector<std::uint64_t>>(bytes / 8));
      return std::as_writable_bytes(std::span{*memories.back()});
    }
    std::int64_t now_ns() override { return sites.now; }

    unsigned told(node::FarKind kind) { return said[static_cast<std::uint16_t>(kind)]; }
    void hears(const ClerkMessage& message) { service.received(message, world.now); }

    Sites& sites;
    const NodeId id;
    NodeWorld world;
    NameService service;
    std::map<std::uint16_t, unsigned> said;
    int starts = 0;
    bool startable = true;
    bool deaf = false;
    std::vector<std::unique_ptr<std::vector<std::uint64_t>>> memories;
    const std::vector<std::uint64_t>* shown = nullptr;  // what its clerk lets others read
    std::uint64_t reads = 0;                            // buckets that its clerk has read
  };

  explicit Sites(NodeId count, std::uint32_t after = 1) {
    for (NodeId id = 1; id <= count; ++id) all.emplace(id, std::make_unique<Site>(*this, id, after));
    for (NodeId id = 1; id <= count; ++id) {
      for (std::uint64_t connection = 1; connection <= 2; ++connection)
        at(id).world.attach(connection, 1000, 1000);
      at(id).world.attach(3, 2000, 2000);
    }
  }

  Site& at(NodeId id) { return *all.at(id); }

  void publish(NodeId id, const std::string& name, std::uint64_t key, std::uint64_t connection = 1) {
    Request request = ask(RequestKind::publish, 1, name);
    request.ticket.key = key;
    request.ticket.interface = std::uint64_t{id} << node::kNodeShift | 100;
    at(id).world.say(connection, request);
    EXPECT_EQ(last(id, connection).kind, ReplyKind::published);
  }
  Reply look(NodeId id, const std::string& name, std::uint32_t flags = 0, NodeId hint = 0,
             std::uint64_t connection = 2) {
    Request request = ask(RequestKind::lookup, 7, name, flags);
    request.number = hint;
    at(id).world.say(connection, request);
    settle();
    return last(id, connection);
  }
  // The last that a process was told, if anything.
  Reply last(NodeId id, std::uint64_t connection) {
    Reply out;
    while (!at(id).world.quiet(connection)) {
      const Reply next = at(id).world.reply(connection);
      if (next.kind != ReplyKind::open_fabric) out = next;
    }
    return out;
  }
  // Has node `id` read `other`'s registry from now on.
  void warm(NodeId id, NodeId other) {
    publish(other, "warm." + std::to_string(other), 1);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(look(id, "warm." + std::to_string(other)).kind, ReplyKind::found);
      now += 2'000'000'000;
    }
    EXPECT_NE(at(id).reads, 0u);
  }

  void settle() {
    for (;;) {
      if (!orders.empty()) {
        const auto [id, message] = orders.front();
        orders.pop_front();
        obey(at(id), message);
      } else if (!said.empty()) {
        const Said next = said.front();
        said.pop_front();
        now += message_cost;
        if (!gone.contains(next.from) && !gone.contains(next.to))
          at(next.to).world.node.node_said(next.from, next.message, at(next.to).world.now);
      } else {
        return;
      }
    }
  }

  std::map<NodeId, std::unique_ptr<Site>> all;
  std::set<NodeId> gone;
  std::int64_t now = 5'000'000'000;
  std::int64_t message_cost = 50'000;
  std::int64_t read_cost = 10'000;
  std::function<void(ClerkMessage&)> twist;  // what a clerk says
  bool stuck = false;                        // clerks read nothing

 private:
  struct Said {
    NodeId from = 0;
    NodeId to = 0;
    std::vector<std::byte> message;
  };

  void obey(Site& site, const ClerkMessage& order) {
    ClerkMessage answer = order;
    if (order.kind == ClerkKind::table) {
      site.shown = order.buckets == 0 ? nullptr : site.memories.back().get();
      answer.kind = ClerkKind::ready;
      answer.registry = {.interface = std::uint64_t{site.id} << node::kNodeShift | 9,
                         .bound = registry_bytes(order.buckets)};
      if (order.buckets != 0) site.hears(answer);
    }
    if (order.kind != ClerkKind::read || stuck) return;
    const Site& target = at(node::node_of(order.registry.interface));
    Probe probe{{}, {order.table, order.buckets}, name_in(order), order.reads};
    auto says = target.shown == nullptr ? Probe::Says::wrong : Probe::Says::more;
    while (says == Probe::Says::more) {
      std::array<std::byte, kBucketBytes> bytes{};
      const auto memory = std::as_bytes(std::span{*target.shown});
      const std::size_t from = bucket_offset(probe.bucket());
      if (from + kBucketBytes <= memory.size()) std::memcpy(bytes.data(), memory.data() + from, kBucketBytes);
      says = probe.take(bytes);
      ++site.reads;
      now += read_cost;
    }
    answer.kind = says == Probe::Says::found    ? ClerkKind::found
                  : says == Probe::Says::absent ? ClerkKind::absent
                  : says == Probe::Says::wrong  ? ClerkKind::lost
                                                : ClerkKind::unknown;
    answer.reads = probe.reads();
    if (says == Probe::Says::found) put_what(answer, probe.record());
    if (twist) twist(answer);
    site.hears(answer);
  }

  friend struct Site;
  std::deque<Said> said;
  std::deque<std::pair<NodeId, ClerkMessage>> orders;
};

}  // namespace hamlyn::internal_::segment
