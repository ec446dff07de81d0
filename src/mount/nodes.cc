#include "mount/nodes.h"

namespace hamlyn::internal_::mount {

Nodes::Nodes(const files::Handle& root) {
  nodes_[kRoot] = {root, 1};
  numbers_[root] = kRoot;
}

std::uint64_t Nodes::tell(const files::Handle& file) {
  const std::lock_guard guard(mutex_);
  const auto [known, fresh] = numbers_.try_emplace(file, last_ + 1);
  if (fresh) nodes_[++last_] = {file, 0};
  ++nodes_[known->second].told;
  return known->second;
}

void Nodes::forget(std::uint64_t number, std::uint64_t times) {
  const std::lock_guard guard(mutex_);
  const auto node = nodes_.find(number);
  if (node == nodes_.end() || number == kRoot) return;
  if (node->second.told > times) {
    node->second.told -= times;
    return;
  }
  numbers_.erase(node->second.file);
  nodes_.erase(node);
}

std::optional<files::Handle> Nodes::of(std::uint64_t number) const {
  const std::lock_guard guard(mutex_);
  const auto node = nodes_.find(number);
  if (node == nodes_.end()) return std::nullopt;
  return node->second.file;
}

}  // namespace hamlyn::internal_::mount
