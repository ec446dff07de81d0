#include "node/node.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "node/replies.h"

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kMaxStrangers = 64;  // connections of a user that attach nothing, or not yet
constexpr std::size_t kMaxWaiting = 256;     // requests of a process that have no answer yet
constexpr std::size_t kMaxShunned = 1024;    // peers that one process does not want to hear of
constexpr Time kGreetTime{5000};             // from the connection to its hello
constexpr Time kObserveTime{60000};

std::string versions(std::uint32_t protocol, std::uint32_t structures) {
  return "protocol " + std::to_string(protocol) + " with structures " + std::to_string(structures);
}

}  // namespace

Node::Node(const NodeOptions& options, Outside& outside, Time now, OtherNodes* others)
    : options_(options),
      outside_(outside),
      started_(now),
      now_(now),
      grace_(options.recovering),
      next_number_(options.first_number),
      others_(others) {
  // Microseconds of the start: above all of the run before.
  if (others_ != nullptr) next_generation_ = others_->incarnation();
}

void Node::connected(std::uint64_t id, const Identity& who, Time now) {
  now_ = now;
  User& user = users_[who.uid];
  if (user.connections >= kMaxStrangers) {
    outside_.drop(id, "too many connections of one user that do not attach");
    return;
  }
  ++user.connections;
  Connection& connection = connections_[id];
  connection.who = who;
  connection.since = now;
  deadlines_.emplace(now + kGreetTime, id);
}

void Node::received(std::uint64_t id, std::span<const std::byte> message, bool counters, Time now) {
  now_ = now;
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (connection.stage == Stage::fresh) return greet(id, connection, message, counters);
  Request request;
  if (counters) return malformed(id, "a request with a descriptor");
  if (message.size() != sizeof request) return malformed(id, "a request of a wrong size");
  std::memcpy(&request, message.data(), sizeof request);
  if (const char* why = invalid(request)) return malformed(id, why);
  const bool observer = connection.stage == Stage::observer;
  if (connection.stage == Stage::watcher) return malformed(id, "a request of one that watches the nodes");
  if (observer && request.kind != RequestKind::list && request.kind != RequestKind::nodes &&
      request.kind != RequestKind::watch) {
    return malformed(id, "an observer that asks for more than a list");
  }
  if (!observer && request.kind == RequestKind::watch) return malformed(id, "only observers watch the nodes");
  if (waits_for_reply(request.kind) && connection.waiting.contains(request.request)) {
    return malformed(id, "the number of a request that still waits");
  }
  handle(id, connection, request);
}

void Node::malformed(std::uint64_t id, const char* why) {
  if (!connections_.contains(id)) return;
  ++malformed_;
  drop(id, why);
}

void Node::disconnected(std::uint64_t id) {
  forget(id, false);
  give_up_names([id](const Kept& kept) { return kept.connection == id; });
}

void Node::broken(std::uint64_t id) { forget(id, true); }

void Node::too_slow(std::uint64_t id) {
  if (!connections_.contains(id)) return;
  ++dropped_;
  drop(id, "it does not read what it is told");
}

void Node::caught_up(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (const auto watched = watches_.find(id); watched != watches_.end())
    return tell_watcher(id, watched->second);
  const std::uint64_t number = found->second.interface;
  for (const std::uint64_t other : attached()) {
    resume(other, [&](const Request& held) {
      return held.kind == RequestKind::introduce && (other == id || held.number == number);
    });
  }
  take_up_arrivals(number);
}

void Node::tick(Time now) {
  now_ = now;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::uint64_t id = deadlines_.begin()->second;
    drop(id, connections_.at(id).stage == Stage::fresh ? "no hello within the time for it" : nullptr);
  }
  give_up_names([now](const Kept& kept) { return kept.until <= now; });
  if (grace_ && now >= started_ + options_.grace) {
    grace_ = false;
    for (const std::uint64_t id : attached()) resume(id, [](const Request&) { return true; });
    take_up_arrivals(0);
    answer_far_lookups();
  }
  tick_far();
}

std::optional<Time> Node::deadline() const {
  std::optional<Time> out;
  if (!deadlines_.empty()) out = deadlines_.begin()->first;
  if (grace_) out = std::min(out.value_or(Time::max()), started_ + options_.grace);
  for (const auto& [name, kept] : kept_) out = std::min(out.value_or(Time::max()), kept.until);
  if (const auto far = far_deadline()) out = std::min(out.value_or(Time::max()), *far);
  return out;
}

// Attaching.

void Node::greet(std::uint64_t id, Connection& connection, std::span<const std::byte> message,
                 bool counters) {
  // Magic and versions stay where they are for ever; the rest may differ between versions.
  std::array<std::uint32_t, 3> steady{};
  if (message.size() < sizeof steady) return malformed(id, "a hello of a wrong size");
  std::memcpy(steady.data(), message.data(), sizeof steady);
  const auto [magic, protocol, structures] = steady;
  if (magic != kMagic) return malformed(id, "no hello");
  if (protocol != kProtocolVersion || structures != kStructuresVersion) {
    return turn_away(id, ErrorCode::version_mismatch,
                     "the node daemon speaks " + versions(kProtocolVersion, kStructuresVersion) +
                         ", the process " + versions(protocol, structures));
  }
  Hello hello;
  if (message.size() != sizeof hello) return malformed(id, "a hello of a wrong size");
  std::memcpy(&hello, message.data(), sizeof hello);
  const bool observer = hello.flags == Hello::kObserver;
  if ((hello.flags & ~Hello::kObserver) != 0) return malformed(id, "a hello with unknown flags");
  if (hello.interface == 0 && hello.token != Token{}) return malformed(id, "a token for no interface");
  if (observer && (hello.interface != 0 || counters)) return malformed(id, "an observer with an interface");

  const Identity& who = connection.who;
  if (who.uid == options_.overflow_uid || who.pid == 0) {
    return turn_away(id, ErrorCode::not_permitted,
                     "the node daemon cannot tell users of this container apart");
  }
  if (!may_attach(who)) {
    return turn_away(id, ErrorCode::not_permitted,
                     "the node daemon's [rights] do not let user " + std::to_string(who.uid) + " attach");
  }
  if (!observer) return attach(id, connection, hello, counters);
  connection.stage = Stage::observer;
  deadlines_.erase({connection.since + kGreetTime, id});
  deadlines_.emplace(connection.since + kObserveTime, id);
  welcome(id, connection, {});
}

void Node::attach(std::uint64_t id, Connection& connection, const Hello& hello, bool counters) {
  const std::uint32_t uid = connection.who.uid;
  if (hello.interface != 0) {
    if (far(hello.interface))
      return turn_away(id, ErrorCode::not_permitted, "that interface number is of another node");
    if (sign(uid, hello.interface, {}) != hello.token) {
      return turn_away(id, ErrorCode::not_permitted,
                       "this node had not given that interface number to this user");
    }
    if (const auto old = interfaces_.find(hello.interface); old != interfaces_.end()) {
      if (connections_.at(old->second).who.pid != connection.who.pid) {
        return turn_away(id, ErrorCode::not_permitted, "another process has that interface number");
      }
      drop(old->second, nullptr);  // the same process, back before its old connection was seen to end
    }
  }
  User& user = users_[uid];
  if (user.interfaces >= options_.quotas.interfaces) {
    return turn_away(id, ErrorCode::quota_interfaces,
                     "user " + std::to_string(uid) + " has attached " + std::to_string(user.interfaces) +
                         " interfaces and may not have more: end some, or raise quotas.interfaces");
  }
  --user.connections;
  ++user.interfaces;
  deadlines_.erase({connection.since + kGreetTime, id});
  connection.stage = Stage::attached;
  connection.since = now_;
  connection.counters = counters;
  connection.interface = hello.interface != 0 ? hello.interface : next_number_++;
  interfaces_[connection.interface] = id;
  welcome(id, connection, sign(uid, connection.interface, {}));
  take_up_arrivals(connection.interface);
  if (!grace_) return;
  for (const std::uint64_t other : attached()) {  // some may have asked for this one before it came back
    resume_introductions(other, hello.interface);
  }
}

std::vector<std::uint64_t> Node::attached() const {
  std::vector<std::uint64_t> out;
  for (const auto& [number, id] : interfaces_) out.push_back(id);
  return out;
}

void Node::welcome(std::uint64_t id, const Connection& connection, const Token& token) {
  Welcome out;
  out.interface = connection.interface;
  out.token = token;
  outside_.send(id, bytes_of(out));
}

void Node::turn_away(std::uint64_t id, ErrorCode code, std::string_view text) {
  ++refused_;
  Welcome out;
  out.error = static_cast<std::uint32_t>(code);
  put_text(out.text, text);
  outside_.send(id, bytes_of(out));
  drop(id, nullptr);
}

bool Node::may_attach(const Identity& who) const {
  const AttachRights& rights = options_.rights;
  return rights.everyone || who.uid == 0 || who.pid == clerk_pid_ ||
         std::ranges::count(rights.users, who.uid) != 0 || std::ranges::count(rights.groups, who.gid) != 0;
}

// Requests.

void Node::handle(std::uint64_t id, Connection& connection, const Request& request) {
  try {
    switch (request.kind) {
      case RequestKind::introduce:
        return introduce(id, connection, request);
      case RequestKind::link_ended:
        return link_ended(connection, request.number);
      case RequestKind::link_bytes:
        return link_bytes(id, connection, request);
      case RequestKind::area_bytes:
        return area_bytes(id, connection, request);
      case RequestKind::adopt_link:
        return adopt_link(connection, request);
      case RequestKind::publish:
        return publish(id, connection, request);
      case RequestKind::withdraw:
        return withdraw(id, connection, request);
      case RequestKind::lookup:
        return lookup(id, connection, request);
      case RequestKind::cancel:
        return cancel(id, connection, request);
      case RequestKind::list:
        return list(id, connection, request);
      case RequestKind::fabric_address:
        return fabric_address(id, connection, request);
      case RequestKind::nodes:
        return nodes(id, request);
      case RequestKind::watch:
        return watch(id, connection, request);
      case RequestKind::report:
        return report(id, connection, request);
    }
  } catch (const Refused& refusal) {
    ++refused_;
    Reply reply = make_reply(ReplyKind::refused, request.request);
    reply.error = static_cast<std::uint32_t>(refusal.code);
    put_text(reply.text, refusal.text);
    answer(id, reply);
  }
}

void Node::answer(std::uint64_t id, const Reply& reply) { outside_.send(id, bytes_of(reply)); }

// Keeps a request that cannot be answered yet.
void Node::hold(Connection& connection, const Request& request) {
  if (connection.waiting.size() >= kMaxWaiting) {
    throw Refused{ErrorCode::out_of_memory,
                  std::to_string(kMaxWaiting) + " requests of this process wait already: cancel some"};
  }
  if (request.kind == RequestKind::lookup) {
    User& user = users_[connection.who.uid];
    if (user.awaits >= options_.quotas.names) {
      throw Refused{ErrorCode::quota_names,
                    "user " + std::to_string(connection.who.uid) + " looks for " +
                        std::to_string(user.awaits) +
                        " names and may not look for more at a time: cancel some, or raise quotas.names"};
    }
    ++user.awaits;
  }
  connection.waiting[request.request] = request;
}

// Takes it out of what waits; false if it no longer did.
bool Node::release(std::uint64_t id, Connection& connection, std::uint64_t number) {
  const auto found = connection.waiting.find(number);
  if (found == connection.waiting.end()) return false;
  if (const auto awaited = awaited_.find(name_of(found->second)); awaited != awaited_.end()) {
    awaited->second.erase({id, number});
    if (awaited->second.empty()) awaited_.erase(awaited);
  }
  if (found->second.kind == RequestKind::lookup) --users_[connection.who.uid].awaits;
  connection.waiting.erase(found);
  forget_far_request({id, number});
  return true;
}

// Takes up again those that `which` picks: something they waited for may have happened.
template <class Which>
void Node::resume(std::uint64_t id, Which&& which) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  std::vector<Request> held;
  for (const auto& [number, request] : found->second.waiting) {
    if (which(request) && !asks_.contains({id, number})) held.push_back(request);
  }
  for (const Request& request : held) {
    // One that is taken up may have been what another waited for, which is then answered already.
    if (release(id, found->second, request.request)) handle(id, found->second, request);
  }
}

void Node::resume_introductions(std::uint64_t id, std::uint64_t peer) {
  resume(id,
         [peer](const Request& held) { return held.kind == RequestKind::introduce && held.number == peer; });
}

void Node::introduce(std::uint64_t id, Connection& connection, const Request& request) {
  if (far(request.number)) return introduce_far(id, connection, request);
  const auto there = interfaces_.find(request.number);
  if (there == interfaces_.end()) {
    if (grace_) return hold(connection, request);
    throw Refused{ErrorCode::name_unknown,
                  "no interface " + std::to_string(request.number) + " is attached to this node"};
  }
  if (there->second == id) throw Refused{ErrorCode::invalid_argument, "a process needs no link with itself"};
  Connection& peer = connections_.at(there->second);
  if (peer.shunned.contains(connection.interface)) {
    throw Refused{ErrorCode::not_permitted,
                  "interface " + std::to_string(request.number) +
                      " has refused so many packets of this process that the link was cut"};
  }
  const auto mine = connection.with.find(peer.interface);
  const auto theirs = peer.with.find(connection.interface);
  const bool here = mine != connection.with.end();
  const bool over_there = theirs != peer.with.end();
  if (here && over_there && mine->second == theirs->second) {
    Reply linked = make_reply(ReplyKind::linked, request.request);
    linked.peer = peer.interface;
    linked.link = mine->second;
    return answer(id, linked);
  }
  // One end has not noticed yet that an earlier link has ended. Waiting for it keeps a process from flooding
  // another with introductions: each costs the asker an open end until the other has dealt with it.
  if (here || over_there) return hold(connection, request);
  if (outside_.behind(id) || outside_.behind(there->second)) return hold(connection, request);

  const bool foreign = connection.who.uid != peer.who.uid;
  if (foreign) {
    check_room(connection.who.uid, 1, false, "this user");
    check_room(peer.who.uid, 1, true, "the peer's user");
  } else {
    check_room(connection.who.uid, 2, false, "this user");
  }
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
  const char* why =
      outside_.introduce(id, side(peer, request.request, true), there->second, side(connection, 0, false));
  if (why != nullptr) throw Refused{ErrorCode::out_of_memory, why};
  connection.shunned.erase(peer.interface);  // it asks itself
  open_side(connection, next_number_, {peer.interface, kLinkBytes, false});
  open_side(peer, next_number_, {connection.interface, kLinkBytes, foreign});
  ++next_number_;
}

void Node::check_room(std::uint32_t uid, std::uint64_t ends, bool foreign, const char* whose) const {
  const auto found = users_.find(uid);
  const User user = found == users_.end() ? User{} : found->second;
  const std::string who = std::string(whose) + " (" + std::to_string(uid) + ") ";
  if (user.links + ends > options_.quotas.links) {
    throw Refused{ErrorCode::quota_links,
                  who + "has " + std::to_string(user.links) +
                      " ends of links and may not have more: end some, or raise quotas.links"};
  }
  if (foreign && user.foreign + ends > options_.quotas.links / 2) {
    throw Refused{ErrorCode::quota_links,
                  "other users have opened half of the links that " + who + "may have"};
  }
  if (user.bytes + ends * kLinkBytes > options_.quotas.bytes) {
    throw Refused{ErrorCode::quota_bytes,
                  who + "has used up quotas.bytes: end some links or areas, or raise it"};
  }
}

void Node::open_side(Connection& connection, std::uint64_t link, const Side& side) {
  User& user = users_[connection.who.uid];
  connection.links[link] = side;
  connection.with[side.peer] = link;
  connection.bytes += side.bytes;
  user.bytes += side.bytes;
  ++user.links;
  if (side.foreign) ++user.foreign;
}

void Node::close_side(Connection& connection, std::uint64_t link) {
  const auto found = connection.links.find(link);
  const Side& side = found->second;
  User& user = users_[connection.who.uid];
  connection.bytes -= side.bytes;
  user.bytes -= side.bytes;
  --user.links;
  if (side.foreign) --user.foreign;
  connection.with.erase(side.peer);
  connection.links.erase(found);
}

void Node::link_ended(Connection& connection, std::uint64_t link) {
  const auto found = connection.links.find(link);
  if (found == connection.links.end()) return;  // it was told to the daemon before this one
  const std::uint64_t self = connection.interface;
  const std::uint64_t peer = found->second.peer;
  if (far(peer)) tell_far_end(connection, link, false);
  close_side(connection, link);
  resume_introductions(interfaces_.at(self), peer);
  take_up_arrivals(self);
  if (const auto other = interfaces_.find(peer); other != interfaces_.end())
    resume_introductions(other->second, self);
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
  User& user = users_[uid];
  const std::uint64_t others = user.bytes - from;
  // Giving back is always allowed, also above a quota.
  if (to > from && (others > options_.quotas.bytes || to > options_.quotas.bytes - others)) {
    throw Refused{ErrorCode::quota_bytes, "user " + std::to_string(uid) + " has " +
                                              std::to_string(user.bytes) +
                                              " bytes in links and areas and may not have so many more: end "
                                              "some, or raise quotas.bytes"};
  }
  user.bytes = others + to;
  from = to;
}

// Of send buffer areas, and of message areas that others map: the process's own word, like that on links.
void Node::area_bytes(std::uint64_t id, Connection& connection, const Request& request) {
  change_bytes(connection.who.uid, connection.area_bytes, request.bytes);
  answer(id, make_reply(ReplyKind::granted, request.request));
}

// A link that is older than this daemon. It exists whether we like it or not; beyond the quotas it is not
// kept in mind, so that a process cannot fill the daemon with links it makes up.
void Node::adopt_link(Connection& connection, const Request& request) {
  // One to another node ended with the daemon before this one: the other node has given up that incarnation.
  if (far(request.peer))
    return tell_gone(connection, request.number, request.peer, "this node's daemon was started again");
  const User& user = users_[connection.who.uid];
  if (request.number == 0 || request.peer == 0 || request.peer == connection.interface ||
      connection.links.contains(request.number) || connection.with.contains(request.peer) ||
      user.links >= options_.quotas.links || user.bytes > options_.quotas.bytes ||
      request.bytes > options_.quotas.bytes - user.bytes) {
    ++refused_;
    return;
  }
  open_side(connection, request.number, {request.peer, request.bytes, false});
}

void Node::publish(std::uint64_t id, Connection& connection, const Request& request) {
  const std::string_view name = name_of(request);
  const std::uint32_t uid = connection.who.uid;
  if (request.name_length > kMaxName || !valid_name(name)) {
    throw Refused{ErrorCode::name_invalid, "a name has 1 to 64 characters out of [A-Za-z0-9._-]"};
  }
  if (const char* why = hamlyn::invalid(request.ticket)) throw Refused{ErrorCode::invalid_argument, why};
  const Token token = sign(uid, connection.interface, name);
  const bool proven = request.token == token;
  if (!proven && request.token != Token{}) {
    throw Refused{ErrorCode::not_permitted,
                  "this node had not given the name " + std::string(name) + " to this process"};
  }
  auto taken = names_.find(name);
  if (taken != names_.end() && taken->second.connection != id) {
    throw Refused{ErrorCode::name_taken, "another process has registered the name " + std::string(name)};
  }
  // After a restart, or when its connection broke, whoever had a name gets it back before others may take it.
  const auto kept = kept_.find(name);
  const bool was_kept = kept != kept_.end();
  if (grace_ && !proven) return hold(connection, request);
  // A token is good for ever, also for who had the name before the one that it is kept for.
  if (was_kept && (!proven || kept->second.interface != connection.interface || kept->second.uid != uid))
    return hold(connection, request);
  if (was_kept) {  // it counts already
    connection.names.emplace(name);
    taken = names_.emplace(name, Name{}).first;
    kept_.erase(kept);
  } else if (taken == names_.end()) {
    User& user = users_[uid];
    if (user.names >= options_.quotas.names) {
      throw Refused{ErrorCode::quota_names,
                    "user " + std::to_string(uid) + " has registered " + std::to_string(user.names) +
                        " names and may not have more: withdraw some, or raise quotas.names"};
    }
    if (names_.size() + kept_.size() >= options_.most_names) {
      throw Refused{ErrorCode::registry_full, "this node has registered " +
                                                  std::to_string(options_.most_names) +
                                                  " names, and takes no more: withdraw some"};
    }
    ++user.names;
    connection.names.emplace(name);
    taken = names_.emplace(name, Name{}).first;
  }
  taken->second = {id,
                   {(request.flags & Request::kGroup) != 0, (request.flags & Request::kEveryone) != 0},
                   request.ticket,
                   next_generation_++};
  changed(name);
  Reply reply = make_reply(ReplyKind::published, request.request);
  reply.token = token;
  answer(id, reply);
  expect_far(id, connection);

  if (was_kept) {  // others may have claimed it meanwhile
    for (const std::uint64_t other : attached())
      resume(other,
             [&](const Request& held) { return held.kind == RequestKind::publish && name_of(held) == name; });
  }
  answer_far_lookups(name);
  const auto awaited = awaited_.find(name);
  if (awaited == awaited_.end()) return;
  const auto waiting = awaited->second;
  for (const auto& [other, number] : waiting) {
    resume(other, [&, wanted = number](const Request& held) { return held.request == wanted; });
  }
}

void Node::withdraw(std::uint64_t id, Connection& connection, const Request& request) {
  const auto found = connection.names.find(name_of(request));
  if (found == connection.names.end()) {
    throw Refused{ErrorCode::name_unknown,
                  "this process has not registered the name " + std::string(name_of(request))};
  }
  names_.erase(*found);
  changed(*found);
  connection.names.erase(found);
  --users_[connection.who.uid].names;
  answer(id, make_reply(ReplyKind::withdrawn, request.request));
}

bool Node::may_look_up(const Identity& who, const Name& name) const {
  return may_look_up(who, registered(name));
}

void Node::lookup(std::uint64_t id, Connection& connection, const Request& request) {
  const std::string_view name = name_of(request);
  if (request.name_length > kMaxName || !valid_name(name)) {
    throw Refused{ErrorCode::name_invalid, "a name has 1 to 64 characters out of [A-Za-z0-9._-]"};
  }
  const auto found = names_.find(name);
  if (found == names_.end()) {
    const bool wait = (request.flags & Request::kWait) != 0;
    if (answer_from_cache(id, connection, request)) return;
    const bool others = others_ != nullptr && !others_->there().empty();
    if (!grace_ && !kept_.contains(name) && !wait && !others) {
      throw Refused{ErrorCode::name_unknown, "nobody has registered the name " + std::string(name)};
    }
    hold(connection, request);
    awaited_[std::string(name)].emplace(id, request.request);
    return search(id, request, grace_ || kept_.contains(name));
  }
  if (!may_look_up(connection.who, found->second)) {
    throw Refused{ErrorCode::not_permitted, "whoever registered the name " + std::string(name) +
                                                " does not let user " + std::to_string(connection.who.uid) +
                                                " look it up"};
  }
  answer_found(id, request.request, registered(found->second));
}

void Node::answer_found(std::uint64_t id, std::uint64_t request, const RegisteredName& what) {
  Reply reply = make_reply(ReplyKind::found, request);
  reply.ticket = what.ticket;
  reply.peer = what.interface;
  reply.uid = what.uid;
  reply.gid = what.gid;
  reply.pid = what.pid;
  answer(id, reply);
}

void Node::cancel(std::uint64_t id, Connection& connection, const Request& request) {
  // What no longer waits has its answer under way.
  const auto ask = asks_.find({id, request.request});
  const std::uint64_t peer = ask == asks_.end() ? 0 : ask->second.peer;
  if (!release(id, connection, request.request)) return;
  answer(id, make_reply(ReplyKind::cancelled, request.request));
  if (peer != 0) resume_introductions(id, peer);
}

// What a process says of others is its own word: it costs it its own link with them and nobody else anything
// (paper 1, section 3.6). The peer may not ask for the next one; the reporter may, and then it is heard
// again.
void Node::report(std::uint64_t id, Connection& connection, const Request& request) {
  const auto found = connection.links.find(request.number);
  if (found == connection.links.end()) return;  // it has ended meanwhile
  Side& side = found->second;
  const std::uint64_t before = side.refused;
  side.refused = std::max(before, request.bytes);  // it only grows
  const std::uint64_t limit = options_.cut_after;
  if (limit == 0 || before >= limit || side.refused < limit) return;
  ++cut_;
  if (connection.shunned.size() < kMaxShunned) connection.shunned.insert(side.peer);
  Reply reply = make_reply(ReplyKind::cut, 0);
  reply.link = request.number;
  reply.peer = side.peer;
  const auto there = interfaces_.find(side.peer);
  if (far(side.peer)) tell_far_end(connection, request.number, true);
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

void Node::fabric_address(std::uint64_t id, Connection& connection, const Request& request) {
  const auto at = std::as_bytes(std::span{request.name}).first(request.name_length);
  connection.address.assign(at.begin(), at.end());
  std::memcpy(connection.engine, request.engine, sizeof connection.engine);
  const Reach reach = at.empty() ? Reach::none : Reach::known;
  const Reach before = std::exchange(connection.reach, reach);
  if (before == reach) return;  // nobody waits for it
  take_up_arrivals(connection.interface);
  resume(id, [this](const Request& held) { return held.kind == RequestKind::introduce && far(held.number); });
  // It was asked and could not: whoever wants it next has it tried again.
  if (reach == Reach::none && before == Reach::asked) connection.reach = Reach::unasked;
}

void Node::list(std::uint64_t id, const Connection& connection, const Request& request) {
  auto next = interfaces_.upper_bound(request.number);
  for (std::uint32_t i = 0; i < kListPage && next != interfaces_.end(); ++i, ++next) {
    const Connection& one = connections_.at(next->second);
    AttachedReply reply;
    reply.request = request.request;
    reply.interface = one.interface;
    reply.uid = one.who.uid;
    reply.gid = one.who.gid;
    reply.pid = one.who.pid;
    reply.age_ms = static_cast<std::uint64_t>((now_ - one.since).count());
    reply.links = one.links.size();
    reply.link_bytes = one.bytes;
    reply.area_bytes = one.area_bytes;
    for (const auto& [link, side] : one.links) reply.refused += side.refused;
    put_text(reply.program, one.who.program);
    const bool details = connection.who.uid == 0 || connection.who.uid == one.who.uid;
    outside_.send(id, bytes_of(reply), details && one.counters ? std::optional{next->second} : std::nullopt);
  }
  NodeReply end;
  end.more = next == interfaces_.end() ? 0 : 1;
  end.request = request.request;
  end.uptime_ms = static_cast<std::uint64_t>((now_ - started_).count());
  end.interfaces = interfaces_.size();
  for (const auto& [uid, user] : users_) end.links += user.links;
  end.names = names_.size();
  end.malformed = malformed_;
  end.dropped = dropped_;
  end.refused = refused_;
  end.cut = cut_;
  const User& user = users_[connection.who.uid];
  end.used = {user.interfaces, user.links, user.bytes, user.names};
  end.quota = {options_.quotas.interfaces, options_.quotas.links, options_.quotas.bytes,
               options_.quotas.names};
  end.pid = options_.pid;
  end.uid = options_.uid;
  put_text(end.version, options_.version);
  outside_.send(id, bytes_of(end));
}

// Leaving.

void Node::drop(std::uint64_t id, const char* why) {
  forget(id, true);
  outside_.drop(id, why);
}

void Node::forget(std::uint64_t id, bool keep_names) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const std::uint32_t uid = connection.who.uid;
  for (const auto& [link, side] : connection.links) {
    if (far(side.peer)) tell_far_end(connection, link, false);
  }
  while (!connection.links.empty()) close_side(connection, connection.links.begin()->first);
  for (const std::string& name : connection.names) {
    names_.erase(name);
    // One that is kept for its owner stands where it is read, too: its ticket is as good as before.
    if (!keep_names) changed(name);
    if (keep_names) kept_[name] = {id, connection.interface, uid, now_ + options_.grace};
  }
  while (!connection.waiting.empty()) release(id, connection, connection.waiting.begin()->first);
  User& user = users_[uid];
  if (!keep_names) user.names -= connection.names.size();
  user.bytes -= connection.area_bytes;
  const std::uint64_t interface = connection.interface;
  if (connection.stage == Stage::attached) {
    --user.interfaces;
    interfaces_.erase(interface);
  } else if (connection.stage == Stage::watcher) {
    --user.interfaces;
    watches_.erase(id);
  } else {
    --user.connections;
    forget_deadline(id, connection);
  }
  connections_.erase(found);
  forget_user(uid);
  // Introductions to it that were held, for a link before or because it read late, are refused now: nobody of
  // that number is attached.
  for (const std::uint64_t other : attached()) {
    resume_introductions(other, interface);
  }
  take_up_arrivals(interface);
}

void Node::forget_deadline(std::uint64_t id, const Connection& connection) {
  deadlines_.erase({connection.since + kGreetTime, id});
  deadlines_.erase({connection.since + kObserveTime, id});
}

void Node::forget_user(std::uint32_t uid) {
  const auto found = users_.find(uid);
  const User& user = found->second;
  if (user.connections == 0 && user.interfaces == 0 && user.names == 0) users_.erase(found);
}

// Names that are kept for nobody any more. Who has asked for one meanwhile has it now.
template <class Which>
void Node::give_up_names(Which&& which) {
  if (kept_.empty()) return;
  std::set<std::string, std::less<>> free;
  for (auto at = kept_.begin(); at != kept_.end();) {
    if (!which(at->second)) {
      ++at;
      continue;
    }
    const std::uint32_t uid = at->second.uid;
    --users_[uid].names;
    forget_user(uid);
    changed(at->first);
    free.insert(at->first);
    at = kept_.erase(at);
  }
  if (free.empty()) return;
  for (const std::uint64_t other : attached())
    resume(other, [&](const Request& held) { return free.contains(name_of(held)); });
  for (const std::string& name : free) answer_far_lookups(name);
}

// HMAC over who and what. A number's token has no name, and a name is never empty.
Token Node::sign(std::uint32_t uid, std::uint64_t interface, std::string_view name) const {
  std::vector<unsigned char> text(sizeof uid + sizeof interface + name.size());
  std::memcpy(text.data(), &uid, sizeof uid);
  std::memcpy(text.data() + sizeof uid, &interface, sizeof interface);
  if (!name.empty()) std::memcpy(text.data() + sizeof uid + sizeof interface, name.data(), name.size());
  Token out;
  static_assert(sizeof out == crypto_auth_BYTES && sizeof(Key) == crypto_auth_KEYBYTES);
  ::crypto_auth(reinterpret_cast<unsigned char*>(out.data()), text.data(), text.size(),
                reinterpret_cast<const unsigned char*>(options_.key.data()));
  return out;
}

}  // namespace hamlyn::node
