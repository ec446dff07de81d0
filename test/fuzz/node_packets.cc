// Packets between daemons that no daemon would send: changed, cut, swapped, made up, also with the secret and
// sealed by a node of the cluster that has gone mad.
#include <gtest/gtest.h>

#include "node/far.h"
#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn {
namespace {

using node::NodeId;
using node::Time;
using test::ClusterWorld;

TEST(Fuzz, PacketsBetweenDaemonsAreTotal) {
  ClusterWorld world{20261122};
  world.recording = true;
  world.start(1, true, {});
  for (NodeId id = 2; id <= 4; ++id) world.start(id, false, {1});
  ASSERT_TRUE(world.run_until([&] { return world.whole(); }, Time{5000}));
  world.recording = false;
  auto& random = world.random;
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  const node::ClusterKeys keys{world.secret};
  for (int i = 0; i < 20000; ++i) {
    const auto& from = world.record[pick(world.record.size())];
    std::vector<std::byte> bytes = from.bytes;
    switch (pick(5)) {
      case 0:
        bytes.resize(pick(node::kMostPacket + 8));
        break;
      case 1:
        for (std::uint64_t flips = 1 + pick(4); flips > 0; --flips)
          bytes[pick(bytes.size())] ^= static_cast<std::byte>(1 + pick(255));
        break;
      case 2:  // a handshake of somebody who has the secret
      case 3: {
        node::Handshake made;
        made.kind = static_cast<node::HandshakeKind>(1 + pick(4));
        made.version = pick(8) == 0 ? 2 : 1;
        made.from = static_cast<NodeId>(1 + pick(6));
        made.to = static_cast<NodeId>(pick(3));
        made.incarnation = 995 + pick(12);
        made.known = 995 + pick(12);
        if (made.kind == node::HandshakeKind::refusal) made.reason = static_cast<node::Reason>(1 + pick(4));
        if (const auto seen = keys.decode(from.bytes); seen && pick(2) == 0) {
          made.asked = seen->asked;
          made.challenged = seen->challenged;
        }
        const auto whole = keys.encode(made);
        bytes.assign(whole.begin(), whole.end());
        break;
      }
      case 4:  // what was said before, to whomever
        break;
    }
    const auto to = static_cast<NodeId>(1 + pick(4));
    if (world.hosts.at(to)->cluster) world.cluster(to).received(from.from, bytes, world.now);
    if (i % 100 == 0) world.run(Time{5});
  }
  EXPECT_TRUE(world.run_until([&] { return world.whole(); }, Time{30000})) << "and they find together again";
}

TEST(Fuzz, TheInsideOfASealedPacketIsTotal) {
  std::mt19937_64 random{7};
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  node::Plain plain;
  plain.messages = {std::vector<std::byte>(40), std::vector<std::byte>(2), std::vector<std::byte>(512)};
  const auto whole = node::encode(plain);
  std::uint64_t good = 0;
  for (int i = 0; i < 30000; ++i) {
    auto bytes = whole;
    for (std::uint64_t flips = pick(4); flips > 0; --flips)
      bytes[pick(pick(2) == 0 ? 40 : bytes.size())] = static_cast<std::byte>(random());
    if (pick(4) == 0) bytes.resize(pick(bytes.size()));
    const auto got = node::decode_plain(bytes);
    if (!got) continue;
    ++good;
    EXPECT_LE(got->messages.size(), 3u + 600u);
    for (const auto& message : got->messages) EXPECT_LE(message.size(), node::kMostMessage);
  }
  EXPECT_GT(good, 1000u);
}

// A node that has the secret and says anything to the minds of the others.
TEST(Fuzz, MessagesOfAnotherDaemonAreTotal) {
  struct Others final : node::OtherNodes {
    NodeId self() const override { return 1; }
    std::uint64_t incarnation() const override { return 1; }
    std::uint64_t incarnation_of(NodeId node) const override { return node == 2 ? 2 : 0; }
    std::vector<NodeId> there() const override { return {2}; }
    std::string reached_at(NodeId) const override { return "127.0.0.1"; }
    std::optional<node::Address> place_of(NodeId node) const override {
      return node == 2 ? std::optional{node::Address{}} : std::nullopt;
    }
    bool has_room(NodeId) const override { return room; }
    void tell(NodeId, std::vector<std::byte> message) override {
      EXPECT_LE(message.size(), node::kMostMessage);
    }
    void random(std::span<std::byte> out) override {
      for (std::byte& byte : out) byte = static_cast<std::byte>(source());
    }
    std::vector<node::MemberReply> members() const override { return {}; }
    std::mt19937 source{5};
    bool room = true;
  };
  std::mt19937_64 random{11};
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  Others others;
  node::NodeOptions options;
  options.first_number = std::uint64_t{1} << node::kNodeShift | 1;
  test::NodeWorld world{options, &others};
  std::vector<std::uint64_t> interfaces;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    interfaces.push_back(world.attach(id).interface);
    node::Request address = test::ask(node::RequestKind::fabric_address, 0, "somewhere");
    std::memcpy(address.engine, "efa", 3);
    if (id != 4) world.say(id, address);
    world.say(id, test::ask(node::RequestKind::lookup, 1, "name", test::kWait));
  }
  const auto number = [&] { return pick(8) == 0 ? random() : interfaces[pick(4)]; };
  const auto theirs = [&] { return std::uint64_t{pick(9) == 0 ? 3u : 2u} << node::kNodeShift | pick(4); };
  for (int i = 0; i < 20000; ++i) {
    node::FarEnd end;
    std::memcpy(end.engine, pick(4) == 0 ? "net" : "efa", 3);
    end.address.resize(1 + pick(64));
    Ticket ticket;
    ticket.bound = 1;
    others.room = pick(4) != 0;
    std::vector<std::byte> message;
    switch (pick(7)) {
      case 0:
        message = node::encode(node::FarIntroduce{pick(50), theirs(), number(), pick(20), {}, end});
        break;
      case 1:
        message = node::encode(node::FarIntroduced{pick(50), end});
        break;
      case 2:
        message = node::encode(node::FarRefused{pick(50), static_cast<std::uint32_t>(pick(30)), "why"});
        break;
      case 3:
        message = node::encode(node::FarEnded{pick(20), theirs(), number(), pick(2) == 0});
        break;
      case 4:
        message = node::encode(
            node::FarLookup{pick(50), 1000, 1000, pick(2) == 0, pick(2) == 0 ? "name" : "other"});
        break;
      case 5:
        message = node::encode(node::FarFound{pick(50), theirs(), 1, 2, 3, ticket});
        break;
      case 6:
        message = node::encode(node::FarCancel{pick(50)});
        break;
    }
    if (pick(4) == 0) message[pick(message.size())] ^= static_cast<std::byte>(random());
    if (pick(16) == 0) message.resize(pick(message.size()));
    world.node.node_said(2, message, world.now);
    const std::uint64_t asker = 1 + pick(4);
    if (pick(4) == 0)
      world.say(asker,
                test::ask(node::RequestKind::introduce, 1000 + static_cast<std::uint64_t>(i), theirs()));
    if (pick(4) == 0) world.say(asker, test::ask(node::RequestKind::link_ended, 0, pick(20)));
    if (pick(64) == 0) world.node.node_gone(2, "tired", world.now);
    if (pick(64) == 0) world.node.node_came(2, world.now);
    if (pick(16) == 0) world.pass(Time{static_cast<int>(pick(2000))});
    for (std::uint64_t id = 1; id <= 4; ++id) world.sent[id].clear();
  }
  EXPECT_FALSE(world.called_after_drop);
  for (std::uint64_t id = 1; id <= 4; ++id) world.node.disconnected(id);
  EXPECT_TRUE(world.node.empty());
}

}  // namespace
}  // namespace hamlyn
