#pragma once
// Requests of other nodes that wait for one thing, in the order in which their users take turns: the first of
// each user, then the second of each. A user of whom many wait delays its own. Each call costs the logarithm
// of how many wait.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "node/cluster/far.h"

namespace hamlyn::node {

class FairOrder {
 public:
  using User = std::pair<NodeId, std::uint32_t>;
  using Key = std::pair<NodeId, std::uint64_t>;  // a node and its serial
  // A round of the users, and a number that counts on. {0, 0} is before all places.
  using Place = std::pair<std::uint64_t, std::uint64_t>;

  // At the user's next turn. A user of whom nothing waits is in the round that is served next.
  Place add(const User& user, const Key& key);
  void remove(const User& user, const Place& place);
  std::optional<std::pair<Place, Key>> next(const Place& after) const;

  bool empty() const noexcept { return waiting_.empty(); }
  std::size_t users() const noexcept { return users_.size(); }  // of whom something waits

 private:
  struct Rounds {
    std::uint64_t last = 0;  // of which the user has a place
    std::uint64_t count = 0;
  };

  std::map<Place, Key> waiting_;
  std::map<User, Rounds> users_;
  std::uint64_t next_ = 1;
};

}  // namespace hamlyn::node
