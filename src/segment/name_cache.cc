#include "segment/name_cache.h"

#include <algorithm>

namespace hamlyn::internal_::segment {

NameCache::Entries::iterator NameCache::erase(Entries::iterator at) {
  turns_.erase(at->second.turn);
  return entries_.erase(at);
}

const node::RegisteredName* NameCache::find(std::string_view name, node::NodeId node) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || (node != 0 && found->second.node != node)) return nullptr;
  found->second.used = true;
  return &found->second.what;
}

void NameCache::put(std::string_view name, node::NodeId node, const node::RegisteredName& what) {
  if (const auto before = entries_.find(name); before != entries_.end()) {
    // Two reads of one name may end in the wrong order.
    if (before->second.node == node && before->second.what.generation > what.generation) return;
    erase(before);
  }
  if (entries_.size() >= kMost) erase(entries_.find(turns_.begin()->second));
  const std::uint64_t turn = next_turn_++;
  turns_[turn] = name;
  entries_[std::string(name)] = {node, what, turn, false};
}

void NameCache::forget_node(node::NodeId node) { take_used(node); }

void NameCache::forget_interface(std::uint64_t interface) {
  for (auto at = entries_.begin(); at != entries_.end();)
    at = at->second.what.ticket.interface == interface ? erase(at) : std::next(at);
}

std::vector<std::string> NameCache::take_used(node::NodeId node) {
  std::vector<std::string> out;
  for (auto at = entries_.begin(); at != entries_.end();) {
    if (at->second.node == node && at->second.used) out.push_back(at->first);
    at = at->second.node == node ? erase(at) : std::next(at);
  }
  return out;
}

bool NameCache::has(node::NodeId node) const {
  return std::ranges::any_of(entries_, [node](const auto& each) { return each.second.node == node; });
}

}  // namespace hamlyn::internal_::segment
