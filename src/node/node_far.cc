// The node's mind, as far as processes and names of other nodes go.
#include <algorithm>
#include <utility>

#include "node/node.h"
#include "node/replies.h"

namespace hamlyn::node {
namespace {

constexpr Time kArrivalTime{5000};  // for a process to say where it is reached, or to end an earlier link
constexpr Time kAskTime{6000};      // for the other node to answer: longer than what it gives its process
constexpr Time kSearchTime{2000};
constexpr std::size_t kMaxArrivals = 1024;     // introductions that wait, of one node
constexpr std::size_t kMaxFarWaiting = 16384;  // look-ups that wait, of one node

}  // namespace

bool Node::far(std::uint64_t interface) const noexcept {
  return others_ != nullptr && node_of(interface) != 0 && node_of(interface) != others_->self();
}

template <class Message>
void Node::tell(NodeId node, const Message& message) {
  others_->tell(node, encode(message));
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
    }
  }
  if (!whole) ++malformed_;
}

// Introductions.

FarEnd Node::end_of(const Connection& connection) const {
  FarEnd out;
  out.uid = connection.who.uid;
  out.gid = connection.who.gid;
  out.pid = connection.who.pid;
  std::memcpy(out.engine, connection.engine, sizeof out.engine);
  out.address = connection.address;
  return out;
}

void Node::introduce_far(std::uint64_t id, Connection& connection, const Request& request) {
  const NodeId node = node_of(request.number);
  if (others_->incarnation_of(node) == 0)
    throw Refused{ErrorCode::peer_died, "node " + std::to_string(node) + " is not there"};
  if (connection.reach == Reach::none)
    throw Refused{ErrorCode::invalid_argument, "this process has said that no other node reaches it"};
  if (connection.reach != Reach::known) {
    have_way_opened(id, connection, node);
    return hold(connection, request);  // until it says where it is reached
  }
  if (const auto mine = connection.with.find(request.number); mine != connection.with.end()) {
    if (connection.links.at(mine->second).gone) return hold(connection, request);
    Reply linked = make_reply(ReplyKind::linked, request.request);
    linked.peer = request.number;
    linked.link = mine->second;
    return answer(id, linked);
  }
  for (const auto& [waiting, ask] : asks_) {
    if (waiting.first == id && ask.peer == request.number) return hold(connection, request);
  }
  check_room(connection.who.uid, 1, false, "this user");
  hold(connection, request);
  Ask ask;
  ask.serial = next_serial_++;
  ask.peer = request.number;
  ask.until = now_ + kAskTime;
  while (ask.link == 0 || connection.links.contains(ask.link))
    others_->random(std::as_writable_bytes(std::span{&ask.link, 1}));
  others_->random(ask.key);
  asks_[{id, request.request}] = ask;
  serials_[ask.serial] = {id, request.request};
  tell(node, FarIntroduce{ask.serial, connection.interface, ask.peer, ask.link, ask.key, end_of(connection)});
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
  put_text(reply.text, others_->reached_at(towards));
  answer(id, reply);
}

void Node::take_introduce(NodeId node, FarIntroduce what) {
  const auto mine =
      std::ranges::count_if(arrivals_, [&](const auto& each) { return each.first.first == node; });
  if (node_of(what.asker) != node || what.link == 0 || arrivals_.contains({node, what.serial})) {
    ++malformed_;
    return;
  }
  if (static_cast<std::size_t>(mine) >= kMaxArrivals) {
    return tell(node, FarRefused{what.serial, static_cast<std::uint32_t>(ErrorCode::out_of_memory),
                                 "too many introductions of that node wait here"});
  }
  const std::pair key{node, what.serial};
  if (!take_up(node, what)) arrivals_[key] = {std::move(what), now_ + kArrivalTime};
}

// False if it cannot be answered yet.
bool Node::take_up(NodeId node, const FarIntroduce& what) {
  const auto there = interfaces_.find(what.peer);
  try {
    if (there == interfaces_.end()) {
      if (grace_) return false;
      throw Refused{ErrorCode::name_unknown, "no interface " + std::to_string(what.peer) +
                                                 " is attached to node " + std::to_string(others_->self())};
    }
    const std::uint64_t id = there->second;
    Connection& peer = connections_.at(id);
    if (peer.shunned.contains(what.asker)) {
      throw Refused{ErrorCode::not_permitted,
                    "that process has refused so many packets of this one that the link was cut"};
    }
    // Both want the link at once: that of the lower number counts.
    for (const auto& [waiting, ask] : asks_) {
      if (waiting.first == id && ask.peer == what.asker && what.peer < what.asker) return true;
    }
    if (const auto with = peer.with.find(what.asker); with != peer.with.end()) {
      tell_gone(peer, with->second, what.asker, "the process at the other end has ended this link");
      return false;
    }
    if (peer.links.contains(what.link))
      throw Refused{ErrorCode::invalid_argument, "the number of a link that exists"};
    if (outside_.behind(id)) return false;
    if (peer.reach == Reach::none)
      throw Refused{ErrorCode::peer_refused, "that process cannot be reached from other nodes"};
    if (peer.reach != Reach::known) {
      have_way_opened(id, peer, node);
      return false;
    }
    check_room(peer.who.uid, 1, peer.who.uid != what.end.uid, "the peer's user");
    open_far(id, peer, 0, what.asker, what.link, what.key, what.end, false);
    tell(node, FarIntroduced{what.serial, end_of(peer)});
    // Its own request for the same link, if it has one, is answered by this one.
    for (const auto& [waiting, ask] : std::map{asks_}) {
      if (waiting.first != id || ask.peer != what.asker) continue;
      release(id, peer, waiting.second);
      Reply linked = make_reply(ReplyKind::linked, waiting.second);
      linked.peer = what.asker;
      linked.link = what.link;
      answer(id, linked);
    }
    resume_introductions(id, what.asker);
  } catch (const Refused& refusal) {
    ++refused_;
    tell(node, FarRefused{what.serial, static_cast<std::uint32_t>(refusal.code), refusal.text});
    if (there == interfaces_.end()) return true;
    for (const auto& [waiting, ask] : std::map{asks_}) {
      if (waiting.first == there->second && ask.peer == what.asker)
        refuse_waiting(waiting, refusal.code, refusal.text);
    }
  }
  return true;
}

// Something has happened at this interface (0: at any) that introductions may have waited for.
void Node::take_up_arrivals(std::uint64_t interface) {
  if (arrivals_.empty()) return;
  for (const auto& [key, arrival] : std::map{arrivals_}) {
    if (interface != 0 && arrival.what.peer != interface) continue;
    if (take_up(key.first, arrival.what)) arrivals_.erase(key);
  }
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
  if (initiator) connection.shunned.erase(peer);
  open_side(connection, link, {peer, kLinkBytes, !initiator && end.uid != connection.who.uid});
  outside_.send(id, bytes_of(reply));
}

void Node::take_introduced(NodeId node, const FarIntroduced& what) {
  const auto serial = serials_.find(what.serial);
  const auto found = serial == serials_.end() ? asks_.end() : asks_.find(serial->second);
  if (found == asks_.end() || node_of(found->second.peer) != node) return;  // a refusal crossed it
  const Waiting waiting = found->first;
  const Ask ask = found->second;
  Connection& connection = connections_.at(waiting.first);
  asks_.erase(found);
  serials_.erase(serial);
  release(waiting.first, connection, waiting.second);
  open_far(waiting.first, connection, waiting.second, ask.peer, ask.link, ask.key, what.end, true);
  resume_introductions(waiting.first, ask.peer);
}

void Node::refuse_waiting(Waiting waiting, ErrorCode code, std::string_view text) {
  const auto [id, number] = waiting;
  const auto found = connections_.find(id);
  const auto ask = asks_.find(waiting);
  const std::uint64_t peer = ask == asks_.end() ? 0 : ask->second.peer;
  if (found == connections_.end() || !release(id, found->second, number)) return;
  ++refused_;
  Reply reply = make_reply(ReplyKind::refused, number);
  reply.error = static_cast<std::uint32_t>(code);
  put_text(reply.text, text);
  answer(id, reply);
  if (peer != 0) resume_introductions(id, peer);  // the next one that wants the same
}

void Node::take_refused(NodeId node, const FarRefused& what) {
  const auto serial = serials_.find(what.serial);
  if (serial == serials_.end()) return;
  const Waiting waiting = serial->second;
  const auto code = static_cast<ErrorCode>(what.error);
  if (const auto ask = asks_.find(waiting); ask != asks_.end() && ask->second.serial == what.serial) {
    if (node_of(ask->second.peer) == node) refuse_waiting(waiting, code, what.text);
    return;
  }
  const auto found = searches_.find(waiting);
  if (found == searches_.end()) return;
  if (code == ErrorCode::not_permitted) found->second.not_permitted = true;
  searched(waiting, node);
}

// Links.

void Node::tell_gone(Connection& connection, std::uint64_t link, std::uint64_t peer, std::string_view why) {
  if (const auto found = connection.links.find(link); found != connection.links.end()) {
    if (std::exchange(found->second.gone, true)) return;
  }
  Reply reply = make_reply(ReplyKind::far_gone, 0);
  reply.error = static_cast<std::uint32_t>(ErrorCode::peer_died);
  reply.peer = peer;
  reply.link = link;
  put_text(reply.text, why);
  answer(interfaces_.at(connection.interface), reply);
}

void Node::tell_far_end(Connection& connection, std::uint64_t link, bool cut) {
  const Side& side = connection.links.at(link);
  if (!side.gone) tell(node_of(side.peer), FarEnded{link, connection.interface, side.peer, cut});
}

void Node::take_ended(NodeId node, const FarEnded& what) {
  std::erase_if(arrivals_, [&](const auto& each) {  // nobody wants it any more
    return each.first.first == node && each.second.what.link == what.link;
  });
  const auto there = interfaces_.find(what.yours);
  if (there == interfaces_.end() || node_of(what.mine) != node) return;
  Connection& connection = connections_.at(there->second);
  const auto found = connection.links.find(what.link);
  if (found == connection.links.end() || found->second.peer != what.mine) return;
  if (!what.cut) return tell_gone(connection, what.link, what.mine, "the process at the other end has gone");
  Reply reply = make_reply(ReplyKind::cut, 0);
  reply.link = what.link;
  reply.peer = what.mine;
  answer(there->second, reply);
}

// Names.

// Asks the other nodes for a name that nobody has here. `may_come`: the one who had it here may come back.
void Node::search(std::uint64_t id, const Request& request, bool may_come) {
  if (others_ == nullptr) return;
  Search search;
  search.serial = next_serial_++;
  search.wait = may_come || (request.flags & Request::kWait) != 0;
  if (!search.wait) search.until = now_ + kSearchTime;
  const Identity& who = connections_.at(id).who;
  const FarLookup lookup{search.serial, who.uid, who.gid, (request.flags & Request::kWait) != 0,
                         std::string(name_of(request))};
  expect_far(id, connections_.at(id));
  for (const NodeId node : others_->there()) search.open.insert(node);
  serials_[search.serial] = {id, request.request};
  const auto asked = search.open;
  searches_[{id, request.request}] = std::move(search);
  for (const NodeId node : asked) tell(node, lookup);
}

// That node does not have it, or is not there.
void Node::searched(Waiting waiting, NodeId node) {
  Search& search = searches_.at(waiting);
  search.open.erase(node);
  if (search.wait ? !search.not_permitted : !search.open.empty()) return;
  if (search.not_permitted)
    return refuse_waiting(waiting, ErrorCode::not_permitted,
                          "whoever registered the name on another node does not let this user look it up");
  refuse_waiting(waiting, ErrorCode::name_unknown, "nobody in this cluster has registered the name");
}

void Node::take_lookup(NodeId node, const FarLookup& what) {
  if (answer_far_lookup(node, what)) return;
  if (!what.wait && !grace_ && !kept_.contains(what.name))
    return tell(node,
                FarRefused{what.serial, static_cast<std::uint32_t>(ErrorCode::name_unknown), "unknown"});
  if (far_waiting_[node] >= kMaxFarWaiting)
    return tell(node, FarRefused{what.serial, static_cast<std::uint32_t>(ErrorCode::out_of_memory), "full"});
  ++far_waiting_[node];
  far_waiters_.emplace(what.name, FarWaiter{node, what});
}

// False if nobody has the name.
bool Node::answer_far_lookup(NodeId node, const FarLookup& what) {
  const auto found = names_.find(what.name);
  if (found == names_.end()) return false;
  Identity asker;
  asker.uid = what.uid;
  asker.gid = what.gid;
  if (!may_look_up(asker, found->second)) {
    tell(node,
         FarRefused{what.serial, static_cast<std::uint32_t>(ErrorCode::not_permitted), "not permitted"});
    return true;
  }
  const Connection& owner = connections_.at(found->second.connection);
  tell(node, FarFound{what.serial, owner.interface, owner.who.uid, owner.who.gid, owner.who.pid,
                      found->second.ticket});
  return true;
}

// A name has come (or, if none is said, some have gone for good): those of other nodes who wait for it.
void Node::answer_far_lookups(std::string_view name) {
  for (auto at = far_waiters_.begin(); at != far_waiters_.end();) {
    const auto& [node, what] = at->second;
    bool done = (name.empty() || at->first == name) && answer_far_lookup(node, what);
    if (!done && name.empty() && !what.wait && !grace_ && !kept_.contains(what.name)) {
      tell(node, FarRefused{what.serial, static_cast<std::uint32_t>(ErrorCode::name_unknown), "unknown"});
      done = true;
    }
    if (done) --far_waiting_[node];
    at = done ? far_waiters_.erase(at) : std::next(at);
  }
}

void Node::take_found(NodeId node, const FarFound& what) {
  const auto serial = serials_.find(what.serial);
  if (serial == serials_.end() || node_of(what.peer) != node) return;
  const auto found = searches_.find(serial->second);
  if (found == searches_.end()) return;
  found->second.open.erase(node);  // it waits no more
  const auto [id, number] = serial->second;
  release(id, connections_.at(id), number);
  Reply reply = make_reply(ReplyKind::found, number);
  reply.ticket = what.ticket;
  reply.peer = what.peer;
  reply.uid = what.uid;
  reply.gid = what.gid;
  reply.pid = what.pid;
  answer(id, reply);
}

void Node::take_cancel(NodeId node, const FarCancel& what) {
  for (auto at = far_waiters_.begin(); at != far_waiters_.end(); ++at) {
    if (at->second.node != node || at->second.what.serial != what.serial) continue;
    --far_waiting_[node];
    far_waiters_.erase(at);
    return;
  }
}

// The request has been answered, or nobody wants the answer any more.
void Node::forget_far_request(Waiting waiting) {
  if (const auto ask = asks_.find(waiting); ask != asks_.end()) {
    // The other node may have made its end: it is told that there is none here.
    const auto connection = connections_.find(waiting.first);
    tell(node_of(ask->second.peer),
         FarEnded{ask->second.link, connection->second.interface, ask->second.peer, false});
    serials_.erase(ask->second.serial);
    asks_.erase(ask);
  }
  const auto found = searches_.find(waiting);
  if (found == searches_.end()) return;
  const Search search = std::move(found->second);
  serials_.erase(search.serial);
  searches_.erase(found);
  for (const NodeId node : search.open) tell(node, FarCancel{search.serial});
}

// Nodes.

void Node::node_came(NodeId node, Time now) {
  now_ = now;
  for (const std::uint64_t id : attached()) {
    if (Connection& connection = connections_.at(id); connection.outward)
      have_way_opened(id, connection, node);
  }
  for (auto& [waiting, search] : searches_) {
    const auto [id, number] = waiting;
    const Connection& connection = connections_.at(id);
    const Request& request = connection.waiting.at(number);
    if ((request.flags & Request::kWait) == 0) continue;
    search.open.insert(node);
    tell(node, FarLookup{search.serial, connection.who.uid, connection.who.gid, true,
                         std::string(name_of(request))});
  }
}

void Node::node_gone(NodeId node, const char* why, Time now) {
  now_ = now;
  const std::string text = "node " + std::to_string(node) + ": " + why;
  for (auto& [id, connection] : connections_) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> gone;
    for (const auto& [link, side] : connection.links) {
      if (node_of(side.peer) == node && far(side.peer)) gone.emplace_back(link, side.peer);
    }
    for (const auto& [link, peer] : gone) tell_gone(connection, link, peer, text);
  }
  std::erase_if(arrivals_, [&](const auto& each) { return each.first.first == node; });
  std::erase_if(far_waiters_, [&](const auto& each) { return each.second.node == node; });
  far_waiting_.erase(node);
  for (const auto& [waiting, ask] : std::map{asks_}) {
    if (node_of(ask.peer) == node) refuse_waiting(waiting, ErrorCode::peer_died, text);
  }
  std::vector<Waiting> open;
  for (const auto& [waiting, search] : searches_) {
    if (search.open.contains(node)) open.push_back(waiting);
  }
  for (const Waiting& waiting : open) searched(waiting, node);
}

void Node::tick_far() {
  for (const auto& [waiting, ask] : std::map{asks_}) {
    if (ask.until <= now_)
      refuse_waiting(waiting, ErrorCode::timed_out, "the other node has not answered in time");
  }
  std::vector<Waiting> late;
  for (const auto& [waiting, search] : searches_) {
    if (search.until <= now_) late.push_back(waiting);
  }
  for (const Waiting& waiting : late) {
    refuse_waiting(waiting, ErrorCode::timed_out, "some node has not said in time whether it has the name");
  }
  for (const auto& [key, arrival] : std::map{arrivals_}) {
    if (arrival.until > now_) continue;
    tell(key.first, FarRefused{key.second, static_cast<std::uint32_t>(ErrorCode::timed_out),
                               "the process there does not say where it is reached"});
    arrivals_.erase(key);
  }
}

std::optional<Time> Node::far_deadline() const {
  Time out = Time::max();
  for (const auto& [waiting, ask] : asks_) out = std::min(out, ask.until);
  for (const auto& [waiting, search] : searches_) out = std::min(out, search.until);
  for (const auto& [key, arrival] : arrivals_) out = std::min(out, arrival.until);
  return out == Time::max() ? std::nullopt : std::optional{out};
}

void Node::nodes(std::uint64_t id, const Request& request) {
  const auto members = others_ == nullptr ? std::vector<MemberReply>{} : others_->members();
  std::uint32_t count = 0;
  auto at = std::ranges::find_if(members, [&](const MemberReply& row) { return row.id > request.number; });
  for (; count < kListPage && at != members.end(); ++at, ++count) {
    MemberReply reply = *at;
    reply.request = request.request;
    outside_.send(id, bytes_of(reply));
  }
  NodeReply end;
  end.more = at == members.end() ? 0 : 1;
  end.request = request.request;
  outside_.send(id, bytes_of(end));
}

}  // namespace hamlyn::node
