#include "node/mind/user_turns.h"

#include <algorithm>

namespace hamlyn::node {

void UserTurns::add(std::uint64_t user, std::uint64_t what) {
  auto& queue = waiting_[user];
  queue.push_back(what);
  if (queue.size() > 1) return;
  std::uint64_t& used = used_.try_emplace(user, now_).first->second;
  idle_.erase({used, user});
  used = std::max(used, now_);  // what it has not used before is not made up for
  ready_.insert({used, user});
}

std::optional<UserTurns::Turn> UserTurns::next() {
  if (ready_.empty()) return std::nullopt;
  const auto [used, user] = *ready_.begin();
  now_ = used;
  const auto queue = waiting_.find(user);
  const Turn turn{user, queue->second.front()};
  queue->second.pop_front();
  if (queue->second.empty()) {
    waiting_.erase(queue);
    ready_.erase(ready_.begin());
    idle_.insert({used, user});
  }
  while (!idle_.empty() && idle_.begin()->first < now_) {
    used_.erase(idle_.begin()->second);
    idle_.erase(idle_.begin());
  }
  return turn;
}

void UserTurns::charge(const Turn& turn, std::uint64_t cost) {
  const auto used = used_.find(turn.user);
  if (used == used_.end()) return;
  const std::uint64_t before = used->second;
  used->second += cost;
  for (Order* order : {&ready_, &idle_}) {
    if (order->erase({before, turn.user}) != 0) order->insert({used->second, turn.user});
  }
}

}  // namespace hamlyn::node
