#pragma once
// List of who is attached to a node, for `hamlyn node`.
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "node/client/client.h"
#include "node/client/protocol.h"

namespace hamlyn::node {

struct AttachedProcess {
  std::uint64_t interface = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  std::string program;
  std::chrono::milliseconds age{};  // since it attached
  std::uint64_t links = 0;          // its ends of links
  std::uint64_t link_bytes = 0;     // its memory in them
  std::uint64_t area_bytes = 0;     // and in areas that others may be shown
  std::uint64_t refused = 0;        // packets, as it has reported of the links that it has
  base::FileDescriptor
      counters;  // its counter page, if it has one and it is this user's (for root: everybody's)
};

struct ClusterMember {
  std::uint16_t id = 0;
  enum class State : std::uint8_t { self, alive, suspect, dead, left } state{};
  bool boot = false;  // it admits newcomers
  std::uint64_t incarnation = 0;
  std::chrono::milliseconds since{};  // in that state; at the node itself 0
  std::string address;                // empty at the node itself
  std::uint64_t refused = 0;          // packets of anybody, at the node itself
  std::string kept_out;               // at the node itself: why nobody lets it in; empty: it is in
};

struct NodeList {
  std::string socket;
  std::string version;
  std::uint32_t uid = 0;  // the daemon's
  std::uint32_t pid = 0;
  std::chrono::milliseconds uptime{};
  std::uint64_t interfaces = 0;
  std::uint64_t links = 0;  // ends of links
  std::uint64_t names = 0;
  std::uint64_t malformed = 0;  // connections dropped for a malformed request
  std::uint64_t dropped = 0;    // and for not reading
  std::uint64_t refused = 0;    // requests refused
  std::uint64_t cut = 0;        // links, by the rule on reports
  Usage used;                   // of the asking user
  Usage quota;
  std::vector<AttachedProcess> attached;
  std::vector<ClusterMember> nodes;  // of its cluster, by their ids; none: it belongs to none
};

// Starts no daemon. Throws Error: node_unreachable, node_not_trusted, version_mismatch, not_permitted,
// timed_out.
NodeList list(const ClientOptions& options = {});

}  // namespace hamlyn::node
