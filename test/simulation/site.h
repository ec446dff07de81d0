#pragma once
// A node of a simulated cluster: its daemon, while there is one, and its clerk. Daemons reach each other over
// the cluster's network, clerks and whoever asks a daemon run on the simulated host.
#include <sys/eventfd.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/clerk_process.h"
#include "test/simulation/hosted.h"
#include "test/simulation/slow_memory.h"
#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn::test {

class Site final : public node::OtherNodes, public daemon::ClerkMachine {
 public:
  // Connections of its daemon's: two of one user, and one of another.
  static constexpr std::uint64_t kPublisher = 1, kSeeker = 2, kStranger = 3;

  // `died` is called when its daemon has been killed.
  Site(Hosted& hosted, ClusterWorld& world, NodeId of, std::function<void()> died)
      : id(of), hosted_(hosted), world_(world), died_(std::move(died)) {}

  void start();
  void kill();  // nothing is said, and nothing ended, in good order
  void stop(bool stops);
  bool runs() const noexcept { return daemon_ != nullptr; }
  bool stopped() const noexcept { return self_ != nullptr && self_->stopped; }
  simulation::Inhabitant* clerk() const noexcept {
    return clerk_ != nullptr && clerk_->alive ? clerk_ : nullptr;
  }
  // By a process of that node, one request of it at a time. Nothing: the daemon has gone meanwhile.
  std::optional<node::Reply> ask(std::uint64_t connection, node::Request request);

  const NodeId id;
  std::uint64_t asked = 0;  // of other daemons, names

 private:
  struct Daemon {
    explicit Daemon(Site& site) : clerk(site), mind(options(site), &site) {}
    static node::NodeOptions options(const Site& site) {
      node::NodeOptions out;
      out.first_number = std::uint64_t{site.id} << node::kNodeShift | 1000 * site.runs_ | 100;
      return out;
    }
    daemon::ClerkProcess clerk;
    NodeWorld mind;
  };
  struct Box {
    std::atomic<std::uint32_t> word{0};
    std::optional<node::Reply> reply;
    std::uint64_t wanted = 0;
  };

  void serve(simulation::Inhabitant& self);
  void begin();
  void settle_memory();
  void give_out();
  sim::Generator& chance() noexcept { return hosted_.host.chance(); }
  library::Deadline deadline() const;
  node::Cluster* cluster() const;
  template <class What>
  void have(What what);

  // node::OtherNodes
  NodeId self() const override { return id; }
  std::uint64_t incarnation() const override { return cluster() == nullptr ? 0 : cluster()->incarnation(); }
  std::uint64_t incarnation_of(NodeId node) const override {
    return cluster() == nullptr ? 0 : cluster()->incarnation_of(node);
  }
  std::vector<NodeId> there() const override {
    return cluster() == nullptr ? std::vector<NodeId>{} : cluster()->alive();
  }
  std::string reached_at(NodeId) const override { return "10.0.0.1"; }
  std::optional<node::Address> place_of(NodeId node) const override {
    return cluster() == nullptr ? std::nullopt : cluster()->place_of(node);
  }
  bool has_room(NodeId node) const override { return cluster() != nullptr && cluster()->has_room(node); }
  void tell(NodeId node, std::vector<std::byte> message) override;
  void random(std::span<std::byte> out) override;
  std::vector<node::MemberReply> members() const override { return {}; }

  // daemon::ClerkMachine
  pid_t start(base::FileDescriptor socket, const std::string& node) override;
  void end(pid_t process) noexcept override;
  std::span<std::byte> map(int memory, std::size_t bytes) noexcept override;
  void unmap(std::span<std::byte> mapping) noexcept override;
  std::int64_t now_ns() noexcept override;

  Hosted& hosted_;
  ClusterWorld& world_;
  const std::function<void()> died_;
  std::map<const std::byte*, std::shared_ptr<SlowMemory>> memories_;  // of daemons that were killed, too
  std::shared_ptr<SlowMemory> memory_;
  bool settling_ = false;
  Daemon* daemon_ = nullptr;
  simulation::Inhabitant* self_ = nullptr;
  simulation::Inhabitant* clerk_ = nullptr;
  std::uint64_t runs_ = 0;
  base::FileDescriptor bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::deque<std::pair<std::uint64_t, node::Request>> requests_;
  std::map<std::uint64_t, Box> boxes_;
};

}  // namespace hamlyn::test
