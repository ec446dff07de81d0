#pragma once
// A cluster of daemons, each on a host of its own; the first is the boot server.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "node/client/list.h"
#include "test/host/hosts.h"

namespace hamlyn::test {

// Generous: a loaded machine runs a daemon late, so that nodes part and meet again.
inline constexpr std::chrono::seconds kSoon{kPatience};

class ClusterOnHosts : public testing::Test {
 protected:
  // `dead_after`: of the cluster, in milliseconds.
  explicit ClusterOnHosts(int count = 8, int dead_after = 400) : count_(count), dead_after_(dead_after) {}

  void SetUp() override {
    if (const std::string why = Hosts::missing(); !why.empty()) {
      std::fprintf(stderr, "SKIPPED: no test between hosts is made: %s\n", why.c_str());
      GTEST_SKIP() << why;
    }
    hosts_ = std::make_unique<Hosts>(count_);
    write_file(folder_.file("secret"), noise(32));
    ::chmod(folder_.file("secret").c_str(), 0600);
    daemons_.resize(static_cast<std::size_t>(count_) + 1);
  }

  std::string socket(int host) const { return folder_.file("s" + std::to_string(host)); }

  void start(int host, const std::string& more = {}, int id = 0) {
    const std::string config = folder_.file(std::to_string(host) + ".toml");
    write_file(config, "[cluster]\nid = " + std::to_string(id == 0 ? host : id) + "\nsecret = \"" +
                           folder_.file(more.empty() ? "secret" : more) +
                           "\"\ndead_after = " + std::to_string(dead_after_) + "\n");
    std::vector<std::string> words{"--config", config};
    if (host != 1) words.insert(words.end(), {"--join", Hosts::address(1)});
    Command::Options options;
    options.network_of = hosts_->network(host);
    daemons_[static_cast<std::size_t>(host)] = std::make_unique<Daemon>(socket(host), words, options);
  }
  Daemon& daemon(int host) { return *daemons_[static_cast<std::size_t>(host)]; }
  void kill(int host) { daemon(host).kill(); }

  node::NodeList look(int host) const { return node::list(at(socket(host))); }
  node::ClusterMember seen(int by, int host) const {
    for (const node::ClusterMember& member : look(by).nodes) {
      if (member.id == host) return member;
    }
    return {};
  }
  bool sees(int by, int host) const {
    const auto state = seen(by, host).state;
    return state == node::ClusterMember::State::alive || state == node::ClusterMember::State::suspect;
  }
  // Whether all of these see each other.
  bool whole(const std::vector<int>& which) const {
    for (const int by : which) {
      const auto nodes = look(by).nodes;
      for (const int host : which) {
        if (by == host) continue;
        const auto found = std::ranges::find(nodes, host, [](const auto& each) { return int{each.id}; });
        if (found == nodes.end() || (found->state != node::ClusterMember::State::alive &&
                                     found->state != node::ClusterMember::State::suspect))
          return false;
      }
    }
    return true;
  }
  std::vector<int> all() const {
    std::vector<int> out;
    for (int host = 1; host <= count_; ++host) out.push_back(host);
    return out;
  }
  void start_all() {
    for (const int host : all()) start(host);
    ASSERT_TRUE(eventually([this] { return whole(all()); }, kSoon));
  }

  const int count_;
  const int dead_after_;
  const Folder folder_;
  std::unique_ptr<Hosts> hosts_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace hamlyn::test
