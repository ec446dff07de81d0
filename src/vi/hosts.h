#pragma once
// Names of hosts (docs/vi.md, "Addresses"): of the file that HAMLYN_VI_HOSTS names, this host's own, and of
// the cluster's nodes as the resolver knows them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::vi {

// Where names are looked up.
struct Hosts {
  std::uint64_t own = 0;  // this host's node; 0: it is in no cluster
  std::string node;       // the daemon's socket, as Interface::Options has it
};

// Finds the number of the node that has this name. Nothing: no host that can be reached has it. Asks the
// resolver and the daemon, and waits for them. Throws std::bad_alloc.
std::optional<std::uint64_t> node_called(const Hosts& hosts, const std::string& name);
// Finds a name by which `node_called` finds that node. Likewise.
std::optional<std::string> name_of_node(const Hosts& hosts, std::uint64_t node);
// Numbers of this host's node, first, and with one hop or more of the nodes that its cluster has alive.
// Likewise.
std::vector<std::uint64_t> nodes_within(const Hosts& hosts, std::uint64_t hops);

}  // namespace hamlyn::internal_::vi
