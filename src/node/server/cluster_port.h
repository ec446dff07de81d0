#pragma once
// The cluster with a socket: one of UDP, so that a stranger costs no memory and no descriptor, and that
// nobody can hold up the daemon by sending slowly (docs/architecture.md).
#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "node/cluster/cluster.h"
#include "node/cluster/far.h"
#include "node/mind/clerk_port.h"
#include "node/mind/node.h"
#include "node/server/config.h"

namespace hamlyn::node {

inline constexpr std::uint16_t kClusterPort = 7471;

class ClusterPort final : public ClusterEnvironment, public OtherNodes {
 public:
  // Resolves, listens. `socket`: the daemon's, beside which its last incarnation is kept, and whom it admits.
  // Throws Error.
  ClusterPort(const ClusterConfig& config, const std::string& socket, Time now);

  int descriptor() const noexcept { return socket_.get(); }
  void serve(Node& node) noexcept { node_ = &node; }
  void receive_some(Time now);
  void tick(Time now);
  Time deadline() const { return cluster_->deadline(); }
  void leave(Time now) { cluster_->leave(now); }
  ClerkPort::Options clerk_options(std::uint32_t after, const std::string& socket) const;

 private:
  void send(const Address& to, std::span<const std::byte> packet) override;
  void random(std::span<std::byte> out) override;
  void came(NodeId node, std::uint64_t incarnation) override;
  void gone(NodeId node, const char* why, bool silent) override;
  void message(NodeId node, std::span<const std::byte> message) override;
  void say(const std::string& line) override;

  NodeId self() const override { return cluster_->id(); }
  std::uint64_t incarnation() const override { return cluster_->incarnation(); }
  std::uint64_t incarnation_of(NodeId node) const override { return cluster_->incarnation_of(node); }
  std::vector<NodeId> there() const override { return cluster_->alive(); }
  std::string reached_at(NodeId by) const override;
  void keep_known();
  std::optional<Address> place_of(NodeId node) const override { return cluster_->place_of(node); }
  bool has_room(NodeId node) const override { return cluster_->has_room(node); }
  void tell(NodeId node, std::vector<std::byte> message) override;
  std::vector<MemberReply> members() const override { return members_of(*cluster_, now_); }

  base::FileDescriptor socket_;
  Address here_;  // where it listens
  int family_ = 0;
  bool loopback_only_ = false;
  Secret names_key_{};
  Secret known_key_{};
  const std::string beside_;  // the daemon's socket
  bool keeps_known_ = false;  // as a boot server does
  bool changed_ = false;      // whom it knows, since
  bool says_unkept_ = true;   // next time, and not each time
  Time now_{};
  std::unique_ptr<Cluster> cluster_;
  Node* node_ = nullptr;
};

}  // namespace hamlyn::node
