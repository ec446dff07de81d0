#pragma once
// Names of other nodes that were read lately (paper 4, section 7.3.1). What stands here may be stale for as
// long as its node's registry is looked at: when that has changed, everything of that node goes, and what was
// used since is read again.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "node/mind/clerk.h"

namespace hamlyn::internal_::segment {

class NameCache {
 public:
  static constexpr std::size_t kMost = 4096;  // names; beyond, the one that was read first goes

  // Finds the name at `node`, or at any node if that is 0. Null: not here. Good until the next change.
  const node::RegisteredName* find(std::string_view name, node::NodeId node);
  void put(std::string_view name, node::NodeId node, const node::RegisteredName& what);
  void forget_node(node::NodeId node);
  void forget_interface(std::uint64_t interface);
  // Takes out everything of that node; the names of it that were used since the last time.
  std::vector<std::string> take_used(node::NodeId node);

  std::size_t size() const noexcept { return entries_.size(); }
  bool has(node::NodeId node) const;

 private:
  struct Entry {
    node::NodeId node = 0;
    node::RegisteredName what;
    std::uint64_t turn = 0;
    bool used = false;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Entries::iterator erase(Entries::iterator at);

  Entries entries_;
  std::map<std::uint64_t, std::string> turns_;  // by when they were read
  std::uint64_t next_turn_ = 0;
};

}  // namespace hamlyn::internal_::segment
