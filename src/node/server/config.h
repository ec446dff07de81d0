#pragma once
// hamlynd's configuration file. docs/node.md lists its keys.
#include <optional>
#include <string>
#include <vector>

#include "node/mind/node.h"

namespace hamlyn::node {

// The cluster that this node belongs to.
struct ClusterConfig {
  std::uint16_t id = 0;  // 0: to none
  std::string listen;    // host, host:port, [v6]:port; empty: every address, or without a secret 127.0.0.1
  std::vector<std::string> join;  // boot servers
  std::string secret;             // path of a file; empty: only loopback addresses
  std::optional<bool> boot;       // admits newcomers; if not said: whoever joins nobody
  Time dead_after{1000};
  std::string engine;  // of libfabric, that processes use between nodes; empty: the best that they find
  std::string clerk_user = "hamlyn-clerk";  // whose the clerk of a service is: a name or a number
  std::uint32_t clerk_after = 64;  // names looked for on other nodes before any is read there; 0: never
};

struct Config {
  Quotas quotas;  // of one user
  Quotas total;   // of all together; what is not said there is kTotal times the quota
  AttachRights rights;
  AttachRights links;           // NodeOptions::links
  std::uint64_t cut_after = 0;  // NodeOptions::cut_after
  std::string log_level = "info";
  ClusterConfig cluster;
};

// Throws Error(invalid_argument) with file, line and key for anything it does not know or that cannot be.
Config read_config(const std::string& path);
Config parse_config(const std::string& text, const std::string& path);

}  // namespace hamlyn::node
