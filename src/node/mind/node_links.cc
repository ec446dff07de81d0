// The node's mind, as far as links within it go: introductions, quotas, ends, and what processes report.
#include <algorithm>
#include <utility>

#include "base/link_reasons.h"
#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {
namespace {

constexpr Time kProofTime{5000};           // for the other end to tell of a link that one end has told of
constexpr std::size_t kMaxShunned = 1024;  // peers that one process does not want to hear of

}  // namespace

void Node::introduce(std::uint64_t id, Connection& connection, const Request& request) {
  if (far(request.number)) return introduce_far(id, connection, request);
  const auto asked = interfaces_.find(request.number);
  if (asked != interfaces_.end())  // first of all: whoever may not has nothing held, and no quota looked at
    check_consent(connections_.at(asked->second), connection.who.uid, connection.who.gid,
                  is_clerk(connection.who));
  if (const auto obstacle = obstacle_to(id, connection, request.number)) {
    hold(id, connection, request);
    return introductions_.add({id, request.number}, connection.who.uid, request.request, *obstacle);
  }
  const auto there = interfaces_.find(request.number);
  if (there == interfaces_.end()) {
    throw Refused{ErrorCode::name_unknown,
                  "no interface " + std::to_string(request.number) + " is attached to this node"};
  }
  if (there->second == id) throw Refused{ErrorCode::invalid_argument, "a process needs no link with itself"};
  Connection& peer = connections_.at(there->second);
  if (peer.shunned.contains(connection.interface)) {
    throw Refused{ErrorCode::not_permitted,
                  "interface " + std::to_string(request.number) +
                      " has refused so many packets of this process that the link was cut",
                  LinkReason::shunned};
  }
  if (const auto mine = connection.with.find(peer.interface); mine != connection.with.end()) {
    Reply linked = make_reply(ReplyKind::linked, request.request);
    linked.peer = peer.interface;
    linked.link = mine->second;
    return answer(id, linked);
  }
  const bool foreign = connection.who.uid != peer.who.uid;
  check_room(connection.who.uid, foreign ? 1 : 2);
  if (foreign) check_peers_room(peer.who.uid, connection.who.uid);
  // A link to another node has a number that was drawn elsewhere.
  while (connection.links.contains(next_number_) || peer.links.contains(next_number_)) ++next_number_;
  const auto side = [&](const Connection& other, std::uint64_t number, bool initiator) {
    Reply out = make_reply(ReplyKind::introduced, number);
    out.peer = other.interface;
    out.link = next_number_;
    out.uid = other.who.uid;
    out.gid = other.who.gid;
    out.pid = other.who.pid;
    out.initiator = initiator ? 1 : 0;
    return out;
  };
  const char* why = environment_.introduce(id, side(peer, request.request, true), there->second,
                                           side(connection, 0, false));
  if (why != nullptr) throw Refused{ErrorCode::out_of_memory, why};
  hear_again(connection, peer.interface);
  open_side(connection, next_number_, {peer.interface, kLinkBytes, {}});
  open_side(peer, next_number_, {connection.interface, kLinkBytes, connection.who.uid});
  ++next_number_;
}

void Node::check_room(std::uint32_t uid, std::uint64_t ends) const {
  accounts_.check(uid, Resource::links, ends);
  accounts_.check(uid, Resource::bytes, ends * kLinkBytes);
}

// Checks the room of the user at the other side of a link: that quota is none of the asker's.
void Node::check_peers_room(std::uint32_t uid, std::uint32_t asker) const {
  try {
    check_room(uid, 1);
    if (uid != asker) accounts_.check_foreign(uid, asker);
  } catch (const Refused& refusal) {
    if (refusal.code == ErrorCode::node_full) throw;
    throw Refused{refusal.code, refusal.text, LinkReason::peer_quota};
  }
}

void Node::open_side(Connection& connection, std::uint64_t link, const Side& side) {
  const std::uint32_t uid = connection.who.uid;
  Side& opened = connection.links[link];
  opened = side;
  connection.with[side.peer] = link;
  connection.bytes += side.bytes;
  accounts_.add(uid, Resource::bytes, side.bytes);
  accounts_.add(uid, Resource::links, 1);
  if (side.asker && *side.asker != uid) accounts_.add_foreign(uid, *side.asker);
  if (!far(side.peer)) return;
  const NodeId node = node_of(side.peer);
  opened.presence = presence_of(node);
  links_to_[node].insert({connection.interface, link});
  if (side.asker) visitors(node).add(*side.asker, Resource::links, 1);
}

void Node::close_side(Connection& connection, std::uint64_t link) {
  const auto found = connection.links.find(link);
  const Side& side = found->second;
  const std::uint32_t uid = connection.who.uid;
  if (side.unproven) adoptions_.erase({*side.unproven, {interfaces_.at(connection.interface), link}});
  connection.bytes -= side.bytes;
  if (far(side.peer)) {
    const auto links = links_to_.find(node_of(side.peer));
    links->second.erase({connection.interface, link});
    if (links->second.empty()) links_to_.erase(links);
  }
  if (side.asker && far(side.peer)) give_for(node_of(side.peer), *side.asker, Resource::links);
  if (side.asker && *side.asker != uid) accounts_.give_foreign(uid, *side.asker);
  accounts_.give(uid, Resource::bytes, side.bytes);
  accounts_.give(uid, Resource::links, 1);
  connection.with.erase(side.peer);
  connection.links.erase(found);
}

void Node::link_ended(Connection& connection, std::uint64_t link) {
  const auto found = connection.links.find(link);
  if (found == connection.links.end()) return;  // it was told to the daemon before this one
  const std::uint64_t self = connection.interface;
  const std::uint64_t peer = found->second.peer;
  if (far(peer)) tell_far_end(connection, link, found->second.why);
  const std::uint32_t uid = connection.who.uid;
  close_side(connection, link);
  try_introductions_between(self, peer);
  if (!far(peer)) return;
  arrivals_happened(uid, self);
  go_on(kAtOnce);
}

// Keeps what a process says of the end of a link that is still to come. A cut is the node's to say.
void Node::end_reason(Connection& connection, const Request& request) {
  const auto found = connection.links.find(request.number);
  const LinkReason reason = base::link_reason(request.bytes);
  if (found == connection.links.end() || reason == LinkReason::cut || !base::may_be_told(request.bytes))
    return;
  found->second.why = reason;
}

void Node::link_bytes(std::uint64_t id, Connection& connection, const Request& request) {
  const auto found = connection.links.find(request.number);
  if (found == connection.links.end())
    throw Refused{ErrorCode::invalid_argument, "this process has no such link"};
  const std::uint64_t before = found->second.bytes;
  change_bytes(connection.who.uid, found->second.bytes, request.bytes);
  connection.bytes = connection.bytes - before + request.bytes;
  Reply reply = make_reply(ReplyKind::granted, request.request);
  reply.link = request.number;
  answer(id, reply);
}

void Node::change_bytes(std::uint32_t uid, std::uint64_t& from, std::uint64_t to) {
  // Giving back is always allowed, also above a quota.
  if (to > from)
    accounts_.take(uid, Resource::bytes, to - from);
  else
    accounts_.give(uid, Resource::bytes, from - to);
  from = to;
}

// Counts the bytes of send buffer areas, and of message areas that others map: the process's own word, like
// that on links.
void Node::area_bytes(std::uint64_t id, Connection& connection, const Request& request) {
  change_bytes(connection.who.uid, connection.area_bytes, request.bytes);
  answer(id, make_reply(ReplyKind::granted, request.request));
}

// A link that is older than this daemon. It exists whether we like it or not; beyond the quotas it is not
// kept in mind, so that a process cannot fill the daemon with links it makes up.
void Node::adopt_link(Connection& connection, const Request& request) {
  // One to another node ended with the daemon before this one: the other node has given up that incarnation.
  if (far(request.peer))
    return tell_gone(connection, request.number, request.peer, LinkReason::daemon_restarted,
                     "this node's daemon was started again");
  const std::uint32_t uid = connection.who.uid;
  if (request.number == 0 || request.peer == 0 || request.peer == connection.interface ||
      connection.links.contains(request.number) || connection.with.contains(request.peer) ||
      !accounts_.fits(uid, Resource::links, 1) || !accounts_.fits(uid, Resource::bytes, request.bytes)) {
    ++refused_;
    return;
  }
  open_side(connection, request.number, {request.peer, request.bytes, {}});
  prove(connection, request.number);
}

// A process may make up a link with anybody. Until the other end has told of it, too, it stands in the way of
// introductions for a time, and no longer.
void Node::prove(Connection& connection, std::uint64_t link) {
  Side& side = connection.links.at(link);
  const auto there = interfaces_.find(side.peer);
  if (there != interfaces_.end()) {
    const auto other = connections_.at(there->second).links.find(link);
    if (other != connections_.at(there->second).links.end() && other->second.peer == connection.interface) {
      if (other->second.unproven) adoptions_.erase({*other->second.unproven, {there->second, link}});
      other->second.unproven.reset();
      return;
    }
  }
  side.unproven = now_ + kProofTime;
  adoptions_.insert({*side.unproven, {interfaces_.at(connection.interface), link}});
}

// Hears a report of refused packets. A report is the process's own word: it costs the reporter its link with
// the peer, and nobody else anything (paper 1, section 3.6). The peer may not ask for the next link. The
// reporter may, and then the peer is heard again.
void Node::report(std::uint64_t id, Connection& connection, const Request& request) {
  const auto found = connection.links.find(request.number);
  if (found == connection.links.end()) return;  // it has ended meanwhile
  Side& side = found->second;
  const std::uint64_t before = side.refused;
  side.refused = std::max(before, request.bytes);  // it only grows
  const std::uint64_t limit = options_.cut_after;
  if (limit == 0 || before >= limit || side.refused < limit) return;
  ++cut_;
  shun(connection, side.peer);
  Reply reply = make_reply(ReplyKind::cut, 0);
  reply.link = request.number;
  reply.peer = side.peer;
  const auto there = interfaces_.find(side.peer);
  if (far(side.peer)) tell_far_end(connection, request.number, LinkReason::cut);
  answer(id, reply);
  if (there == interfaces_.end()) return;
  // The number may be one that the reporter has made up, by adopting it, for a link of that peer with
  // another.
  const auto& theirs = connections_.at(there->second).links;
  const auto other = theirs.find(request.number);
  if (other == theirs.end() || other->second.peer != connection.interface) return;
  reply.peer = connection.interface;
  answer(there->second, reply);
}

void Node::shun(Connection& connection, std::uint64_t peer) {
  const std::uint32_t uid = connection.who.uid;
  if (connection.shunned.contains(peer) || connection.shunned.size() >= kMaxShunned ||
      !accounts_.fits(uid, Resource::shunned, 1)) {
    return;
  }
  connection.shunned.insert(peer);
  accounts_.add(uid, Resource::shunned, 1);
}

// Lets the peer ask again: the process asks for a link with that one itself.
void Node::hear_again(Connection& connection, std::uint64_t peer) {
  if (connection.shunned.erase(peer) != 0) accounts_.give(connection.who.uid, Resource::shunned, 1);
}

}  // namespace hamlyn::node
