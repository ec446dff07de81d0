// The node's mind, as far as requests of other nodes wait: what happens to many of them at once is dealt with
// in turns of the users whom it concerns, one request a step.
#include <utility>

#include "node/mind/node.h"
#include "node/mind/replies.h"

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

// Tells one of those whom the end or the coming of a node concerns, or looks at some whom it does not.
// Whether there is more.
bool Node::step_node(const Due& due) {
  const auto node = static_cast<NodeId>(due.of);
  NodeNews& news = node_news_.at(node);
  for (int looks = 0; looks < kAtOnce; ++looks) {
    const auto told = tell_next(node, news);
    if (told == true) return true;
    if (told || next_part(node, news)) continue;
    node_news_.erase(node);
    return false;
  }
  return true;
}

// False: there is none.
bool Node::next_part(NodeId node, NodeNews& news) {
  using Part = NodeNews::Part;
  news.part = static_cast<Part>(static_cast<std::uint8_t>(news.part) + 1);
  const bool by_node = news.part == Part::introductions || news.part == Part::lookups;
  news.after =
      by_node ? std::pair{std::uint64_t{node} - 1, kNoSerial} : std::pair<std::uint64_t, std::uint64_t>{};
  return news.part < (news.back ? Part::none : Part::ways);
}

// Whether somebody was told; nothing: all of this part were looked at.
std::optional<bool> Node::tell_next(NodeId node, NodeNews& news) {
  switch (news.part) {
    case NodeNews::Part::links:
      return tell_next_link(node, news);
    case NodeNews::Part::asks:
      return tell_next_ask(node, news);
    case NodeNews::Part::searches:
      return tell_next_search(node, news);
    case NodeNews::Part::introductions:
      return forget_next(arrivals_, &Node::forget_arrival, node, news);
    case NodeNews::Part::lookups:
      return forget_next(far_waiters_, &Node::forget_far_waiter, node, news);
    case NodeNews::Part::ways:
      return open_next_way(node, news);
    case NodeNews::Part::again:
      return ask_next_again(node, news);
    case NodeNews::Part::none:
      break;
  }
  return std::nullopt;
}

std::optional<bool> Node::tell_next_link(NodeId node, NodeNews& news) {
  const auto links = links_to_.find(node);
  if (links == links_to_.end()) return std::nullopt;
  const auto next = links->second.upper_bound(news.after);
  if (next == links->second.end()) return std::nullopt;
  news.after = *next;
  const auto [interface, link] = *next;
  const auto there = interfaces_.find(interface);
  if (there == interfaces_.end()) return false;
  Connection& connection = connections_.at(there->second);
  const auto side = connection.links.find(link);
  if (side == connection.links.end() || side->second.gone || side->second.presence == presence_of(node))
    return false;
  if (news.silent)
    tell_silent(connection, link, side->second.peer, news.why);
  else
    tell_gone(connection, link, side->second.peer, LinkReason::node_missing, news.why);
  return true;
}

std::optional<bool> Node::tell_next_ask(NodeId node, NodeNews& news) {
  const auto next = asks_.upper_bound(news.after);
  if (next == asks_.end()) return std::nullopt;
  news.after = next->first;
  if (node_of(next->second.peer) != node || next->second.presence == presence_of(node)) return false;
  refuse_waiting(Waiting{next->first}, {ErrorCode::peer_died, news.why});
  return true;
}

std::optional<bool> Node::tell_next_search(NodeId node, NodeNews& news) {
  const auto next = searches_.upper_bound(news.after.first);
  if (next == searches_.end()) return std::nullopt;
  news.after.first = next->first;
  const auto asked = next->second.open.find(node);
  if (asked == next->second.open.end() || asked->second == presence_of(node)) return false;
  if (const auto unsaid = unsaid_.find(node); unsaid != unsaid_.end()) {
    unsaid->second.erase(next->first);
    if (unsaid->second.empty()) unsaid_.erase(unsaid);
  }
  searched(next->first, node);
  return true;
}

// Looks at one of the requests of that node's, introductions or look-ups, and forgets it if the node had made
// it before it went.
template <class Requests>
std::optional<bool> Node::forget_next(const Requests& requests, void (Node::*let_go)(FarKey), NodeId node,
                                      NodeNews& news) {
  const auto next = requests.upper_bound({static_cast<NodeId>(news.after.first), news.after.second});
  if (next == requests.end() || next->first.first != node) return std::nullopt;
  news.after = next->first;
  if (next->second.presence != presence_of(node)) (this->*let_go)(FarKey{next->first});
  return false;
}

// Has a process that is likely to talk to others say where it is reached.
std::optional<bool> Node::open_next_way(NodeId node, NodeNews& news) {
  const auto next = interfaces_.upper_bound(news.after.first);
  if (next == interfaces_.end()) return std::nullopt;
  news.after.first = next->first;
  Connection& connection = connections_.at(next->second);
  if (!connection.outward || connection.reach != Reach::unasked) return false;
  have_way_opened(next->second, connection, node);
  return true;
}

// Asks a node that has come for a name that somebody waits for.
std::optional<bool> Node::ask_next_again(NodeId node, NodeNews& news) {
  const auto next = searches_.upper_bound(news.after.first);
  if (next == searches_.end()) return std::nullopt;
  news.after.first = next->first;
  auto& [serial, search] = *next;
  const auto asked = search.open.find(node);
  if (!search.what.wait || search.hinted || search.over() ||
      (asked != search.open.end() && asked->second == presence_of(node)))
    return false;
  search.open[node] = presence_of(node);
  unsaid_[node].insert(serial);
  tell_lookups(node);
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

}  // namespace hamlyn::node
