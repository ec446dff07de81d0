// Nodes with clerks: minds of daemons, what decides how names are looked for, and clerks that read each
// other's memory.
#include "segment/name_service.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "segment/probe.h"
#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn::internal_::segment {
namespace {

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

TEST(NameService, ReadsWhatAnotherNodeHasWithoutAskingIt) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 77);
  const unsigned asked = sites.at(1).told(node::FarKind::lookup);
  const unsigned found = sites.at(2).told(node::FarKind::found);
  const Reply reply = sites.look(1, "prices", kCached);
  EXPECT_EQ(reply.kind, ReplyKind::found);
  EXPECT_EQ(reply.ticket.key, 77u);
  EXPECT_EQ(reply.uid, 1000u);
  EXPECT_EQ(node::node_of(reply.peer), 2u);
  EXPECT_EQ(sites.at(1).told(node::FarKind::lookup), asked);
  EXPECT_EQ(sites.at(2).told(node::FarKind::found), found);
}

TEST(NameService, NoClerkIsStartedForAFewNames) {
  Sites sites{2, 4};
  sites.publish(2, "prices", 77);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sites.look(1, "prices", kCached).kind, ReplyKind::found);
    EXPECT_EQ(sites.at(1).starts, 0);
  }
  sites.look(1, "prices", kCached);
  EXPECT_EQ(sites.at(1).starts, 1);
  EXPECT_EQ(sites.at(2).starts, 1) << "asked for its registry, it has a clerk, too";
  Sites never{2, 0};
  never.publish(2, "prices", 77);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(never.look(1, "prices", kCached).kind, ReplyKind::found);
  EXPECT_EQ(never.at(1).starts, 0);
}

TEST(NameService, WhatWasReadLatelyIsNotReadAgain) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 77);
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 77u);
  const std::uint64_t reads = sites.at(1).reads;
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 77u);
  EXPECT_EQ(sites.at(1).reads, reads);
  EXPECT_EQ(sites.look(1, "prices").ticket.key, 77u);
  EXPECT_GT(sites.at(1).reads + sites.at(1).told(node::FarKind::lookup), reads);
}

TEST(NameService, AChangedRegistryPurgesTheCacheAndRenewsWhatIsUsed) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "used", 1);
  sites.publish(2, "withdrawn", 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(sites.look(1, "used", kCached).ticket.key, 1u);
    EXPECT_EQ(sites.look(1, "withdrawn", kCached).ticket.key, 2u);
  }
  sites.publish(2, "used", 3);
  sites.at(2).world.say(1, ask(RequestKind::withdraw, 2, "withdrawn"));
  EXPECT_EQ(sites.look(1, "used", kCached).ticket.key, 1u) << "until the clerk has looked";
  ClerkMessage changed;
  changed.kind = ClerkKind::changed;
  changed.node = 2;
  sites.at(1).hears(changed);
  sites.settle();
  const std::uint64_t reads = sites.at(1).reads;
  EXPECT_EQ(sites.look(1, "used", kCached).ticket.key, 3u);
  EXPECT_EQ(sites.at(1).reads, reads) << "read again already";
  EXPECT_EQ(error_of(sites.look(1, "withdrawn", kCached)), ErrorCode::name_unknown);
}

TEST(NameService, AForcedLookUpSeesWhatWasChangedJustNow) {
  Sites sites{2};
  sites.warm(1, 2);
  for (std::uint64_t key = 1; key < 50; ++key) {
    sites.publish(2, "prices", key);
    EXPECT_EQ(sites.look(1, "prices").ticket.key, key);
  }
  sites.at(2).world.say(1, ask(RequestKind::withdraw, 2, "prices"));
  EXPECT_EQ(error_of(sites.look(1, "prices")), ErrorCode::name_unknown);
}

TEST(NameService, AProcessThatHasGoneIsInNoCache) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  EXPECT_EQ(sites.look(1, "prices", kCached).kind, ReplyKind::found);
  // Node 2 says that the process's end of a link has ended.
  const std::uint64_t interface = std::uint64_t{2} << node::kNodeShift | 100;
  const std::uint64_t mine = std::uint64_t{1} << node::kNodeShift | 100;
  sites.at(1).world.node.node_said(2, node::encode(node::FarEnded{5, interface, mine, LinkReason::ended}),
                                   sites.at(1).world.now);
  sites.at(2).world.node.disconnected(1);
  EXPECT_EQ(error_of(sites.look(1, "prices", kCached)), ErrorCode::name_unknown);
}

TEST(NameService, RightsHoldForWhatIsReadAndForWhatIsCached) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "private", 1);
  EXPECT_EQ(error_of(sites.look(1, "private", kCached, 0, 3)), ErrorCode::not_permitted);
  EXPECT_EQ(sites.look(1, "private", kCached).kind, ReplyKind::found);
  EXPECT_EQ(error_of(sites.look(1, "private", kCached, 0, 3)), ErrorCode::not_permitted);
}

TEST(NameService, WhoWaitsIsToldWhenTheNameComes) {
  Sites sites{3};
  sites.warm(1, 2);
  sites.warm(1, 3);
  for (const NodeId hint : {NodeId{0}, NodeId{2}, NodeId{3}}) {
    const std::string name = "late." + std::to_string(hint);
    EXPECT_EQ(sites.look(1, name, kWait, hint).kind, ReplyKind{});
    sites.publish(3, name, 9);
    sites.settle();
    EXPECT_EQ(sites.last(1, 2).ticket.key, 9u) << hint;
  }
}

TEST(NameService, AHintIsLookedAtFirstAndMayBeWrong) {
  Sites sites{3};
  sites.warm(1, 2);
  sites.warm(1, 3);
  sites.publish(2, "prices", 22);
  sites.publish(3, "prices", 33);
  EXPECT_EQ(sites.look(1, "prices", 0, 3).ticket.key, 33u);
  EXPECT_EQ(sites.look(1, "prices", 0, 2).ticket.key, 22u);
  EXPECT_EQ(sites.look(1, "prices", kCached, 3).ticket.key, 33u) << "not what the cache has of the other";
  sites.publish(2, "only", 2);
  EXPECT_EQ(sites.look(1, "only", kCached, 3).ticket.key, 2u);
  EXPECT_EQ(sites.look(1, "only", 0, 77).ticket.key, 2u) << "of a node that there is not";
  EXPECT_EQ(error_of(sites.look(1, "nowhere", kCached, 3)), ErrorCode::name_unknown);
}

TEST(NameService, TheCheaperWayIsTaken) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  const auto look = [&](int times) {
    const unsigned before = sites.at(1).told(node::FarKind::lookup);
    for (int i = 0; i < times; ++i) {
      sites.now += 2'000'000'000;
      EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
    }
    return sites.at(1).told(node::FarKind::lookup) - before;
  };
  EXPECT_LE(look(500), 9u);
  sites.read_cost = 1'000'000;
  look(1000);
  EXPECT_GE(look(500), 490u);
  sites.read_cost = 1'000;
  look(5000);
  EXPECT_LE(look(500), 9u);
}

TEST(NameService, ARegistryGrowsWithItsNames) {
  Sites sites{2};
  sites.warm(1, 2);
  for (int i = 0; i < 500; ++i)
    sites.publish(2, "name" + std::to_string(i), static_cast<std::uint64_t>(i) + 1);
  sites.settle();
  EXPECT_GT(sites.at(2).memories.size(), 2u);
  const std::uint64_t reads = sites.at(1).reads;
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(sites.look(1, "name" + std::to_string(i)).ticket.key, static_cast<std::uint64_t>(i) + 1);
  EXPECT_GE(sites.at(1).reads, reads + 490);
}

// Until its clerk shows the new table, others read the one before, which says nothing.
TEST(NameService, ATableThatWasLeftBehindMisleadsNobody) {
  Sites sites{2};
  sites.warm(1, 2);
  const auto* const before = sites.at(2).shown;
  for (int i = 0; i < 100; ++i) sites.publish(2, "name" + std::to_string(i), 5);
  EXPECT_EQ(sites.at(2).shown, before) << "nothing has been settled";
  EXPECT_EQ(sites.look(1, "name99").ticket.key, 5u);
  EXPECT_EQ(sites.look(1, "name0").ticket.key, 5u);
}

TEST(NameService, AClerkThatEndsLeavesNobodyWaiting) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.at(1).world.say(2, ask(RequestKind::lookup, 7, "prices"));
  sites.at(1).service.ended(sites.at(1).world.now);
  EXPECT_EQ(sites.at(1).service.deadline(), std::numeric_limits<std::int64_t>::max());
  sites.settle();
  EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::found) << "by asking";
  EXPECT_EQ(sites.at(1).starts, 1);
  sites.now += 2'000'000'000;
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  EXPECT_EQ(sites.at(1).starts, 2);
}

// Nobody looks for changes any more, and the next clerk begins with what it reads.
TEST(NameService, AClerkThatEndsTakesWhatItHasReadWithIt) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 1u);
  sites.at(1).service.ended(sites.at(1).world.now);
  sites.publish(2, "prices", 2);
  EXPECT_EQ(sites.look(1, "prices", kCached).ticket.key, 2u);
}

TEST(NameService, AClerkThatNeverLastsIsStartedLessAndLessOften) {
  Sites sites{2};
  sites.warm(1, 2);
  auto& site = sites.at(1);
  const auto starts_in = [&](std::int64_t seconds) {
    const int before = site.starts;
    for (std::int64_t i = 0; i < seconds * 8; ++i) {
      EXPECT_EQ(sites.look(1, "warm.2").kind, ReplyKind::found) << "by asking";
      sites.now += 125'000'000;
    }
    return site.starts - before;
  };
  site.service.ended(site.world.now);  // it had lasted
  EXPECT_EQ(starts_in(1), 1);
  site.service.ended(site.world.now);
  site.startable = false;
  const int in_vain = starts_in(120);
  EXPECT_GE(in_vain, 6);
  EXPECT_LE(in_vain, 10);
  site.startable = true;
  EXPECT_EQ(starts_in(60), 1);
  site.service.ended(site.world.now);  // that one has lasted
  EXPECT_EQ(starts_in(1), 1);
}

TEST(NameService, WhatIsReadForTooLongIsAskedForAndAClerkThatIsStuckIsEnded) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  auto& service = sites.at(1).service;
  const std::int64_t start = sites.now;
  sites.stuck = true;
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind{});
  EXPECT_TRUE(service.tick(sites.at(1).world.now));
  sites.now = service.deadline();
  EXPECT_EQ(sites.now, start + 500'000'000);
  EXPECT_TRUE(service.tick(sites.at(1).world.now));
  sites.settle();
  EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::found);
  sites.now = service.deadline();
  EXPECT_EQ(sites.now, start + 2'000'000'000);
  EXPECT_FALSE(service.tick(sites.at(1).world.now));
  service.ended(sites.at(1).world.now);
  EXPECT_EQ(service.deadline(), std::numeric_limits<std::int64_t>::max());
}

// What the clerk has said meanwhile stands unread, or it was stopped together with its daemon.
TEST(NameService, ADaemonThatWasStoppedEndsNoClerkForIt) {
  for (const std::int64_t begin : {0, 400'000'000, 1'900'000'000}) {
    Sites sites{2};
    sites.warm(1, 2);
    sites.publish(2, "prices", 1);
    auto& service = sites.at(1).service;
    const node::Time time = sites.at(1).world.now;
    const std::int64_t start = sites.now;
    sites.stuck = true;
    EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind{});
    if (begin >= 500'000'000) {
      sites.now = service.deadline();
      EXPECT_TRUE(service.tick(time));
    }
    sites.now = start + begin + 3'000'000'000;
    EXPECT_TRUE(service.tick(time)) << begin;
    EXPECT_EQ(service.deadline(), sites.now + 500'000'000) << "time to say what it has read";
    sites.settle();
    EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::found) << "by asking";
    // One that is stuck is ended all the same.
    sites.now = service.deadline();
    EXPECT_FALSE(service.tick(time)) << begin;
  }
}

TEST(NameService, ARegistryThatIsLostIsAskedForAgain) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.at(2).shown = nullptr;  // its clerk has died; nobody knows yet
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found) << "by asking";
  sites.at(2).service.ended(sites.at(2).world.now);
  for (int i = 0; i < 4; ++i) {
    sites.now += 2'000'000'000;
    EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  }
  EXPECT_NE(sites.at(2).shown, nullptr);
  EXPECT_EQ(sites.at(2).starts, 2);
}

TEST(NameService, AClerkThatIsKnownToHaveGoneIsReplacedThoughNobodySaysSo) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.twist = [](ClerkMessage& says) { says.kind = ClerkKind::unknown; };  // it gets no link
  const std::uint64_t its_clerk = std::uint64_t{2} << node::kNodeShift | 9;
  const std::uint64_t mine = std::uint64_t{1} << node::kNodeShift | 999;  // that has gone, too
  sites.at(1).world.node.node_said(2, node::encode(node::FarEnded{5, its_clerk, mine, LinkReason::ended}),
                                   sites.at(1).world.now);
  const unsigned before = sites.at(1).told(node::FarKind::want_registry);
  sites.now += 2'000'000'000;
  EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  EXPECT_EQ(sites.at(1).told(node::FarKind::want_registry), before + 1);
}

TEST(NameService, ARegistryThatCannotBeReadIsLeftAloneForAWhile) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.twist = [](ClerkMessage& says) { says.kind = ClerkKind::unknown; };
  const std::uint64_t before = sites.at(1).reads;
  sites.message_cost = 0;
  sites.read_cost = 0;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
  EXPECT_LE(sites.at(1).reads, before + 1);
}

TEST(NameService, ANodeThatGoesTakesItsNamesAlong) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  EXPECT_EQ(sites.look(1, "prices", kCached).kind, ReplyKind::found);
  sites.at(1).world.say(2, ask(RequestKind::lookup, 7, "prices"));  // its answer is under way
  sites.gone.insert(2);
  sites.at(1).world.node.node_gone(2, "it is silent", sites.at(1).world.now);
  EXPECT_EQ(error_of(sites.last(1, 2)), ErrorCode::name_unknown);
  sites.settle();
  EXPECT_EQ(error_of(sites.look(1, "prices", kCached)), ErrorCode::name_unknown);
}

TEST(NameService, AProcessThatGoesWhileItsNameIsReadIsForgotten) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.at(1).world.say(2, ask(RequestKind::lookup, 7, "prices"));
  sites.at(1).world.say(2, ask(RequestKind::cancel, 7));
  EXPECT_EQ(sites.last(1, 2).kind, ReplyKind::cancelled);
  sites.settle();
  EXPECT_TRUE(sites.at(1).world.quiet(2));
  EXPECT_EQ(sites.at(1).told(node::FarKind::cancel), 0u) << "it was never asked";
}

// Whatever a hostile node shows: no answer is of another node, and asking always helps.
TEST(NameService, BelievesAHostileNodeNothingAboutOthers) {
  Sites sites{2};
  sites.warm(1, 2);
  sites.publish(2, "prices", 1);
  sites.twist = [](ClerkMessage& says) { says.interface = std::uint64_t{1} << node::kNodeShift | 100; };
  const Reply reply = sites.look(1, "prices");
  EXPECT_EQ(reply.kind, ReplyKind::found);
  EXPECT_EQ(node::node_of(reply.peer), 2u);
  sites.twist = nullptr;
  node::FarRegistry forged{{.interface = std::uint64_t{1} << node::kNodeShift | 9, .bound = 1u << 20}, 1, 16};
  const auto tell = [&] {
    sites.at(1).world.node.node_said(2, node::encode(forged), sites.at(1).world.now);
    EXPECT_EQ(sites.look(1, "prices").kind, ReplyKind::found);
    EXPECT_EQ(sites.look(1, "other").kind, ReplyKind::refused);
  };
  tell();  // a registry of somebody else's
  forged.ticket.interface = std::uint64_t{2} << node::kNodeShift | 9;
  for (const std::uint32_t buckets : {0u, 3u, 8u, 17u, 1u << 31, ~0u}) {
    forged.buckets = buckets;
    tell();
  }
  forged.buckets = 1 << 15;  // more than its memory
  tell();
}

TEST(NameService, ThereIsAMostOfNamesWhateverTheConfigurationSays) {
  node::NodeOptions options;
  options.quotas.names = options.total.names = 1 << 20;
  NodeWorld world{options};
  world.attach(1);
  const auto publish = [&](std::size_t number) {
    world.say(1, ask(RequestKind::publish, 1, std::to_string(number)));
    return world.reply(1);
  };
  std::size_t number = 0;
  while (number < node::kMostNames && publish(number).kind == ReplyKind::published) ++number;
  EXPECT_EQ(error_of(publish(number)), ErrorCode::node_full);
  EXPECT_GT(number, node::kMostNames / 4);
  world.say(1, ask(RequestKind::withdraw, 1, "0"));
  world.reply(1);
  EXPECT_EQ(publish(number).kind, ReplyKind::published);
}

}  // namespace
}  // namespace hamlyn::internal_::segment
