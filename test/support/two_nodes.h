#pragma once
// Two nodes on loopback that have found each other: what is sent from one to the other goes as between hosts.
#include <memory>
#include <string>
#include <vector>

#include "hamlyn/core/interface.h"
#include "test/support/daemon.h"

namespace hamlyn::test {

// A port of loopback that nobody has now.
int free_port();

class TwoNodes {
 public:
  // `cluster`: more lines for [cluster]. `service`: for processes of any user.
  explicit TwoNodes(const std::string& cluster = {}, bool service = false)
      : TwoNodes(cluster, cluster, service) {}
  // For each of the two its own.
  TwoNodes(const std::string& first, const std::string& second, bool service = false);

  // For a process of node 1 or 2. A loaded machine may hold a process up for long without anybody being dead.
  Interface::Options at(int node) const;
  Daemon& daemon(int node) { return *daemons_[static_cast<std::size_t>(node) - 1]; }

 private:
  std::string socket(int node) const { return folder_.file(std::to_string(node) + ".sock"); }
  void start(int node, int port, int join);
  bool sees_other(int node) const;

  const std::string clusters_[2];
  const bool service_;
  Folder folder_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace hamlyn::test
