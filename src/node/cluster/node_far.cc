// The node's mind, as far as processes and names of other nodes go.
#include <algorithm>
#include <utility>

#include "base/link_reasons.h"
#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {
namespace {

constexpr Time kArrivalTime{5000};  // for a process to say where it is reached, or to end an earlier link
constexpr Time kAskTime{6000};      // for the other node to answer: longer than what it gives its process
constexpr std::uint64_t kOfANode =
    4;  // all users of one other node may have this part of what all may have here

Reply far_gone(std::uint64_t link, std::uint64_t peer, ErrorCode error, LinkReason reason,
               std::string_view why) {
  Reply reply = make_reply(ReplyKind::far_gone, 0);
  reply.error = static_cast<std::uint32_t>(error);
  reply.initiator = static_cast<std::uint32_t>(reason);
  reply.peer = peer;
  reply.link = link;
  put_text(reply.text, why);
  return reply;
}

}  // namespace

bool Node::far(std::uint64_t interface) const noexcept {
  return others_ != nullptr && node_of(interface) != 0 && node_of(interface) != others_->self();
}

// The reason stands in the upper half of the error.
void Node::refuse_far(NodeId node, std::uint64_t serial, const Refused& refusal) {
  const std::uint32_t error = static_cast<std::uint32_t>(refusal.reason) << 16;
  tell(node, FarRefused{serial, error | static_cast<std::uint32_t>(refusal.code), refusal.text});
}

void Node::node_said(NodeId node, std::span<const std::byte> message, Time now) {
  now_ = now;
  const auto split = split_message(message);
  bool whole = false;
  const auto take = [&](auto what, auto method) {
    whole = decode(split->second, what);
    if (whole) (this->*method)(node, what);
  };
  if (split) {
    switch (static_cast<FarKind>(split->first)) {
      case FarKind::introduce:
        take(FarIntroduce{}, &Node::take_introduce);
        break;
      case FarKind::introduced:
        take(FarIntroduced{}, &Node::take_introduced);
        break;
      case FarKind::refused:
        take(FarRefused{}, &Node::take_refused);
        break;
      case FarKind::ended:
        take(FarEnded{}, &Node::take_ended);
        break;
      case FarKind::lookup:
        take(FarLookup{}, &Node::take_lookup);
        break;
      case FarKind::found:
        take(FarFound{}, &Node::take_found);
        break;
      case FarKind::cancel:
        take(FarCancel{}, &Node::take_cancel);
        break;
      case FarKind::want_registry:
        take(FarWantRegistry{}, &Node::take_want_registry);
        break;
      case FarKind::registry:
        take(FarRegistry{}, &Node::take_registry);
        break;
    }
  }
  if (!whole) ++malformed_;
}

// Accounts of another node's processes here: each user within a quota, and all within a part of what those of
// this node may have. That node has the cluster's secret, and may have gone mad.
Accounts& Node::visitors(NodeId node) {
  const Quotas& total = options_.total;
  const Quotas all{total.interfaces / kOfANode, total.links / kOfANode, total.bytes / kOfANode,
                   total.names / kOfANode};
  const std::string where = " on node " + std::to_string(others_->self());
  return visitors_.try_emplace(node, options_.quotas, all, options_.uid, where).first->second;
}

// False: it was refused, and told so.
bool Node::take_for(FarKey key, std::uint32_t uid, Resource what) {
  const auto [node, serial] = key;
  try {
    visitors(node).take(uid, what, 1);
    return true;
  } catch (const Refused& refusal) {
    ++refused_;
    crowded_.erase(key);
    refuse_far(node, serial, refusal);
    return false;
  }
}

void Node::give_for(NodeId node, std::uint32_t uid, Resource what) {
  Accounts& held = visitors(node);
  held.give(uid, what, 1);
  if (held.empty()) visitors_.erase(node);
}

// Introductions.

std::string Node::because(const Connection& connection) {
  return connection.unreached.empty() ? std::string{} : ": " + connection.unreached;
}

FarEnd Node::end_of(const Connection& connection) const {
  FarEnd out;
  out.uid = connection.who.uid;
  out.gid = connection.who.gid;
  out.pid = connection.who.pid;
  out.clerk = is_clerk(connection.who);
  std::memcpy(out.engine, connection.engine, sizeof out.engine);
  out.address = connection.address;
  return out;
}

void Node::introduce_far(std::uint64_t id, Connection& connection, const Request& request) {
  const NodeId node = node_of(request.number);
  if (node_of(connection.interface) != others_->self())  // nobody there would know where it is
    throw Refused{ErrorCode::not_permitted,
                  "this process has its number from before this host was node " +
                      std::to_string(others_->self()) + ": a new interface has one of that node",
                  LinkReason::no_way};
  if (others_->incarnation_of(node) == 0)
    throw Refused{ErrorCode::peer_died, "node " + std::to_string(node) + " is not there"};
  if (connection.reach == Reach::none)
    throw Refused{ErrorCode::invalid_argument,
                  "this process has said that no other node reaches it" + because(connection),
                  LinkReason::no_way};
  if (connection.reach != Reach::known) {
    have_way_opened(id, connection, node);
    return hold(id, connection, request);  // until it says where it is reached
  }
  if (const auto mine = connection.with.find(request.number); mine != connection.with.end()) {
    if (connection.links.at(mine->second).gone) return hold(id, connection, request);
    Reply linked = make_reply(ReplyKind::linked, request.request);
    linked.peer = request.number;
    linked.link = mine->second;
    return answer(id, linked);
  }
  if (find_ask(id, request.number) != asks_.end()) return hold(id, connection, request);
  check_room(connection.who.uid, 1);
  if (!others_->has_room(node)) {
    throw Refused{ErrorCode::out_of_memory,
                  "node " + std::to_string(node) + " has more to hear already than it takes: ask again"};
  }
  hold(id, connection, request);
  Ask ask;
  ask.serial = next_serial_++;
  ask.peer = request.number;
  ask.until = now_ + kAskTime;
  ask.presence = presence_of(node);
  while (ask.link == 0 || connection.links.contains(ask.link))
    others_->random(std::as_writable_bytes(std::span{&ask.link, 1}));
  others_->random(ask.key);
  asks_[{id, request.request}] = ask;
  ask_deadlines_.insert({ask.until, {id, request.request}});
  asked_[ask.serial] = {id, request.request};
  accounts_.add(connection.who.uid, Resource::links, 1);
  accounts_.add(connection.who.uid, Resource::bytes, kLinkBytes);
  tell(node, FarIntroduce{ask.serial, connection.interface, ask.peer, ask.link, ask.key, end_of(connection)});
}

// Finds what a process has asked for a link with that peer, if it has.
std::map<Node::Waiting, Node::Ask>::iterator Node::find_ask(std::uint64_t id, std::uint64_t peer) {
  for (auto at = asks_.lower_bound({id, 0}); at != asks_.end() && at->first.first == id; ++at) {
    if (at->second.peer == peer) return at;
  }
  return asks_.end();
}

void Node::end_ask(std::map<Waiting, Ask>::iterator ask) {
  const std::uint32_t uid = connections_.at(ask->first.first).who.uid;
  accounts_.give(uid, Resource::links, 1);
  accounts_.give(uid, Resource::bytes, kLinkBytes);
  ask_deadlines_.erase({ask->second.until, ask->first});
  asked_.erase(ask->second.serial);
  asks_.erase(ask);
}

// A process says itself where it is reached.
void Node::check_place(NodeId node, const FarEnd& end) const {
  const auto at = others_->place_of(node);
  const char* why = at ? wrong_place(end, *at) : "its node is not there";
  if (why == nullptr) return;
  throw Refused{ErrorCode::not_permitted,
                "a process of node " + std::to_string(node) + " cannot be reached where it says: " + why,
                LinkReason::no_way};
}

// A name is published, or looked for on other nodes: messages will follow. The first way out takes a process
// half a second to open, so it does that meanwhile.
void Node::expect_far(std::uint64_t id, Connection& connection) {
  if (others_ == nullptr || std::exchange(connection.outward, true)) return;
  if (const auto there = others_->there(); !there.empty()) have_way_opened(id, connection, there.front());
}

void Node::have_way_opened(std::uint64_t id, Connection& connection, NodeId towards) {
  if (connection.reach != Reach::unasked) return;
  connection.reach = Reach::asked;
  Reply reply = make_reply(ReplyKind::open_fabric, 0);
  std::string text = others_->reached_at(towards);
  if (!options_.engine.empty()) text += " " + options_.engine;
  put_text(reply.text, text);
  answer(id, reply);
}

void Node::take_introduce(NodeId node, FarIntroduce what) {
  const FarKey key{node, what.serial};
  const auto same = arrivals_.find(key);
  const bool stale = same != arrivals_.end() && same->second.presence != presence_of(node);
  if (node_of(what.asker) != node || what.link == 0 || (same != arrivals_.end() && !stale)) {
    ++malformed_;
    return;
  }
  if (stale) forget_arrival(key);
  if (take_up(node, what)) return;
  if (!take_for(key, what.end.uid, Resource::introductions)) return;
  const FairOrder::Place place = arrivals_at_[what.peer].add({node, what.end.uid}, key);
  arrivals_of_[{node, what.link, what.peer, what.serial}] = key;
  arrivals_[key] = {std::move(what), now_ + kArrivalTime, place, presence_of(node)};
  arrival_deadlines_.insert({now_ + kArrivalTime, key});
}

void Node::forget_arrival(FarKey key) {
  const auto found = arrivals_.find(key);
  const FarIntroduce& what = found->second.what;
  const auto at = arrivals_at_.find(what.peer);
  at->second.remove({key.first, what.end.uid}, found->second.place);
  if (at->second.empty()) arrivals_at_.erase(at);
  arrivals_of_.erase({key.first, what.link, what.peer, what.serial});
  give_for(key.first, what.end.uid, Resource::introductions);
  crowded_.erase(key);
  arrival_deadlines_.erase({found->second.until, key});
  arrivals_.erase(found);
}

// False if it cannot be answered yet.
bool Node::take_up(NodeId node, const FarIntroduce& what) {
  if (!others_->has_room(node)) return crowded_.insert({node, what.serial}), false;
  const auto there = interfaces_.find(what.peer);
  try {
    check_place(node, what.end);
    if (there != interfaces_.end()) return take_up_at(there->second, node, what);
    if (grace_) return false;
    throw Refused{ErrorCode::name_unknown, "no interface " + std::to_string(what.peer) +
                                               " is attached to node " + std::to_string(others_->self())};
  } catch (const Refused& refusal) {
    ++refused_;
    refuse_far(node, what.serial, refusal);
    if (there == interfaces_.end()) return true;
    const auto ask = find_ask(there->second, what.asker);
    if (ask != asks_.end()) refuse_waiting(ask->first, refusal);
  }
  return true;
}

// Takes it up for the process that is asked for, which is attached here. False if it cannot be answered yet.
bool Node::take_up_at(std::uint64_t id, NodeId node, const FarIntroduce& what) {
  Connection& peer = connections_.at(id);
  if (peer.shunned.contains(what.asker)) {
    throw Refused{ErrorCode::not_permitted,
                  "that process has refused so many packets of this one that the link was cut",
                  LinkReason::shunned};
  }
  // A process that asks for the link itself consents to it.
  const bool asks_too = find_ask(id, what.asker) != asks_.end();
  if (!asks_too) check_consent(peer, what.end.uid, what.end.gid, what.end.clerk);
  // Both want the link at once: that of the lower number counts.
  if (what.peer < what.asker && asks_too) return true;
  if (const auto with = peer.with.find(what.asker); with != peer.with.end()) {
    tell_gone(peer, with->second, what.asker, LinkReason::ended,
              "the process at the other end has ended this link");
    return false;
  }
  if (peer.links.contains(what.link))
    throw Refused{ErrorCode::invalid_argument, "the number of a link that exists"};
  if (environment_.behind(id) || !has_way(id, peer, node, what.end)) return false;
  check_peers_room(peer.who.uid, what.end.uid);
  visitors(node).check(what.end.uid, Resource::links, 1);
  open_far(id, peer, 0, what.asker, what.link, what.key, what.end, false);
  tell(node, FarIntroduced{what.serial, end_of(peer)});
  // Its own request for the same link, if it has one, is answered by this one.
  if (const auto ask = find_ask(id, what.asker); ask != asks_.end()) {
    const std::uint64_t request = ask->first.second;
    release(id, peer, request);
    Reply linked = make_reply(ReplyKind::linked, request);
    linked.peer = what.asker;
    linked.link = what.link;
    answer(id, linked);
  }
  take_up_far(id, what.asker);
  return true;
}

// Whether packets of that end can reach it by now; if not, it is asked to open a way.
bool Node::has_way(std::uint64_t id, Connection& peer, NodeId node, const FarEnd& end) {
  if (peer.reach == Reach::none)
    throw Refused{ErrorCode::peer_refused, "that process cannot be reached from other nodes" + because(peer)};
  if (peer.reach != Reach::known) {
    have_way_opened(id, peer, node);
    return false;
  }
  if (const std::string_view own = engine_of(peer.engine), its = engine_of(end.engine); own != its) {
    throw Refused{ErrorCode::version_mismatch, "that process is reached by libfabric's engine " +
                                                   std::string(own) + ", and not by " + std::string(its)};
  }
  return true;
}

void Node::take_up_arrival(FarKey key) {
  const auto found = arrivals_.find(key);
  if (found == arrivals_.end()) return;
  const FarIntroduce what = found->second.what;
  const bool stale = found->second.presence != presence_of(key.first);
  if (stale || take_up(key.first, what)) forget_arrival(key);
}

void Node::open_far(std::uint64_t id, Connection& connection, std::uint64_t request, std::uint64_t peer,
                    std::uint64_t link, const std::array<std::byte, 32>& key, const FarEnd& end,
                    bool initiator) {
  FarReply reply;
  reply.initiator = initiator ? 1 : 0;
  reply.request = request;
  reply.peer = peer;
  reply.link = link;
  reply.peer_incarnation = others_->incarnation_of(node_of(peer));
  reply.own_incarnation = others_->incarnation();
  reply.uid = end.uid;
  reply.gid = end.gid;
  reply.pid = end.pid;
  reply.address_length = static_cast<std::uint32_t>(end.address.size());
  std::memcpy(reply.engine, end.engine, sizeof reply.engine);
  std::ranges::copy(end.address, reply.address.begin());
  reply.key = key;
  if (initiator) hear_again(connection, peer);
  open_side(connection, link, {peer, kLinkBytes, initiator ? std::nullopt : std::optional{end.uid}});
  environment_.send(id, bytes_of(reply));
}

void Node::take_introduced(NodeId node, const FarIntroduced& what) {
  const auto serial = asked_.find(what.serial);
  const auto found = serial == asked_.end() ? asks_.end() : asks_.find(serial->second);
  if (found == asks_.end() || node_of(found->second.peer) != node) return;  // a refusal crossed it
  const Waiting waiting = found->first;
  const Ask ask = found->second;
  try {
    check_place(node, what.end);
  } catch (const Refused& refusal) {
    return refuse_waiting(waiting, refusal);
  }
  Connection& connection = connections_.at(waiting.first);
  end_ask(found);
  release(waiting.first, connection, waiting.second);
  open_far(waiting.first, connection, waiting.second, ask.peer, ask.link, ask.key, what.end, true);
  take_up_far(waiting.first, ask.peer);
}

void Node::refuse_waiting(Waiting waiting, const Refused& refusal) {
  const auto [id, number] = waiting;
  const auto found = connections_.find(id);
  const auto ask = asks_.find(waiting);
  const std::uint64_t peer = ask == asks_.end() ? 0 : ask->second.peer;
  if (found == connections_.end() || !release(id, found->second, number)) return;
  ++refused_;
  answer(id, make_refusal(number, refusal));
  if (peer != 0) take_up_far(id, peer);  // the next one that wants the same
}

void Node::take_refused(NodeId node, const FarRefused& what) {
  const auto code = static_cast<ErrorCode>(what.error & 0xFFFF);
  if (const auto serial = asked_.find(what.serial); serial != asked_.end()) {
    const Waiting waiting = serial->second;
    const std::uint64_t peer = asks_.at(waiting).peer;
    if (node_of(peer) != node) return;
    if (clerk_ != nullptr && code == ErrorCode::name_unknown) clerk_->interface_gone(peer);
    return refuse_waiting(waiting, {code, what.text, base::link_reason(what.error >> 16)});
  }
  if (!was_asked(node, what.serial)) return;
  if (clerk_ != nullptr) clerk_->answered(what.serial, node);
  // Only the first two are answers: whoever waits would never hear of a name that came there.
  if (code != ErrorCode::not_permitted && code != ErrorCode::name_unknown)
    return refuse_search(what.serial, code, what.text);
  if (code == ErrorCode::not_permitted) searches_.at(what.serial).not_permitted = true;
  searched(what.serial, node);
}

// Links.

void Node::tell_gone(Connection& connection, std::uint64_t link, std::uint64_t peer, LinkReason reason,
                     std::string_view why) {
  if (const auto found = connection.links.find(link); found != connection.links.end()) {
    if (std::exchange(found->second.gone, true)) return;
  }
  answer(interfaces_.at(connection.interface), far_gone(link, peer, ErrorCode::peer_died, reason, why));
}

// Tells a process that the daemon there is silent: the link is over if its other end is silent, too.
void Node::tell_silent(const Connection& connection, std::uint64_t link, std::uint64_t peer,
                       std::string_view why) {
  answer(interfaces_.at(connection.interface),
         far_gone(link, peer, ErrorCode::timed_out, LinkReason::node_missing, why));
}

void Node::tell_far_end(Connection& connection, std::uint64_t link, LinkReason reason) {
  const Side& side = connection.links.at(link);
  if (!side.gone) tell(node_of(side.peer), FarEnded{link, connection.interface, side.peer, reason});
}

// Tells other nodes of a process whose connection was closed: it has died, or goes on without one.
void Node::tell_undecided(std::uint64_t id, LinkReason reason) {
  const auto leaving = leaving_.find(id);  // those that are not there yet are told of as they are closed
  if (leaving != leaving_.end() && leaving->second.leaves == LinkReason::none)
    leaving->second.leaves = reason;
  const auto found = undecided_.find(id);
  if (found == undecided_.end() || found->second.reason != LinkReason::none) return;
  found->second.reason = reason;
  happened(found->second.uid, {.what = Due::What::ends, .of = id});
}

void Node::take_ended(NodeId node, const FarEnded& what) {
  const auto over = arrivals_of_.lower_bound({node, what.link, what.yours, 0});  // nobody wants it any more
  if (over != arrivals_of_.end() && std::get<0>(over->first) == node &&
      std::get<1>(over->first) == what.link && std::get<2>(over->first) == what.yours)
    forget_arrival(FarKey{over->second});
  const auto there = interfaces_.find(what.yours);
  if (node_of(what.mine) != node) return;
  if (clerk_ != nullptr) clerk_->interface_gone(what.mine);
  if (there == interfaces_.end()) return;
  Connection& connection = connections_.at(there->second);
  const auto found = connection.links.find(what.link);
  if (found == connection.links.end() || found->second.peer != what.mine) return;
  if (what.reason != LinkReason::cut)
    return tell_gone(connection, what.link, what.mine, what.reason, "the process at the other end has gone");
  Reply reply = make_reply(ReplyKind::cut, 0);
  reply.link = what.link;
  reply.peer = what.mine;
  answer(there->second, reply);
}

// The request has been answered, or nobody wants the answer any more.
void Node::forget_far_request(Waiting waiting) {
  if (const auto ask = asks_.find(waiting); ask != asks_.end()) {
    // The other node may have made its end: it is told that there is none here.
    const auto connection = connections_.find(waiting.first);
    tell(node_of(ask->second.peer),
         FarEnded{ask->second.link, connection->second.interface, ask->second.peer, LinkReason::ended});
    end_ask(ask);
  }
  leave_search(waiting);
}

// Nodes.

void Node::node_came(NodeId node, Time now) {
  now_ = now;
  const auto [found, fresh] = node_news_.try_emplace(node);
  NodeNews& news = found->second;
  news.back = true;
  const std::uint64_t incarnation = others_->incarnation_of(node);
  const std::uint64_t before = std::exchange(incarnations_[node], incarnation);
  if (before != 0 && before != incarnation) {  // links that have outlived the silence of the former one
    news.part = NodeNews::Part::links;
    news.after = {};
    news.silent = false;
    news.why = "node " + std::to_string(node) + ": a newer incarnation of it has come";
  } else if (fresh || news.part >= NodeNews::Part::ways) {  // else whom its end concerns is told before
    news.part = NodeNews::Part::ways;
    news.after = {};
  }
  happened(kNodes | node, {.what = Due::What::node, .of = node});
  go_on(kAtOnce);
}

void Node::node_gone(NodeId node, const char* why, bool silent, Time now) {
  now_ = now;
  if (clerk_ != nullptr) clerk_->node_gone(node);
  ++presences_[node];
  const auto before = node_news_.find(node);
  // Links of a former incarnation that are still to be ended stay so.
  const bool ends =
      before != node_news_.end() && !before->second.silent && before->second.part == NodeNews::Part::links;
  node_news_[node] = {.why = "node " + std::to_string(node) + ": " + why, .silent = silent && !ends};
  happened(kNodes | node, {.what = Due::What::node, .of = node});
  go_on(kAtOnce);
}

std::uint64_t Node::presence_of(NodeId node) const {
  const auto found = presences_.find(node);
  return found == presences_.end() ? 0 : found->second;
}

void Node::tick_far() {
  if (others_ == nullptr) return;
  each_over(ask_deadlines_, [this](const Waiting& silent) {
    refuse_waiting(silent, {ErrorCode::timed_out, "the other node has not answered in time"});
  });
  each_over(search_deadlines_, [this](std::uint64_t serial) {
    refuse_search(serial, ErrorCode::timed_out, "some node has not said in time whether it has the name");
  });
  each_over(arrival_deadlines_, [this](const FarKey& key) {
    if (arrivals_.at(key).presence == presence_of(key.first))
      refuse_far(key.first, key.second,
                 {ErrorCode::timed_out, "the process there does not say where it is reached"});
    forget_arrival(key);
  });
  each_over(undecided_until_, [this](std::uint64_t id) {
    undecided_until_.pop_front();
    tell_undecided(id, LinkReason::ended);
  });
  go_on_telling();
}

std::optional<Time> Node::far_deadline() const {
  Time out = Time::max();
  if (!ask_deadlines_.empty()) out = ask_deadlines_.begin()->first;
  if (!search_deadlines_.empty()) out = std::min(out, search_deadlines_.begin()->first);
  if (!arrival_deadlines_.empty()) out = std::min(out, arrival_deadlines_.begin()->first);
  if (!undecided_until_.empty()) out = std::min(out, undecided_until_.front().first);
  return out == Time::max() ? std::nullopt : std::optional{out};
}

void Node::nodes(std::uint64_t id, const Request& request) {
  const auto members = others_ == nullptr ? std::vector<MemberReply>{} : others_->members();
  std::uint32_t count = 0;
  auto at = std::ranges::find_if(members, [&](const MemberReply& row) { return row.id > request.number; });
  for (; count < kListPage && at != members.end(); ++at, ++count) {
    MemberReply reply = *at;
    reply.request = request.request;
    environment_.send(id, bytes_of(reply));
  }
  NodeReply end;
  end.more = at == members.end() ? 0 : 1;
  end.request = request.request;
  environment_.send(id, bytes_of(end));
}

}  // namespace hamlyn::node
