#pragma once
// The daemon's side of its clerk: writes this node's registry, keeps what was read of others', and decides
// for each name that is looked for on another node whether it is read there or asked for (docs/names.md). The
// clerk itself, which lets others read and reads, is a process of its own: libfabric, which strangers can
// reach, is none of the daemon's. No socket and no clock of its own, so that tests run it as it is.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/namespaces.h"
#include "node/mind/clerk.h"
#include "node/mind/node.h"
#include "segment/clerk_wire.h"
#include "segment/look_up_costs.h"
#include "segment/name_cache.h"
#include "segment/registry.h"

namespace hamlyn::internal_::segment {

class NameService final : public node::Clerk {
 public:
  class Environment {
   public:
    virtual ~Environment() = default;
    // Starts the clerk's process. False: it cannot be.
    virtual bool start() = 0;
    // False: it takes nothing now, or has gone. With a table goes the memory that was made last.
    virtual bool say(const ClerkMessage& message) = 0;
    // Zeroed memory for a registry, in the place of what was made before; empty: there is none.
    virtual std::span<std::byte> make_memory(std::size_t bytes) = 0;
    virtual std::int64_t now_ns() = 0;
  };

  struct Options {
    RegistryKey key{};
    std::uint64_t generation = 1;  // tables' generations start from here: above all of the run before
    std::uint32_t after = 0;       // names looked for on other nodes before any is read; 0: never
  };

  NameService(node::Node& node, Environment& environment, const Options& options);

  // By the clerk.
  void received(const ClerkMessage& message, node::Time now);
  // Its process has ended.
  void ended(node::Time now);
  // Names that are read for too long are asked for. False: the clerk answers nothing, and has to be ended.
  // Time in which the daemon itself was stopped does not count.
  bool tick(node::Time now);
  // When `tick` is to be called, in ns; max: the clerk owes nothing.
  std::int64_t deadline() const;

 private:
  using FarRegistry = node::FarRegistry;
  using Read = std::pair<std::uint64_t, node::NodeId>;

  struct Pending {
    std::int64_t since = 0;
    std::int64_t until = 0;  // the clerk has to have answered
    bool given_up = false;   // the node has been told that it is not known
  };
  struct Peer {
    std::optional<FarRegistry> registry;
    std::int64_t ask_after = 0;   // that its daemon may be asked for it
    std::int64_t read_after = 0;  // that it may be read
    std::size_t reading = 0;      // reads under way
    LookUpCosts costs;
    std::uint64_t sample = 0;  // a look-up that it was asked for, whose answer is timed
    std::int64_t sampled = 0;
  };

  void changed(std::string_view name) override;
  const node::RegisteredName* cached(std::string_view name, node::NodeId node) override;
  bool read(std::uint64_t serial, node::NodeId node, std::string_view name) override;
  void asked(std::uint64_t serial, node::NodeId node) override;
  void answered(std::uint64_t serial, node::NodeId node) override;
  void registry_wanted(node::NodeId node, std::uint32_t version) override;
  void registry_told(node::NodeId node, const node::FarRegistry& registry) override;
  void node_gone(node::NodeId node) override;
  void interface_gone(std::uint64_t interface) override;

  bool running();
  void rest();
  bool write_all(std::uint32_t buckets);
  void show_table();
  void take_ready(const ClerkMessage& message);
  void take_read(const ClerkMessage& message, node::Time now);
  void take_changed(node::NodeId node);
  bool ask_to_read(std::uint64_t serial, node::NodeId node, std::string_view name);
  void lose(node::NodeId node);

  node::Node& node_;
  Environment& environment_;
  const Options options_;
  std::uint32_t looked_ = 0;  // names, on other nodes
  bool running_ = false;
  std::int64_t started_ = 0;
  std::int64_t start_after_ = 0;
  std::int64_t start_rest_;  // before the next start
  std::optional<Registry> registry_;
  std::uint64_t tables_ = 0;  // made so far
  std::optional<FarRegistry> shown_;
  std::set<node::NodeId> wanted_by_;  // whose clerks read this node's names, or want to
  std::map<node::NodeId, Peer> peers_;
  std::map<Read, Pending> reads_;                  // under way
  std::map<std::uint64_t, std::string> renewals_;  // reads of what is to be in the cache again
  std::uint64_t next_renewal_ = 0;
  NameCache cache_;
};

}  // namespace hamlyn::internal_::segment
