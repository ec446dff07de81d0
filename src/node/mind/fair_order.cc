#include "node/mind/fair_order.h"

#include <algorithm>

namespace hamlyn::node {

FairOrder::Place FairOrder::add(const User& user, const Key& key) {
  const std::uint64_t served = waiting_.empty() ? 1 : waiting_.begin()->first.first;
  Rounds& rounds = users_[user];
  rounds.last = std::max(served, rounds.count == 0 ? served : rounds.last + 1);
  ++rounds.count;
  const Place place{rounds.last, next_++};
  waiting_.emplace(place, key);
  return place;
}

void FairOrder::remove(const User& user, const Place& place) {
  waiting_.erase(place);
  const auto found = users_.find(user);
  if (--found->second.count == 0) users_.erase(found);
}

std::optional<std::pair<FairOrder::Place, FairOrder::Key>> FairOrder::next(const Place& after) const {
  const auto found = waiting_.upper_bound(after);
  return found == waiting_.end() ? std::nullopt : std::optional{*found};
}

}  // namespace hamlyn::node
