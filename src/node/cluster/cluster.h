#pragma once
// Which nodes there are, and which of them live: the mind of a daemon as far as it talks to others. It has no
// socket, no clock and no randomness of its own, and the wire that it is given may lose, repeat and reorder:
// a simulator runs hundreds of them as they are.
//
// Each other node has a bootstrap slot here: what it says first is authenticated under a key that is a
// function of the cluster's secret and its id, nothing is remembered for it, and the first thing both do is
// to change to keys of their own that nobody can know (paper 1, section 4.3). A newcomer says hello to a boot
// server, which vets it and tells the others; only then do those listen to it.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node/client/protocol.h"
#include "node/cluster/pair.h"
#include "node/mind/node_wire.h"

namespace hamlyn::node {

struct ClusterOptions {
  NodeId id = 0;
  std::uint64_t incarnation = 0;  // larger than of every run before
  Secret secret{};
  bool boot = false;          // admits newcomers
  std::vector<Address> join;  // boot servers
  std::vector<Member> known;  // whom the daemon before this one knew to live (Cluster::living)
  Time dead_after{1000};      // without a sign; heartbeats come five times as often
};

// Environment of the one who runs the cluster. None of these calls back, but for Cluster::tell.
class ClusterEnvironment {
 public:
  virtual ~ClusterEnvironment() = default;
  virtual void send(const Address& to, std::span<const std::byte> packet) = 0;
  virtual void random(std::span<std::byte> out) = 0;
  // The pair with this node begins: messages go both ways, in order, each once, until `gone`.
  virtual void came(NodeId node, std::uint64_t incarnation) = 0;
  // Says how the pair has ended: `silent` if that daemon was not heard in time, or says so of this one. Then
  // its processes may live, and talk to those of this node.
  virtual void gone(NodeId node, const char* why, bool silent) = 0;
  virtual void message(NodeId node, std::span<const std::byte> message) = 0;
  // For people, each fact once.
  virtual void say(const std::string& line) = 0;
};

class Cluster {
 public:
  // Packets and handshakes that were refused, by cause.
  struct Counts {
    std::uint64_t strangers = 0;  // packets that nobody with the secret has made, or that are no packets
    std::uint64_t forged = 0;     // sealed, but not by the other end of the pair
    std::uint64_t unpaired =
        0;  // sealed, by a node that there is no pair with: of an old incarnation, or late
    std::uint64_t repeated = 0;     // packets that had come before; handshakes that were played back
    std::uint64_t misdirected = 0;  // for another node, or another incarnation of this one
    std::uint64_t old = 0;          // of an incarnation that is over
    std::uint64_t id_alive = 0;     // of a node whose id another one has
    std::uint64_t unvetted = 0;     // of a node that no boot server has told of
    std::uint64_t versions = 0;     // of other versions
    std::uint64_t malformed = 0;    // sealed by the other end, and yet not as it has to be
  };
  enum class State : std::uint8_t { self, alive, suspect, dead, left };
  struct Row {
    Member member;
    State state{};
    Time since{};  // in that state (a suspect: alive)
    bool boot = false;
  };

  Cluster(const ClusterOptions& options, ClusterEnvironment& environment, Time now);

  void received(const Address& from, std::span<const std::byte> packet, Time now);
  // To be called at `deadline()` at the latest.
  void tick(Time now);
  Time deadline() const;

  // Whether a request of a process may be told to it: false while enough waits there.
  bool has_room(NodeId node) const;
  // False: there is no pair with it.
  bool tell(NodeId node, std::vector<std::byte> message, Time now);
  // Tells all that this incarnation ends.
  void leave(Time now);

  NodeId id() const noexcept { return options_.id; }
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  // Incarnation of a node that there is a pair with; otherwise 0.
  std::uint64_t incarnation_of(NodeId node) const;
  // Where packets for it go; of a node that there is a pair with.
  std::optional<Address> place_of(NodeId node) const;
  std::vector<NodeId> alive() const;
  // Nodes that are alive, and those that are awaited, whose id nobody else may have.
  std::vector<Member> living() const;
  std::vector<Row> rows() const;
  const Counts& counts() const noexcept { return counts_; }
  std::uint64_t digest() const noexcept { return digest_; }
  // Why nobody lets it in, if so.
  Reason kept_out() const noexcept { return kept_out_; }

 private:
  struct Attempt {  // to begin a pair
    Address address;
    NodeId to = 0;
    std::array<std::byte, 24> asked{};
    Time until{};
    Time again{};
    bool confirming = false;
    HandshakeBytes packet{};  // to be sent again
    PairKeys keys{};
    std::uint64_t incarnation = 0;  // of the other, once it has answered
  };
  static constexpr Time kFirstPause{100};  // between tries; then longer ones
  struct Try {                             // and when to
    std::optional<Attempt> attempt;
    Time next{};
    Time pause{};
  };
  struct Other {
    Member member;
    std::uint64_t epoch = 0;  // pairs so far: challenges given before are void
    std::optional<Pair> pair;
    Try trying;
    Time since{};
    Time awaited{};  // until then it counts as alive, without a pair: others have just told of it
    // Where this incarnation was met last: its host may have another address than when the node was let in.
    std::optional<Address> met;
    bool broken = false;
  };
  struct Target {  // a boot server that is known by its address
    Address address;
    NodeId found = 0;  // who it is
    bool self = false;
    Try trying;
    std::optional<Time> silent{};  // since when nobody has answered there
    bool said = false;             // that nobody does
  };

  void take_hello(const Address& from, const Handshake& hello);
  void take_challenge(const Handshake& challenge);
  void take_confirm(const Address& from, const Handshake& confirm);
  void take_refusal(const Handshake& refusal);
  void take_sealed(std::span<const std::byte> packet);
  void take_plain(NodeId id, Other& other, const Plain& plain);
  void take_members(NodeId from, std::span<const Member> members);

  bool may_hear_of(NodeId id, const Address& address) const;
  Reason vet(NodeId id, std::uint64_t incarnation, const Address& address) const;
  void refuse(const Address& to, const Handshake& hello, Reason reason);
  std::array<std::byte, 32> challenge_for(const Address& from, NodeId id, std::uint64_t incarnation,
                                          std::span<const std::byte, 24> asked, std::int64_t moment) const;
  Try* find_try(std::span<const std::byte, 24> asked, NodeId from);
  Target* find_target(const Try* trying);
  void notice_silence(Target& target);
  void say_hello(Try& trying, NodeId to, const Address& address);
  void keep_trying(Try& trying, NodeId to, const Address& address);
  void begin(NodeId id, Other& other, const Secret& out, const Secret& in, std::uint64_t incarnation,
             const Address& address, const std::array<std::byte, 24>& asked);
  void end(NodeId id, Other& other, const char* why, bool silent = false);
  void end_all(const char* why);
  void look_after(NodeId id, Other& other);
  void flush(NodeId id, Other& other, std::uint8_t flags = 0);
  void post(NodeId id, Other& other, std::span<const std::vector<std::byte>> messages, std::uint64_t first,
            std::uint8_t flags);
  bool learn(const Member& member);
  void await(const Member& member);
  void set(Other& other, const Member& member);
  void admit(NodeId id, const Member& member);
  void send_all_members(NodeId to, Other& other);
  void become(std::uint64_t known, const char* why);
  std::uint32_t random_below(std::uint32_t most);
  Time jitter(Time most);
  void say_once(NodeId id, Reason reason, const std::string& line);

  const ClusterOptions options_;
  ClusterEnvironment& environment_;
  const ClusterKeys keys_;
  Secret run_key_{};  // makes challenges; of this run alone
  const Time started_;
  Time now_;
  Time ticked_;
  std::uint64_t incarnation_;
  std::map<NodeId, Other> others_;
  std::vector<Target> targets_;
  std::uint64_t digest_ = 0;
  Time next_sync_{};
  std::size_t hellos_left_ = 0;  // of this tick
  bool informed_ = false;        // let in as this incarnation, and told who there is
  Time aside_until_{};           // until then it neither greets nor answers
  Reason kept_out_ = Reason::none;
  std::map<NodeId, Reason> said_;
  Counts counts_;
};

// The rows, as processes are told of them.
std::vector<MemberReply> members_of(const Cluster& cluster, Time now);

}  // namespace hamlyn::node
