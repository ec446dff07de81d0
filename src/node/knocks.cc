#include "node/knocks.h"

namespace hamlyn::node {

void Knocks::add(const Key& key, std::uint32_t uid, std::uint64_t request, const Obstacle& obstacle) {
  const auto [found, fresh] = knocks_.try_emplace(key);
  Knock& knock = found->second;
  knock.requests.insert(request);
  if (!fresh) return;
  knock.uid = uid;
  knock.obstacle = obstacle;
  by_peer_.insert({key.second, key.first});
  enter(key, knock);
}

void Knocks::remove(const Key& key, std::uint64_t request) {
  const auto found = knocks_.find(key);
  if (found == knocks_.end()) return;
  found->second.requests.erase(request);
  if (!found->second.requests.empty()) return;
  leave(found->second);
  by_peer_.erase({key.second, key.first});
  knocks_.erase(found);
}

void Knocks::move(const Key& key, const Obstacle& obstacle) {
  const auto found = knocks_.find(key);
  if (found == knocks_.end() || found->second.obstacle == obstacle) return;
  leave(found->second);
  found->second.obstacle = obstacle;
  enter(key, found->second);
}

void Knocks::enter(const Key& key, Knock& knock) {
  knock.serial = next_serial_++;
  if (knock.obstacle.kind == Obstacle::Kind::reading)
    queues_[knock.obstacle.connection].users[knock.uid][knock.serial] = key;
}

void Knocks::leave(const Knock& knock) {
  if (knock.obstacle.kind != Obstacle::Kind::reading) return;
  const auto queue = queues_.find(knock.obstacle.connection);
  const auto user = queue->second.users.find(knock.uid);
  user->second.erase(knock.serial);
  if (user->second.empty()) queue->second.users.erase(user);
  if (queue->second.users.empty()) queues_.erase(queue);
}

const std::set<std::uint64_t>* Knocks::requests(const Key& key) const {
  const auto found = knocks_.find(key);
  return found == knocks_.end() ? nullptr : &found->second.requests;
}

std::optional<Knocks::Key> Knocks::next(std::uint64_t connection) {
  const auto found = queues_.find(connection);
  if (found == queues_.end()) return std::nullopt;
  Queue& queue = found->second;
  auto user = queue.users.upper_bound(queue.last);
  if (user == queue.users.end()) user = queue.users.begin();
  queue.last = user->first;
  return user->second.begin()->second;
}

std::optional<Knocks::Key> Knocks::next_for(std::uint64_t peer, std::uint64_t after) const {
  const auto found = by_peer_.upper_bound({peer, after});
  if (found == by_peer_.end() || found->first != peer) return std::nullopt;
  return Key{found->second, peer};
}

std::optional<std::uint64_t> Knocks::next_peer(std::uint64_t after) const {
  const auto found = by_peer_.upper_bound({after, ~std::uint64_t{0}});
  return found == by_peer_.end() ? std::nullopt : std::optional{found->first};
}

}  // namespace hamlyn::node
