// A daemon's mind that other nodes talk to, of which one has the cluster's secret and has gone mad:
// handshakes that are right, out of order, played back, of any incarnation, and the inside of sealed packets,
// which is right or nearly, or noise. Whoever has no secret can do less: packets that were changed, cut, made
// up, or sent before.
//
// Besides not crashing: nodes come and go in turn, and only who is there is heard; no packet is longer than
// one may be, and none is answered by more than the table of members and what waits; the daemon always knows
// a moment to come at which it wants to be called; when all is silent, nobody is left.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "node/cluster/cluster.h"
#include "node/cluster/far.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::node;

Goal goals[] = {
    {"pairs that began", 200}, {"messages that were heard", 200}, {"members that were learnt", 200}};
Goal &came_goal = goals[0], &heard = goals[1], &learnt = goals[2];

constexpr NodeId kSelf = 1;
constexpr std::uint64_t kIncarnation = 10;
constexpr NodeId kRogues = 4;  // 2 to 5: what the mad node says it is

Address address_of(std::uint64_t id) {
  Address out;
  out.ip[10] = out.ip[11] = std::byte{0xFF};
  out.ip[12] = std::byte{10};
  out.ip[15] = static_cast<std::byte>(id);
  out.port = 7471;
  return out;
}

class Madness final : public ClusterEnvironment {
 public:
  explicit Madness(Input& input) : input_(input), cluster_(options(), *this, now_) {}

  void rage() {
    while (!input_.empty()) {
      sent_ = 0;
      step();
      ASSERT_LE(sent_, 64 + cluster_.rows().size()) << "packets for one";
    }
    for (int i = 0; i < 8; ++i) pass(Time{500});
    EXPECT_TRUE(there_.empty());
    EXPECT_TRUE(cluster_.alive().empty());
    learnt.times += cluster_.rows().size() - 1;
  }

 private:
  struct Pairing {  // what the mad node knows of its pair with the daemon, in the name of one node
    std::uint64_t incarnation = 1;
    std::array<std::byte, 24> asked{};
    Handshake challenge;  // the daemon's last
    Handshake hello;      // its own, that waits for a challenge
    PairKeys keys;
    bool asker = true;  // in that handshake
    std::uint64_t sequence = 0;
    std::uint64_t messages = 0;
  };

  ClusterOptions options() {
    secret_.fill(std::byte{7});
    ClusterOptions out;
    out.id = kSelf;
    out.incarnation = kIncarnation;
    out.secret = secret_;
    out.boot = pick(4) != 0;
    if (pick(2) == 0) out.join.push_back(address_of(2));
    return out;
  }

  void send(const Address& to, std::span<const std::byte> packet) override {
    ++sent_;
    ASSERT_LE(packet.size(), kMostPacket);
    if (record_.size() < 64) record_.emplace_back(packet.begin(), packet.end());
    const auto handshake = keys_.decode(packet);
    if (!handshake) return;
    Pairing& pairing = pairings_[static_cast<NodeId>(std::to_integer<unsigned>(to.ip[15]))];
    if (handshake->kind == HandshakeKind::challenge) pairing.challenge = *handshake;
    if (handshake->kind == HandshakeKind::hello) pairing.hello = *handshake;
  }
  void random(std::span<std::byte> out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(random_ = random_ * 29 + 7);
  }
  void came(NodeId node, std::uint64_t incarnation) override {
    ASSERT_TRUE(there_.insert(node).second) << "it was there";
    ASSERT_EQ(cluster_.incarnation_of(node), incarnation);
    ++came_goal.times;
  }
  void gone(NodeId node, const char* why, bool) override {
    ASSERT_NE(why, nullptr);
    ASSERT_EQ(there_.erase(node), 1u) << "it was not there";
  }
  void message(NodeId node, std::span<const std::byte> message) override {
    ASSERT_TRUE(there_.contains(node));
    ASSERT_LE(message.size(), kMostMessage);
    ++heard.times;
  }
  void say(const std::string&) override {}

  void step() {
    const auto id = static_cast<NodeId>(2 + pick(kRogues));
    Pairing& pairing = pairings_[id];
    switch (pick(10)) {
      case 0:
        return hello(id, pairing);
      case 1:
        return confirm(id, pairing);
      case 2:
        return answer(id, pairing);
      case 3:
        return receive(id, record_.empty() ? std::vector<std::byte>{} : record_[pick(record_.size())]);
      case 4:
        return pass(Time{static_cast<std::int64_t>(pick(500))});
      case 5:
        cluster_.tell(id, std::vector<std::byte>(1 + pick(kMostMessage)), now_);
        return;
      case 6:
        return meet(id, pairing);
      default:
        return sealed(id, pairing);
    }
  }

  void pass(Time time) {
    now_ += time;
    cluster_.tick(now_);
    ASSERT_GT(cluster_.deadline(), now_);
  }

  // As it is, or with something wrong.
  void receive(NodeId id, std::vector<std::byte> packet) {
    const std::uint64_t how = pick(12);
    if (how == 0) input_.spoil(std::span{packet});
    if (how == 1) packet.resize(pick(kMostPacket + 8));
    if (record_.size() < 64) record_.push_back(packet);
    cluster_.received(address_of(pick(16) == 0 ? pick(7) : id), packet, now_);
  }
  void say(NodeId id, const Handshake& handshake) {
    const HandshakeBytes whole = keys_.encode(handshake);
    receive(id, {whole.begin(), whole.end()});
  }
  Handshake of(NodeId id, const Pairing& pairing, HandshakeKind kind) {
    Handshake out;
    out.kind = kind;
    out.from = id;
    out.to = pick(6) == 0 ? static_cast<NodeId>(pick(3)) : kSelf;
    out.incarnation = pairing.incarnation;
    if (pick(16) == 0) out.version = static_cast<std::uint32_t>(pick(4));
    if (pick(16) == 0) out.structures = static_cast<std::uint32_t>(input_.number());
    return out;
  }

  void hello(NodeId id, Pairing& pairing) {
    if (pick(4) == 0) pairing.incarnation = input_.number();
    input_.fill(pairing.asked);
    Handshake out = of(id, pairing, HandshakeKind::hello);
    if (pick(16) == 0) out.from = kSelf;
    out.asked = pairing.asked;
    say(id, out);
  }

  void confirm(NodeId id, Pairing& pairing) {
    Handshake out = of(id, pairing, HandshakeKind::confirm);
    out.known = pick(8) == 0 ? input_.number() : cluster_.incarnation();
    out.asked = pairing.challenge.asked;
    out.challenged = pairing.challenge.challenged;
    if (pick(16) == 0) input_.spoil(out.challenged);
    pairing.keys =
        keys_.pair_keys(id, out.incarnation, kSelf, cluster_.incarnation(), out.asked, out.challenged);
    pairing.asker = true;
    pairing.sequence = pairing.messages = 0;
    say(id, out);
  }

  // To the daemon's own hello.
  void answer(NodeId id, Pairing& pairing) {
    const bool refuse = pick(4) == 0;
    Handshake out = of(id, pairing, refuse ? HandshakeKind::refusal : HandshakeKind::challenge);
    out.asked = pairing.hello.asked;
    if (refuse) {
      out.reason = static_cast<Reason>(1 + pick(4));
      out.known = pick(2) == 0 ? input_.number() : kIncarnation + pick(4);
    } else {
      input_.fill(out.challenged);
      pairing.keys =
          keys_.pair_keys(kSelf, cluster_.incarnation(), id, out.incarnation, out.asked, out.challenged);
      pairing.asker = false;
      pairing.sequence = pairing.messages = 0;
    }
    say(id, out);
  }

  // As a sound node does it, so that there is somebody to go mad.
  void meet(NodeId id, Pairing& pairing) {
    Handshake out;
    out.kind = HandshakeKind::hello;
    out.from = id;
    out.to = kSelf;
    out.incarnation = ++pairing.incarnation;
    input_.fill(out.asked);
    HandshakeBytes whole = keys_.encode(out);
    cluster_.received(address_of(id), whole, now_);
    if (pairing.challenge.asked != out.asked) return;
    out.kind = HandshakeKind::confirm;
    out.known = cluster_.incarnation();
    out.challenged = pairing.challenge.challenged;
    pairing.keys = keys_.pair_keys(id, out.incarnation, kSelf, out.known, out.asked, out.challenged);
    pairing.asker = true;
    pairing.sequence = pairing.messages = 0;
    whole = keys_.encode(out);
    cluster_.received(address_of(id), whole, now_);
  }

  void sealed(NodeId id, Pairing& pairing) {
    Plain plain;
    if (pick(4) == 0) plain.flags = static_cast<std::uint8_t>(pick(16));
    plain.taken = pick(4) == 0 ? input_.number() : pick(4);
    plain.first = pick(8) == 0 ? input_.number() : pairing.messages;
    plain.digest = pick(2) == 0 ? cluster_.digest() : input_.number();
    for (std::uint64_t i = pick(4); i > 0; --i) plain.messages.push_back(message());
    pairing.messages = plain.first + plain.messages.size();
    std::vector<std::byte> whole = encode(plain);
    if (pick(8) == 0) input_.spoil(std::span{whole});
    if (pick(16) == 0) whole.resize(pick(whole.size() + 4));
    if (const auto inside = decode_plain(whole)) {
      ASSERT_LE(inside->messages.size(), whole.size());
      for (const auto& each : inside->messages) ASSERT_LE(each.size(), kMostMessage);
    }
    SealedHeader header{id, kSelf, ++pairing.sequence};
    if (pick(16) == 0) header.sequence = input_.number();
    if (pick(32) == 0) header.to = static_cast<NodeId>(pick(3));
    const Secret& key = pairing.asker ? pairing.keys.seal_asker : pairing.keys.seal_answerer;
    receive(id, seal(key, header, whole));
  }

  std::vector<std::byte> message() {
    std::vector<std::byte> out;
    switch (pick(4)) {
      case 0: {
        std::vector<Member> members(1 + pick(kMembersInMessage));
        for (Member& member : members) {
          member.id = static_cast<NodeId>(pick(8) == 0 ? input_.number() : 1 + pick(8));
          member.left = pick(4) == 0;
          member.incarnation = pick(8) == 0 ? input_.number() : 1 + pick(12);
          member.address = address_of(pick(12));
        }
        out = encode_members(members);
        break;
      }
      case 1:
        out = {std::byte{static_cast<std::uint8_t>(MessageKind::want_members)}, std::byte{0}};
        break;
      case 2:
        out = encode(FarCancel{pick(9)});
        break;
      default: {
        const auto bytes = input_.bytes(pick(64));
        out.assign(bytes.begin(), bytes.end());
      }
    }
    if (pick(8) == 0) input_.spoil(std::span{out});
    return out;
  }

  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }

  Input& input_;
  Time now_{1'000'000};
  Secret secret_{};
  std::uint64_t random_ = 1;
  std::uint64_t sent_ = 0;
  std::set<NodeId> there_;
  std::map<NodeId, Pairing> pairings_;
  std::vector<std::vector<std::byte>> record_;  // some of what was said, to be played back
  Cluster cluster_;
  ClusterKeys keys_{secret_};
};

}  // namespace

const RandomRuns random_runs{.runs = 300, .bytes = 3000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  Madness{input}.rage();
}

}  // namespace hamlyn::fuzz
