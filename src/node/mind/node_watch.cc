// The node's mind, as far as it tells processes which nodes there are, and of every change.
#include <algorithm>
#include <utility>

#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {

// A watcher costs a connection for as long as it likes, so it counts as an interface.
void Node::watch(std::uint64_t id, Connection& connection, const Request& request) {
  accounts_.take(connection.who.uid, Resource::interfaces, 1);
  accounts_.give(connection.who.uid, Resource::strangers, 1);
  forget_deadline(id, connection);
  connection.stage = Stage::watcher;
  if (watches_.empty()) seen_.clear();
  look_at_members(now_);  // whoever watches already is told first, and not twice
  Watch& watch = watches_[id];
  watch.request = request.request;
  if (others_ != nullptr) {
    for (const MemberReply& row : others_->members()) {
      seen_[row.id] = {row.state, row.incarnation};
      watch.due[row.id] = 0;
    }
  }
  tell_watcher(id, watch);
}

void Node::look_at_members(Time now) {
  now_ = now;
  if (watches_.empty() || others_ == nullptr) return;
  bool news = false;
  for (const MemberReply& row : others_->members()) {
    const std::pair state{row.state, row.incarnation};
    if (std::exchange(seen_[row.id], state) == state) continue;
    news = true;
    for (auto& [id, watch] : watches_) ++watch.due[row.id];
  }
  if (!news) return;
  for (auto& [id, watch] : watches_) tell_watcher(id, watch);
}

// As much as it reads. The rest waits as one line for each node, however often that changes meanwhile.
void Node::tell_watcher(std::uint64_t id, Watch& watch) {
  const auto members = watch.due.empty() ? std::vector<MemberReply>{} : others_->members();
  while (!watch.due.empty()) {
    if (environment_.behind(id)) return;
    const auto [node, changes] = *watch.due.begin();
    watch.due.erase(watch.due.begin());
    const auto row = std::ranges::find(members, node, &MemberReply::id);
    if (row == members.end()) continue;
    MemberReply reply = *row;
    reply.request = watch.request;
    reply.changes = changes;
    environment_.send(id, bytes_of(reply));
  }
  if (watch.whole || environment_.behind(id)) return;
  watch.whole = true;
  NodeReply end;
  end.request = watch.request;
  environment_.send(id, bytes_of(end));
}

}  // namespace hamlyn::node
