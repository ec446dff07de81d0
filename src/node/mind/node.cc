#include "node/mind/node.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "node/mind/replies.h"

namespace hamlyn::node {
namespace {

constexpr Time kGreetTime{5000};  // from the connection to its hello
constexpr Time kObserveTime{60000};
constexpr std::uint64_t kNobody = ~std::uint64_t{0};  // no connection

std::string versions(std::uint32_t protocol, std::uint32_t structures) {
  return "protocol " + std::to_string(version_of(protocol)) + " with structures " +
         std::to_string(structures);
}

// A registry takes no more names than this, whatever the configuration says.
Quotas registered_by_all(Quotas total) {
  total.names = std::min<std::uint64_t>(total.names, kMostNames);
  return total;
}

}  // namespace

Node::Node(const NodeOptions& options, NodeEnvironment& environment, Time now, OtherNodes* others)
    : options_(options),
      environment_(environment),
      started_(now),
      now_(now),
      grace_(options.recovering),
      next_number_(options.first_number),
      others_(others),
      accounts_(options.quotas, registered_by_all(options.total), options.uid) {
  if (options.descriptors != 0) accounts_.limited_by_descriptors(options.descriptors);
  // Microseconds of the start: above all of the run before.
  if (others_ != nullptr) next_generation_ = others_->incarnation();
  if (!grace_ || !options_.left) return;
  for (const OwnedName& name : *options_.left) {
    if (kept_.contains(name.name)) continue;
    keep_name(name.name, {kNobody, name.interface, name.uid, now + options_.grace});
    accounts_.add(name.uid, Resource::names, 1);
  }
}

void Node::connected(std::uint64_t id, const Identity& attested, Time now) {
  now_ = now;
  Identity who = attested;
  if (is_clerk(who)) who.uid = options_.uid;  // what the daemon's clerk holds is the daemon's
  if (!accounts_.within_quota(who.uid, Resource::strangers, 1)) {
    environment_.drop(id, "too many connections of one user that do not attach");
    return;
  }
  // An honest process says hello at once: who has kept silent for longest gives way.
  if (!deadlines_.empty() && !accounts_.within_all(who.uid, Resource::strangers, 1))
    drop(deadlines_.begin()->second, "too many connections that do not attach");
  accounts_.add(who.uid, Resource::strangers, 1);
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
  const bool attached = connection.stage == Stage::attached;
  if (attached && later(request.kind)) return refuse_unknown(id, request);
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

// Refuses a request that a later daemon may know: the process was built with that in mind, and does no harm.
void Node::refuse_unknown(std::uint64_t id, const Request& request) {
  ++refused_;
  Reply reply = make_reply(ReplyKind::refused, request.request);
  reply.error = static_cast<std::uint32_t>(ErrorCode::version_mismatch);
  put_text(reply.text, "this node daemon, of version " + options_.version + ", knows no requests of kind " +
                           std::to_string(static_cast<std::uint32_t>(request.kind)));
  answer(id, reply);
}

void Node::malformed(std::uint64_t id, const char* why) {
  if (!connections_.contains(id)) return;
  ++malformed_;
  drop(id, why);
}

void Node::disconnected(std::uint64_t id) {
  tell_undecided(id, LinkReason::died);
  forget(id, false, LinkReason::died);
  for (const std::string& name : names_in(kept_of_, id)) give_up_name(name);
  go_on(kAtOnce);
}

// Most often the process is about to end, which is seen a moment later.
void Node::broken(std::uint64_t id) {
  forget(id, true, LinkReason::none);
  if (undecided_.contains(id) || leaving_.contains(id)) undecided_until_.emplace_back(now_ + kDying, id);
}

void Node::too_slow(std::uint64_t id) {
  if (!connections_.contains(id)) return;
  ++dropped_;
  drop(id, "it does not read what it is told");
}

void Node::tick(Time now) {
  now_ = now;
  each_over(deadlines_, [this](std::uint64_t id) {
    drop(id, connections_.at(id).stage == Stage::fresh ? "no hello within the time for it" : nullptr);
  });
  each_over(kept_until_, [this](const std::string& name) { give_up_name(name); });
  if (grace_ && now >= started_ + options_.grace) end_grace();
  tick_far();
  tick_held();
}

std::optional<Time> Node::deadline() const {
  std::optional<Time> out;
  if (!deadlines_.empty()) out = deadlines_.begin()->first;
  if (grace_) out = std::min(out.value_or(Time::max()), started_ + options_.grace);
  if (!kept_until_.empty()) out = std::min(out.value_or(Time::max()), kept_until_.begin()->first);
  for (const auto& part : {held_deadline(), far_deadline()}) {
    if (part) out = std::min(out.value_or(Time::max()), *part);
  }
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
  if (version_of(protocol) != kProtocolVersion || structures != kStructuresVersion) {
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
                     "user " + std::to_string(who.uid) +
                         " (nobody) stands for every user that has no number where the node daemon runs: run "
                         "the program as a user of its own");
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
    if (!proves(hello.token, uid, hello.interface, {})) {
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
  try {
    accounts_.take(uid, Resource::interfaces, 1);
  } catch (const Refused& refusal) {
    return turn_away(id, refusal.code, refusal.text);
  }
  accounts_.give(uid, Resource::strangers, 1);
  deadlines_.erase({connection.since + kGreetTime, id});
  connection.stage = Stage::attached;
  connection.since = now_;
  connection.counters = counters;
  // A process of the run before may have come back with a number that was to be given next.
  while (interfaces_.contains(next_number_)) ++next_number_;
  connection.interface = hello.interface != 0 ? hello.interface : next_number_++;
  interfaces_[connection.interface] = id;
  welcome(id, connection, sign(uid, connection.interface, {}));
  arrivals_happened(uid, connection.interface);
  peer_happened(uid, connection.interface);  // some may have asked for this one before it came back
}

void Node::welcome(std::uint64_t id, const Connection& connection, const Token& token) {
  Welcome out;
  out.protocol = options_.protocol;
  out.interface = connection.interface;
  out.token = token;
  environment_.send(id, bytes_of(out));
}

void Node::turn_away(std::uint64_t id, ErrorCode code, std::string_view text) {
  ++refused_;
  Welcome out;
  out.protocol = options_.protocol;
  out.error = static_cast<std::uint32_t>(code);
  put_text(out.text, text);
  environment_.send(id, bytes_of(out));
  drop(id, nullptr);
}

bool Node::may_attach(const Identity& who) const {
  return is_clerk(who) || lets(options_.rights, who.uid, who.gid);
}

// Requests.

// The clerk counts as its daemon, and names are not its to have: whoever takes it over reads and registers
// none.
void Node::check_names(const Connection& connection, RequestKind kind) const {
  const bool names =
      kind == RequestKind::publish || kind == RequestKind::withdraw || kind == RequestKind::lookup;
  if (names && is_clerk(connection.who))
    throw Refused{ErrorCode::not_permitted, "a clerk of names registers and looks up none"};
}

void Node::handle(std::uint64_t id, Connection& connection, const Request& request) {
  try {
    check_names(connection, request.kind);
    switch (request.kind) {
      case RequestKind::introduce:
        return introduce(id, connection, request);
      case RequestKind::link_ended:
        return link_ended(connection, request.number);
      case RequestKind::end_reason:
        return end_reason(connection, request);
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
      case RequestKind::farewell:
        return farewell(id);
      case RequestKind::consent:
        return take_consent(id, connection, request);
    }
  } catch (const Refused& refusal) {
    ++refused_;
    answer(id, make_refusal(request.request, refusal));
  }
}

void Node::answer(std::uint64_t id, const Reply& reply) { environment_.send(id, bytes_of(reply)); }

void Node::cancel(std::uint64_t id, Connection& connection, const Request& request) {
  // A request that no longer waits has its answer under way.
  const auto ask = asks_.find({id, request.request});
  const std::uint64_t peer = ask == asks_.end() ? 0 : ask->second.peer;
  const auto held = connection.waiting.find(request.request);
  const bool lookup = held != connection.waiting.end() && held->second.request.kind == RequestKind::lookup;
  if (!release(id, connection, request.request)) return;
  Reply reply = make_reply(ReplyKind::cancelled, request.request);
  if (lookup) put_text(reply.text, missing_nodes());
  answer(id, reply);
  if (peer != 0) take_up_far(id, peer);
}

void Node::fabric_address(std::uint64_t id, Connection& connection, const Request& request) {
  auto at = std::as_bytes(std::span{request.name}).first(request.name_length);
  connection.unreached.clear();
  if (engine_of(request.engine).empty() && !at.empty()) {  // why it cannot
    for (const std::byte each : at) {
      const auto letter = static_cast<char>(each);
      connection.unreached += letter >= ' ' && letter <= '~' ? letter : '?';
    }
    at = {};
    environment_.not_reached(id, connection.unreached);
  }
  connection.address.assign(at.begin(), at.end());
  std::memcpy(connection.engine, request.engine, sizeof connection.engine);
  const Reach reach = at.empty() ? Reach::none : Reach::known;
  const Reach before = std::exchange(connection.reach, reach);
  if (before == reach) return;  // nobody waits for it
  connection.reach_again =
      reach == Reach::none && before == Reach::asked;  // when those who wait were refused
  take_up_far(id);                                     // before the way may be tried again
  arrivals_happened(connection.who.uid, connection.interface);
  go_on(kAtOnce);
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
    environment_.send(id, bytes_of(reply),
                      details && one.counters ? std::optional{next->second} : std::nullopt);
  }
  NodeReply end;
  end.more = next == interfaces_.end() ? 0 : 1;
  end.request = request.request;
  end.uptime_ms = static_cast<std::uint64_t>((now_ - started_).count());
  end.interfaces = interfaces_.size();
  end.links = accounts_.in_all(Resource::links);
  end.names = names_.size();
  end.malformed = malformed_;
  end.dropped = dropped_;
  end.refused = refused_;
  end.cut = cut_;
  const auto held = [&](Resource what) { return accounts_.held(connection.who.uid, what); };
  end.used = {held(Resource::interfaces), held(Resource::links), held(Resource::bytes),
              held(Resource::names)};
  end.quota = {options_.quotas.interfaces, options_.quotas.links, options_.quotas.bytes,
               options_.quotas.names};
  end.pid = options_.pid;
  end.uid = options_.uid;
  put_text(end.version, options_.version);
  environment_.send(id, bytes_of(end));
}

// Leaving.

// Frees the names of that connection alone: the request names nothing. The interface number was
// proven when the process attached, so names that a connection before has left are the process's own, too.
void Node::farewell(std::uint64_t id) {
  const Connection& connection = connections_.at(id);
  const std::uint64_t interface = connection.interface;
  const std::uint32_t uid = connection.who.uid;
  forget(id, false, LinkReason::left);
  environment_.drop(id, nullptr);
  for (const std::string& name : names_in(kept_at_, interface)) {
    if (kept_.at(name).uid == uid) give_up_name(name);
  }
  go_on(kAtOnce);
}

void Node::drop(std::uint64_t id, const char* why) {
  forget(id, true);
  environment_.drop(id, why);
}

void Node::forget(std::uint64_t id, bool keep_names, LinkReason why) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const std::uint32_t uid = connection.who.uid;
  connection.leaves = why;
  for (const std::string& name : connection.names) {
    names_.erase(name);
    // One that is kept for its owner stands where it is read, too: its ticket is as good as before.
    if (!keep_names) {
      changed(name);
      environment_.name_freed(name);
    }
    if (keep_names) keep_name(name, {id, connection.interface, uid, now_ + options_.grace});
  }
  while (!connection.waiting.empty()) release(id, connection, connection.waiting.begin()->first);
  if (!keep_names) accounts_.give(uid, Resource::names, connection.names.size());
  accounts_.give(uid, Resource::bytes, connection.area_bytes);
  accounts_.give(uid, Resource::shunned, connection.shunned.size());
  const bool stays = connection.stage == Stage::attached || connection.stage == Stage::watcher;
  accounts_.give(uid, stays ? Resource::interfaces : Resource::strangers, 1);
  const std::uint64_t interface = connection.interface;
  if (connection.stage == Stage::attached) interfaces_.erase(interface);
  if (connection.stage == Stage::watcher) watches_.erase(id);
  if (!stays) forget_deadline(id, connection);
  close_some(id, connection);
  if (connection.links.empty()) {
    connections_.erase(found);
  } else {  // what a stranger decides how many they are is given back in turns
    leaving_.emplace(id, std::move(connections_.extract(found).mapped()));
    happened(uid, {.what = Due::What::leaving, .of = id});
  }
  // Introductions to it that were held, for a link before or because it read late, are refused now: nobody of
  // that number is attached.
  arrivals_happened(uid, interface);
  peer_happened(uid, interface);
}

void Node::forget_deadline(std::uint64_t id, const Connection& connection) {
  deadlines_.erase({connection.since + kGreetTime, id});
  deadlines_.erase({connection.since + kObserveTime, id});
}

}  // namespace hamlyn::node
