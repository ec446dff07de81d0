#include "node/mind/pending_introductions.h"

namespace hamlyn::node {

void PendingIntroductions::add(const Key& key, std::uint32_t uid, std::uint64_t request,
                               const Obstacle& obstacle) {
  const auto [found, fresh] = introductions_.try_emplace(key);
  Pending& pending = found->second;
  pending.requests.insert(request);
  if (!fresh) return;
  pending.uid = uid;
  pending.obstacle = obstacle;
  by_peer_.insert({key.second, key.first});
  enter(key, pending);
}

void PendingIntroductions::remove(const Key& key, std::uint64_t request) {
  const auto found = introductions_.find(key);
  if (found == introductions_.end()) return;
  found->second.requests.erase(request);
  if (!found->second.requests.empty()) return;
  leave(found->second);
  by_peer_.erase({key.second, key.first});
  introductions_.erase(found);
}

void PendingIntroductions::move(const Key& key, const Obstacle& obstacle) {
  const auto found = introductions_.find(key);
  if (found == introductions_.end() || found->second.obstacle == obstacle) return;
  leave(found->second);
  found->second.obstacle = obstacle;
  enter(key, found->second);
}

void PendingIntroductions::enter(const Key& key, Pending& pending) {
  pending.serial = next_serial_++;
  if (pending.obstacle.kind == Obstacle::Kind::reading)
    queues_[pending.obstacle.connection].users[pending.uid][pending.serial] = key;
}

void PendingIntroductions::leave(const Pending& pending) {
  if (pending.obstacle.kind != Obstacle::Kind::reading) return;
  const auto queue = queues_.find(pending.obstacle.connection);
  const auto user = queue->second.users.find(pending.uid);
  user->second.erase(pending.serial);
  if (user->second.empty()) queue->second.users.erase(user);
  if (queue->second.users.empty()) queues_.erase(queue);
}

const std::set<std::uint64_t>* PendingIntroductions::requests(const Key& key) const {
  const auto found = introductions_.find(key);
  return found == introductions_.end() ? nullptr : &found->second.requests;
}

std::optional<PendingIntroductions::Key> PendingIntroductions::next(std::uint64_t connection) {
  const auto found = queues_.find(connection);
  if (found == queues_.end()) return std::nullopt;
  Queue& queue = found->second;
  auto user = queue.users.upper_bound(queue.last);
  if (user == queue.users.end()) user = queue.users.begin();
  queue.last = user->first;
  return user->second.begin()->second;
}

std::optional<PendingIntroductions::Key> PendingIntroductions::next_for(std::uint64_t peer,
                                                                        std::uint64_t after) const {
  const auto found = by_peer_.upper_bound({peer, after});
  if (found == by_peer_.end() || found->first != peer) return std::nullopt;
  return Key{found->second, peer};
}

std::optional<std::uint64_t> PendingIntroductions::next_peer(std::uint64_t after) const {
  const auto found = by_peer_.upper_bound({after, ~std::uint64_t{0}});
  return found == by_peer_.end() ? std::nullopt : std::optional{found->first};
}

}  // namespace hamlyn::node
