// A node's mind that another node with the secret tells anything: introductions, ends of links, look-ups,
// answers that nobody asked for, registries; while its own processes ask for things of that node, and its
// clerk reads names there.
//
// Besides not crashing: no message to another node is too long, what a process is told of an end of its link
// is well formed, nothing is sent to a connection that was dropped, nothing is answered by more than a few
// messages, and when all processes have gone nothing of them is left.
#include <gtest/gtest.h>

#include "node/cluster/far.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"
#include "test/support/node_world.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::node;

Goal goals[] = {{"links with processes of other nodes", 200},
                {"names that were found", 50},
                {"registries that were told", 50}};
Goal &linked = goals[0], &found = goals[1], &registries = goals[2];

constexpr NodeId kOther = 2;
constexpr std::uint64_t kProcesses = 4;

struct Others final : OtherNodes {
  NodeId self() const override { return 1; }
  std::uint64_t incarnation() const override { return 1; }
  std::uint64_t incarnation_of(NodeId node) const override { return here && node == kOther ? 2 : 0; }
  std::vector<NodeId> there() const override { return here ? std::vector{kOther} : std::vector<NodeId>{}; }
  std::string reached_at(NodeId) const override { return "127.0.0.1"; }
  std::optional<Address> place_of(NodeId node) const override {
    return here && node == kOther ? std::optional{Address{}} : std::nullopt;
  }
  bool has_room(NodeId) const override { return room; }
  void tell(NodeId, std::vector<std::byte> message) override {
    EXPECT_LE(message.size(), kMostMessage);
    ++told;
  }
  void random(std::span<std::byte> out) override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(last = last * 29 + 7);
  }
  std::vector<MemberReply> members() const override { return {}; }

  bool here = true;
  bool room = true;
  std::uint64_t told = 0;
  std::uint64_t last = 1;
};

struct Reader final : Clerk {
  void changed(std::string_view) override {}
  const RegisteredName* cached(std::string_view, NodeId) override { return remembers ? &known : nullptr; }
  bool read(std::uint64_t serial, NodeId, std::string_view) override {
    if (reads) reading.push_back(serial);
    return reads;
  }
  void asked(std::uint64_t, NodeId) override {}
  void answered(std::uint64_t, NodeId) override {}
  void registry_wanted(NodeId, std::uint32_t) override {}
  void registry_told(NodeId, const FarRegistry&) override { ++registries.times; }
  void node_gone(NodeId) override { reading.clear(); }
  void interface_gone(std::uint64_t) override {}

  bool reads = false, remembers = false;
  RegisteredName known;
  std::vector<std::uint64_t> reading;  // serials of look-ups
};

class Gossip {
 public:
  explicit Gossip(Input& input) : input_(input), world_(options(), &others_) {
    if (pick(2) == 0) world_.node.set_clerk(reader_);
    for (std::uint64_t id = 1; id <= kProcesses; ++id) {
      interfaces_.push_back(world_.attach(id, id == 3 ? 2000 : 1000).interface);
      Request address = test::ask(RequestKind::fabric_address, 0, "somewhere");
      std::memcpy(address.engine, "efa", 3);
      if (id != kProcesses) world_.say(id, address);
      world_.say(id, test::ask(RequestKind::lookup, 1, "name", test::kWait));
    }
    world_.say(2, test::ask(RequestKind::publish, 2, "other"));
  }

  void listen() {
    while (!input_.empty()) {
      others_.told = 0;
      step();
      ASSERT_LE(others_.told, 64u);
      ASSERT_LE(replies(), 64u);
      ASSERT_FALSE(world_.called_after_drop);
    }
    for (std::uint64_t id = 1; id <= kProcesses; ++id) world_.node.disconnected(id);
    EXPECT_TRUE(world_.node.empty());
  }

 private:
  static NodeOptions options() {
    NodeOptions out;
    out.first_number = std::uint64_t{1} << kNodeShift | 1;
    out.cut_after = 50;
    return out;
  }

  void step() {
    const std::uint64_t asker = 1 + pick(kProcesses), number = 1 + pick(40);
    others_.room = pick(8) != 0;
    switch (pick(10)) {
      case 0:
        return world_.say(asker, test::ask(RequestKind::introduce, number, theirs()));
      case 1:
        return world_.say(asker, test::ask(RequestKind::link_ended, 0, link()));
      case 2: {
        const char* const name = pick(2) == 0 ? "name" : "none";
        Request lookup = test::ask(RequestKind::lookup, number, name);
        lookup.flags = static_cast<std::uint32_t>(pick(4));
        lookup.number = pick(3);
        return world_.say(asker, lookup);
      }
      case 3:
        return world_.say(asker, test::ask(RequestKind::cancel, number));
      case 4:
        return pass();
      case 5: {
        Request report = test::ask(RequestKind::report, 0, link());
        report.bytes = pick(100);
        return world_.say(asker, report);
      }
      case 6:
        return clerk();
      default:
        if (others_.here) world_.node.node_said(kOther, message(), world_.now);
        return;
    }
  }

  void pass() {
    switch (pick(4)) {
      case 0:
        if (!others_.here) return;
        others_.here = false;
        return world_.node.node_gone(kOther, "tired", pick(2) == 0, world_.now);
      case 1:
        if (others_.here) return;
        others_.here = true;
        return world_.node.node_came(kOther, world_.now);
      default:
        return world_.pass(Time{static_cast<int>(pick(2000))});
    }
  }

  void clerk() {
    reader_.reads = pick(2) == 0;
    reader_.remembers = pick(4) == 0;
    if (reader_.reading.empty()) return;
    RegisteredName what;
    what.interface = theirs();
    what.ticket.interface = what.interface;
    what.uid = pick(2) == 0 ? 1000 : 5;
    what.rights.everyone = pick(2) == 0;
    const std::uint64_t serial = reader_.reading[pick(reader_.reading.size())];
    world_.node.name_read(serial, kOther, static_cast<NameSays>(pick(3)), what, world_.now);
  }

  std::vector<std::byte> message() {
    std::vector<std::byte> out = whole_message();
    if (pick(6) == 0) input_.spoil(std::span{out});
    if (pick(16) == 0) out.resize(pick(out.size() + 8));
    return out;
  }
  std::vector<std::byte> whole_message() {
    Ticket ticket;
    ticket.interface = theirs();
    ticket.bound = 1;
    switch (pick(10)) {
      case 0:
        return encode(FarIntroduce{pick(50), theirs(), ours(), link(), {}, end()});
      case 1:
        return encode(FarIntroduced{pick(50), end()});
      case 2:
        return encode(FarRefused{pick(50), static_cast<std::uint32_t>(pick(40)), "why"});
      case 3:
        return encode(FarEnded{link(), theirs(), ours(), static_cast<LinkReason>(pick(256))});
      case 4:
        return encode(FarLookup{pick(50), 1000, 1000, pick(2) == 0, pick(2) == 0 ? "name" : "other"});
      case 5:
        return encode(FarFound{pick(50), theirs(), 1000, 2, 3, ticket});
      case 6:
        return encode(FarCancel{pick(50)});
      case 7:
        return encode(FarWantRegistry{static_cast<std::uint32_t>(pick(3))});
      case 8:
        return encode(FarRegistry{
            ticket, pick(9),
            static_cast<std::uint32_t>(pick(4) == 0 ? input_.number() : std::uint64_t{16} << pick(3))});
      default: {
        const auto bytes = input_.bytes(pick(128));
        return {bytes.begin(), bytes.end()};
      }
    }
  }

  FarEnd end() {
    FarEnd out;
    out.uid = pick(2) == 0 ? 1000 : 2000;
    std::memcpy(out.engine, pick(4) == 0 ? "net" : "efa", 3);
    out.address.resize(pick(kMaxFabricAddress + 8));
    if (pick(2) == 0) input_.fill(out.address);
    return out;
  }

  std::uint64_t replies() {
    std::uint64_t count = 0;
    for (std::uint64_t id = 1; id <= kProcesses; ++id) {
      for (const std::vector<std::byte>& each : world_.sent[id]) {
        ++count;
        if (each.size() == sizeof(FarReply)) {
          FarReply reply;
          std::memcpy(&reply, each.data(), sizeof reply);
          EXPECT_EQ(invalid(reply), nullptr);
          links_.push_back(reply.link);
          ++linked.times;
        } else if (each.size() == sizeof(Reply)) {
          Reply reply;
          std::memcpy(&reply, each.data(), sizeof reply);
          found.times += reply.kind == ReplyKind::found ? 1 : 0;
        }
      }
      world_.sent[id].clear();
    }
    return count;
  }

  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }
  std::uint64_t ours() { return pick(8) == 0 ? input_.number() : interfaces_[pick(interfaces_.size())]; }
  std::uint64_t theirs() {
    const std::uint64_t node = pick(16) == 0 ? 3 : kOther;
    return node << kNodeShift | pick(4);
  }
  std::uint64_t link() {
    return links_.empty() || pick(3) == 0
               ? 1 + pick(20)
               : links_[links_.size() - 1 - pick(std::min<std::size_t>(links_.size(), 8))];
  }

  Input& input_;
  Others others_;
  Reader reader_;
  test::NodeWorld world_;
  std::vector<std::uint64_t> interfaces_;
  std::vector<std::uint64_t> links_;
};

}  // namespace

const RandomRuns random_runs{.runs = 300, .bytes = 6000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  Gossip{input}.listen();
}

}  // namespace hamlyn::fuzz
