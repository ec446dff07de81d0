#include "node/mind/tally.h"

namespace hamlyn::node {

void Tally::set(std::uint64_t connection, std::uint32_t uid, std::uint64_t amount) {
  const auto found = held_.find(connection);
  const std::uint64_t before = found == held_.end() ? 0 : found->second.amount;
  if (before == amount) return;
  User& user = users_[uid];
  if (before != 0) {
    ranks_.erase({before, connection});
    user.ranks.erase({before, connection});
  }
  sum_ = sum_ - before + amount;
  user.sum = user.sum - before + amount;
  if (amount != 0) {
    ranks_.insert({amount, connection});
    user.ranks.insert({amount, connection});
    user.connections.insert(connection);
    held_[connection] = {uid, amount};
    return;
  }
  held_.erase(connection);
  user.connections.erase(connection);
  if (user.connections.empty()) users_.erase(uid);
}

std::uint64_t Tally::of(std::uint64_t connection) const {
  const auto found = held_.find(connection);
  return found == held_.end() ? 0 : found->second.amount;
}

std::uint64_t Tally::of_user(std::uint32_t uid) const {
  const auto found = users_.find(uid);
  return found == users_.end() ? 0 : found->second.sum;
}

std::optional<std::uint64_t> Tally::last_of(const Ranks& ranks) {
  return ranks.empty() ? std::nullopt : std::optional{ranks.rbegin()->second};
}

std::optional<std::uint64_t> Tally::largest() const { return last_of(ranks_); }

std::optional<std::uint64_t> Tally::largest_of(std::uint32_t uid) const {
  const auto found = users_.find(uid);
  return found == users_.end() ? std::nullopt : last_of(found->second.ranks);
}

std::optional<std::uint64_t> Tally::next_of(std::uint32_t uid) {
  const auto found = users_.find(uid);
  if (found == users_.end()) return std::nullopt;
  User& user = found->second;
  auto next = user.connections.upper_bound(user.last);
  if (next == user.connections.end()) next = user.connections.begin();
  return user.last = *next;
}

}  // namespace hamlyn::node
