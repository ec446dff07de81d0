// The node's mind, as far as its clerk reads names of other nodes, and theirs read names of this one.
#include <algorithm>
#include <utility>

#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {

bool Node::empty() const noexcept {
  return std::ranges::all_of(connections_, [this](const auto& each) { return is_clerk(each.second.who); });
}

void Node::changed(std::string_view name) {
  if (clerk_ != nullptr) clerk_->changed(name);
}

RegisteredName Node::registered(const Name& name) const {
  const Connection& owner = connections_.at(name.connection);
  return {name.ticket,   name.generation, owner.interface, owner.who.uid,
          owner.who.gid, owner.who.pid,   name.rights};
}

std::optional<RegisteredName> Node::registered(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? std::nullopt : std::optional{registered(found->second)};
}

std::vector<std::string> Node::names() const {
  std::vector<std::string> out;
  for (const auto& [name, what] : names_) out.push_back(name);
  return out;
}

// Answers with what was read lately of other nodes' names.
bool Node::answer_from_cache(std::uint64_t id, const Connection& connection, const Request& request) {
  if (clerk_ == nullptr || (request.flags & Request::kCached) == 0) return false;
  const RegisteredName* hit = clerk_->cached(name_of(request), static_cast<NodeId>(request.number));
  if (hit == nullptr || !may_look_up(connection.who.uid, connection.who.gid, *hit)) return false;
  answer_found(id, request.request, *hit);
  return true;
}

void Node::name_read(std::uint64_t serial, NodeId node, NameSays says, const RegisteredName& what, Time now) {
  now_ = now;
  const auto found = searches_.find(serial);
  if (found == searches_.end() || found->second.reading.erase(node) == 0) return;  // nobody wants it any more
  Search& search = found->second;
  const bool permitted = may_look_up(search.what.uid, search.what.gid, what);
  if (says == NameSays::found && permitted) return found_far(search, node, what);
  search.not_permitted |= says == NameSays::found;
  if (says != NameSays::unknown && (!search.what.wait || search.not_permitted)) return searched(serial, node);
  // Asks that node, which tells when the name comes. All others are asked, too: this one may never have it.
  unsaid_[node].insert(serial);
  tell_lookups(node);
  if (search.hinted && search.what.wait) look_everywhere(serial, search);
}

void Node::want_registry(NodeId node, std::uint32_t version) { tell(node, FarWantRegistry{version}); }

void Node::tell_registry(NodeId node, const FarRegistry& registry) { tell(node, registry); }

void Node::take_want_registry(NodeId node, const FarWantRegistry& what) {
  // Names of the run before may be on their way: who asks meanwhile waits for them.
  if (clerk_ != nullptr && !grace_) clerk_->registry_wanted(node, what.version);
}

void Node::take_registry(NodeId node, const FarRegistry& what) {
  if (clerk_ != nullptr && node_of(what.ticket.interface) == node) clerk_->registry_told(node, what);
}

}  // namespace hamlyn::node
