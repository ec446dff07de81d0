// The node's mind, as far as requests of other nodes wait: what happens to many of them at once is dealt with
// in turns of the users whom it concerns, one request a step.
#include <utility>

#include "node/node.h"
#include "node/replies.h"

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kNoSerial = ~std::uint64_t{};

}  // namespace

// Introductions from other nodes may have waited for something at this interface.
void Node::arrivals_happened(std::uint64_t uid, std::uint64_t interface) {
  if (!arrivals_at_.contains(interface)) return try_way_again(interface);
  happened(uid, {.what = Due::What::arrivals, .of = interface});
}

// A name has come, or has gone for good: processes of other nodes may wait for it.
void Node::far_name_happened(std::uint64_t uid, std::string_view name) {
  if (far_awaited_.contains(name)) happened(uid, {.what = Due::What::far_name, .name = std::string(name)});
}

// One introduction. Whether there is more: a process that has had its part is not asked about the others.
bool Node::step_arrivals(Due& due) {
  const auto at = arrivals_at_.find(due.of);
  const auto next = at == arrivals_at_.end() ? std::nullopt : at->second.next(due.after);
  if (next) {
    due.after = next->first;
    take_up_arrival(next->second);
  }
  const auto there = interfaces_.find(due.of);
  if (next && (there == interfaces_.end() || !environment_.behind(there->second))) return true;
  try_way_again(due.of);
  return false;
}

// A process was asked for a way to other nodes and could not open one. Those who waited have been told, and
// whoever wants one next has it tried again.
void Node::try_way_again(std::uint64_t interface) {
  const auto there = interfaces_.find(interface);
  if (there == interfaces_.end()) return;
  Connection& process = connections_.at(there->second);
  if (std::exchange(process.reach_again, false)) process.reach = Reach::unasked;
}

// One look-up. Whether there is more.
bool Node::step_far_name(Due& due) {
  const auto awaited = far_awaited_.find(due.name);
  const auto next = awaited == far_awaited_.end() ? std::nullopt : awaited->second.next(due.after);
  if (!next) return false;
  due.after = next->first;
  answer_far_waiter(next->second);
  return true;
}

// One of those who wait for a search that is over. Whether there is more.
bool Node::step_search(const Due& due) {
  const auto found = searches_.find(due.of);
  if (found == searches_.end()) return false;
  const Waiting next = *found->second.waiters.begin();
  if (const auto refused = found->second.refused) {
    refuse_waiting(next, *refused);
  } else {
    const RegisteredName what = *found->second.found;
    release(next.first, connections_.at(next.first), next.second);
    answer_found(next.first, next.second, what);
  }
  return searches_.contains(due.of);
}

// One of those whom the end of a node concerns. Whether there is more.
bool Node::step_gone_node(const Due& due) {
  const auto found = gone_nodes_.find(due.of);
  if (step_gone_node(found->second)) return true;
  gone_nodes_.erase(found);
  return false;
}

bool Node::step_gone_node(GoneNode& gone) {
  if (!gone.links.empty()) {
    const auto [id, link, peer] = gone.links.back();
    gone.links.pop_back();
    const auto connection = connections_.find(id);
    if (connection == connections_.end()) return true;
    const auto side = connection->second.links.find(link);
    if (side != connection->second.links.end() && side->second.peer == peer)
      tell_gone(connection->second, link, peer, LinkReason::node_missing, gone.text);
    return true;
  }
  if (!gone.asks.empty()) {
    const auto [waiting, serial] = gone.asks.back();
    gone.asks.pop_back();
    const auto ask = asks_.find(waiting);
    if (ask != asks_.end() && ask->second.serial == serial)
      refuse_waiting(waiting, {ErrorCode::peer_died, gone.text});
    return true;
  }
  if (gone.searches.empty()) return false;
  const std::uint64_t serial = gone.searches.back();
  gone.searches.pop_back();
  const auto search = searches_.find(serial);
  if (search != searches_.end() && search->second.open.contains(gone.node)) searched(serial, gone.node);
  return true;
}

// One answer that there was no room for. Whether there is more.
bool Node::step_room(const Due& due) {
  const auto node = static_cast<NodeId>(due.of);
  const auto at = crowded_.lower_bound({node, 0});
  if (at == crowded_.end() || at->first != node || !others_->has_room(node)) return false;
  const FarKey key = *at;
  crowded_.erase(at);
  take_up_arrival(key);
  answer_far_waiter(key);
  return true;
}

// Nodes that had much to hear may have taken it.
void Node::go_on_telling() {
  for (auto at = unsaid_.begin(); at != unsaid_.end();) tell_lookups((at++)->first);
  for (auto at = crowded_.begin(); at != crowded_.end(); at = crowded_.upper_bound({at->first, kNoSerial})) {
    if (others_->has_room(at->first))
      happened(kNodes | at->first, {.what = Due::What::room, .of = at->first});
  }
}

// Nobody of the run before comes back any more.
void Node::end_grace_of_far() {
  for (const auto& [interface, waiting] : arrivals_at_) arrivals_happened(options_.uid, interface);
  for (const auto& [name, waiting] : far_awaited_) far_name_happened(options_.uid, name);
}

}  // namespace hamlyn::node
