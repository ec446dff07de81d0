// The node's mind, as far as names of other nodes go, and those of this one that others look for.
#include <algorithm>
#include <utility>

#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {
namespace {

constexpr Time kSearchTime{2000};

}  // namespace

// Asks the other nodes for a name that nobody has here. `may_come`: the one who had it here may come back.
void Node::search(std::uint64_t id, const Request& request, bool may_come) {
  if (others_ == nullptr) return;
  expect_far(id, connections_.at(id));
  const std::uint64_t serial = begin_search(id, request, may_come);
  searches_.at(serial).waiters.insert({id, request.request});
  search_of_[{id, request.request}] = serial;
}

// One that waits joins the one that does. One that does not is asked anew: what others have answered before
// may be wrong by now.
std::uint64_t Node::begin_search(std::uint64_t id, const Request& request, bool may_come) {
  const Identity& who = connections_.at(id).who;
  const bool wait = (request.flags & Request::kWait) != 0;
  const Wanted wanted{name_of(request), who.uid, who.gid};
  if (wait) {
    const auto [found, fresh] = shared_.try_emplace(wanted, next_serial_);
    if (!fresh) {
      Search& joined = searches_.at(found->second);
      // One who joins may have been told of another node than the one that is looked at first.
      if (joined.hinted && !joined.open.contains(static_cast<NodeId>(request.number)))
        look_everywhere(found->second, joined);
      return found->second;
    }
  }
  const std::uint64_t serial = next_serial_++;
  Search& search = searches_[serial];
  search.what = {serial, who.uid, who.gid, wait, std::string(name_of(request))};
  search.patient = wait || may_come;
  if (!search.patient) {
    search.until = now_ + kSearchTime;
    search_deadlines_.insert({search.until, serial});
  }
  const auto likely = static_cast<NodeId>(request.number);
  if (likely != 0 && others_->incarnation_of(likely) != 0) {
    look_at(serial, search, likely);
    // A look-up that waits at the likely node alone, and is not found there, would hear nothing of the
    // others.
    search.hinted = !search.patient || search.reading.contains(likely);
  }
  if (!search.hinted) look_everywhere(serial, search);
  return serial;
}

// Has its registry read, or else asks it when it takes that.
void Node::look_at(std::uint64_t serial, Search& search, NodeId node) {
  const auto [asked, fresh] = search.open.try_emplace(node, presence_of(node));
  if (!fresh && asked->second == presence_of(node)) return;
  asked->second = presence_of(node);
  search.reading.erase(node);
  if (clerk_ != nullptr && clerk_->read(serial, node, search.what.name)) {
    search.reading.insert(node);
    return;
  }
  unsaid_[node].insert(serial);
  tell_lookups(node);
}

void Node::look_everywhere(std::uint64_t serial, Search& search) {
  search.hinted = false;
  for (const NodeId node : others_->there()) look_at(serial, search, node);
}

// Tells that node of look-ups that it has not heard of, the oldest first, as far as it takes them now.
void Node::tell_lookups(NodeId node) {
  const auto found = unsaid_.find(node);
  if (found == unsaid_.end()) return;
  auto& serials = found->second;
  while (!serials.empty() && others_->has_room(node)) {
    Search& search = searches_.at(serials.extract(serials.begin()).value());
    search.open[node] = presence_of(node);
    const FarLookup& what = search.what;
    if (clerk_ != nullptr && !what.wait) clerk_->asked(what.serial, node);
    tell(node, what);
  }
  if (serials.empty()) unsaid_.erase(found);
}

bool Node::was_asked(NodeId node, std::uint64_t serial) const {
  const auto search = searches_.find(serial);
  const auto unsaid = unsaid_.find(node);  // (nodes of one that is over are not open)
  if (search == searches_.end()) return false;
  const auto asked = search->second.open.find(node);
  return asked != search->second.open.end() && asked->second == presence_of(node) &&
         !search->second.reading.contains(node) &&
         (unsaid == unsaid_.end() || !unsaid->second.contains(serial));
}

// Notes that this node does not have the name, or is not there.
void Node::searched(std::uint64_t serial, NodeId node) {
  Search& search = searches_.at(serial);
  if (search.hinted) look_everywhere(serial, search);
  search.open.erase(node);
  search.reading.erase(node);
  if (search.patient ? !search.not_permitted : !search.open.empty()) return;
  if (search.not_permitted)
    return refuse_search(serial, ErrorCode::not_permitted,
                         "whoever registered the name on another node does not let this user look it up");
  const std::string missing = missing_nodes();
  refuse_search(
      serial, ErrorCode::name_unknown,
      "nobody in this cluster has registered the name" + (missing.empty() ? missing : ": " + missing));
}

// Says which nodes of the cluster could not be asked for a name, as far as there is room to name them.
std::string Node::missing_nodes() const {
  if (others_ == nullptr) return {};
  constexpr std::size_t kMost = 8;
  std::string missing;
  std::size_t count = 0;
  for (const MemberReply& member : others_->members()) {
    if (member.id == others_->self() || others_->incarnation_of(member.id) != 0) continue;
    if (++count <= kMost) missing += (count == 1 ? "" : ", ") + std::to_string(member.id);
  }
  if (count == 0) return {};
  if (count > kMost) missing += " and " + std::to_string(count - kMost) + " more";
  return (count == 1 ? "node " : "nodes ") + missing + (count == 1 ? " is" : " are") + " not there";
}

// Refuses the search to all who wait for it. The search ends with the last of them.
void Node::refuse_search(std::uint64_t serial, ErrorCode code, std::string_view text) {
  Search& search = searches_.at(serial);
  if (search.over()) return;
  search.refused = Refused{code, std::string(text)};
  end_search(search);
}

// Its request has been answered, or nobody wants the answer any more.
void Node::leave_search(Waiting waiting) {
  const auto of = search_of_.find(waiting);
  if (of == search_of_.end()) return;
  const std::uint64_t serial = of->second;
  search_of_.erase(of);
  const auto found = searches_.find(serial);
  found->second.waiters.erase(waiting);
  if (!found->second.waiters.empty()) return;
  if (!found->second.over()) close_search(found->second);
  searches_.erase(found);
}

// Nobody joins it any more, and no node looks for it.
void Node::close_search(Search& search) {
  const std::uint64_t serial = search.what.serial;
  search_deadlines_.erase({search.until, serial});
  if (search.what.wait) shared_.erase({search.what.name, search.what.uid, search.what.gid});
  for (const auto& [node, presence] : search.open) {
    if (search.reading.contains(node)) continue;
    const auto unsaid = unsaid_.find(node);
    if (unsaid == unsaid_.end() || unsaid->second.erase(serial) == 0) tell(node, FarCancel{serial});
  }
  search.open.clear();
  search.reading.clear();
}

// Tells those who wait, in turns of their user.
void Node::end_search(Search& search) {
  close_search(search);
  happened(search.what.uid, {.what = Due::What::search, .of = search.what.serial});
  go_on(kAtOnce);
}

void Node::take_lookup(NodeId node, const FarLookup& what) {
  const FarKey key{node, what.serial};
  if (const auto same = far_waiters_.find(key); same != far_waiters_.end()) {
    if (same->second.presence == presence_of(node)) {
      ++malformed_;
      return;
    }
    forget_far_waiter(key);
  }
  if (answer_far_lookup(node, what)) return;
  if (!take_for(key, what.uid, Resource::lookups)) return;
  far_waiters_[key] = {what, far_awaited_[what.name].add({node, what.uid}, key), presence_of(node)};
}

void Node::forget_far_waiter(FarKey key) {
  const auto found = far_waiters_.find(key);
  const FarLookup& what = found->second.what;
  const auto awaited = far_awaited_.find(what.name);
  awaited->second.remove({key.first, what.uid}, found->second.place);
  if (awaited->second.empty()) far_awaited_.erase(awaited);
  give_for(key.first, what.uid, Resource::lookups);
  crowded_.erase(key);
  far_waiters_.erase(found);
}

// False if there is no answer yet, or no room for it.
bool Node::answer_far_lookup(NodeId node, const FarLookup& what) {
  const auto found = names_.find(what.name);
  if (found == names_.end() && (what.wait || names_unknown() || kept_.contains(what.name))) return false;
  if (!others_->has_room(node)) return crowded_.insert({node, what.serial}), false;
  if (found == names_.end()) return refuse_far(node, what.serial, {ErrorCode::name_unknown, "unknown"}), true;
  const RegisteredName name = registered(found->second);
  if (!may_look_up(what.uid, what.gid, name))
    refuse_far(node, what.serial, {ErrorCode::not_permitted, "not permitted"});
  else
    tell(node, FarFound{what.serial, name.interface, name.uid, name.gid, name.pid, name.ticket});
  return true;
}

void Node::answer_far_waiter(FarKey key) {
  const auto found = far_waiters_.find(key);
  if (found == far_waiters_.end()) return;
  const bool stale = found->second.presence != presence_of(key.first);
  if (stale || answer_far_lookup(key.first, found->second.what)) forget_far_waiter(key);
}

void Node::take_found(NodeId node, const FarFound& what) {
  if (node_of(what.peer) != node || !was_asked(node, what.serial)) return;
  if (clerk_ != nullptr) clerk_->answered(what.serial, node);
  found_far(searches_.at(what.serial), node, {what.ticket, 0, what.peer, what.uid, what.gid, what.pid, {}});
}

// The search ends with the last of those who wait.
void Node::found_far(Search& search, NodeId node, const RegisteredName& what) {
  if (search.over()) return;
  search.open.erase(node);  // it waits no more
  search.found = what;
  end_search(search);
}

void Node::take_cancel(NodeId node, const FarCancel& what) {
  if (const FarKey key{node, what.serial}; far_waiters_.contains(key)) forget_far_waiter(key);
}

}  // namespace hamlyn::node
