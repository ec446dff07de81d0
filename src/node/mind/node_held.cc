// The node's mind, as far as requests wait: what each waits for, and who is taken up again when that comes.
// Whatever happens, few of them are taken up at once; the rest follow in turns of their users.
#include <algorithm>
#include <utility>

#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {
namespace {

constexpr std::size_t kMaxWaiting = 256;        // requests of a process that have no answer yet
constexpr std::size_t kMaxIntroductions = 256;  // introductions among them, beside the others
constexpr Time kIntroductionTime{10000};        // for which an introduction waits
constexpr std::size_t kLinksOfAStep = 8;        // ends of links that are given back
constexpr std::uint64_t kFirst = 0;

// Resource that a request counts as while it has no answer.
Resource waiting_for(RequestKind kind) {
  if (kind == RequestKind::lookup) return Resource::lookups;
  return kind == RequestKind::publish ? Resource::claims : Resource::introductions;
}

}  // namespace

// Keeps a request that cannot be answered yet. Strangers decide how many introductions wait: they leave room
// for the rest.
void Node::hold(std::uint64_t id, Connection& connection, const Request& request) {
  const bool introduces = request.kind == RequestKind::introduce;
  const std::size_t most = introduces ? kMaxIntroductions : kMaxWaiting;
  const std::size_t has =
      introduces ? connection.introductions : connection.waiting.size() - connection.introductions;
  if (has >= most) {
    throw Refused{ErrorCode::out_of_memory,
                  std::to_string(most) + " requests of this process wait already: cancel some"};
  }
  accounts_.take(connection.who.uid, waiting_for(request.kind), 1);
  Held& held = connection.waiting[request.request];
  held.request = request;
  if (!introduces) return;
  ++connection.introductions;
  held.until = held_until_.value_or(now_ + kIntroductionTime);
  introduction_deadlines_.insert({held.until, {id, request.request}});
}

// Takes it out of what waits; false if it no longer did.
bool Node::release(std::uint64_t id, Connection& connection, std::uint64_t number) {
  const auto found = connection.waiting.find(number);
  if (found == connection.waiting.end()) return false;
  const Request& request = found->second.request;
  if (request.kind == RequestKind::introduce) {
    --connection.introductions;
    introduction_deadlines_.erase({found->second.until, {id, number}});
    introductions_.remove({id, request.number}, number);
  } else if (const auto awaited = awaited_.find(name_of(request)); awaited != awaited_.end()) {
    awaited->second.erase({id, number});
    if (awaited->second.empty()) awaited_.erase(awaited);
  }
  accounts_.give(connection.who.uid, waiting_for(request.kind), 1);
  connection.waiting.erase(found);
  forget_far_request({id, number});
  return true;
}

// Takes up one again; it keeps its deadline if it goes on waiting.
void Node::take_up(Waiting waiting) {
  const auto [id, number] = waiting;
  const auto found = connections_.find(id);
  if (found == connections_.end() || asks_.contains(waiting)) return;
  const auto held = found->second.waiting.find(number);
  if (held == found->second.waiting.end()) return;
  const Request request = held->second.request;
  if (request.kind == RequestKind::introduce) held_until_ = held->second.until;
  release(id, found->second, number);
  handle(id, found->second, request);
  held_until_.reset();
}

// Takes up one process's requests for links with other nodes: something that they waited for may have
// happened.
void Node::take_up_far(std::uint64_t id, std::optional<std::uint64_t> peer) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, held] : found->second.waiting) {
    const Request& request = held.request;
    if (request.kind == RequestKind::introduce && far(request.number) &&
        peer.value_or(request.number) == request.number)
      numbers.push_back(number);
  }
  // One that is taken up may have been what another waited for, which is then answered already.
  for (const std::uint64_t number : numbers) take_up({id, number});
}

// Finds the obstacle to a link between these two; nothing if it can be made, or refused.
std::optional<Obstacle> Node::obstacle_to(std::uint64_t id, const Connection& connection,
                                          std::uint64_t number) {
  const auto there = interfaces_.find(number);
  if (there == interfaces_.end())
    return grace_ ? std::optional{Obstacle{Obstacle::Kind::absence}} : std::nullopt;
  const std::uint64_t other = there->second;
  const Connection& peer = connections_.at(other);
  if (other == id || peer.shunned.contains(connection.interface)) return std::nullopt;
  const auto mine = connection.with.find(peer.interface);
  const auto theirs = peer.with.find(connection.interface);
  const bool here = mine != connection.with.end();
  const bool over_there = theirs != peer.with.end();
  if (here && over_there && mine->second == theirs->second) return std::nullopt;  // they have one
  // One end has not noticed yet that an earlier link has ended. Waiting for it keeps a process from flooding
  // another with introductions: each costs the asker an open end until the other has dealt with it.
  if (here || over_there) return Obstacle{Obstacle::Kind::link};
  for (const std::uint64_t reader : {id, other}) {
    // Nobody overtakes those who wait.
    if ((!in_turn_ && introductions_.waits(reader)) || environment_.behind(reader))
      return Obstacle{Obstacle::Kind::reading, reader};
  }
  return std::nullopt;
}

// Looks again whether those two can have their link.
void Node::try_introduction(const PendingIntroductions::Key& key) {
  const auto found = connections_.find(key.first);
  if (found == connections_.end() || introductions_.requests(key) == nullptr) return;
  in_turn_ = true;
  if (const auto obstacle = obstacle_to(key.first, found->second, key.second)) {
    introductions_.move(key, *obstacle);
  } else {
    for (const std::uint64_t number : std::set{*introductions_.requests(key)}) take_up({key.first, number});
  }
  in_turn_ = false;
}

// Something has happened between these two interfaces.
void Node::try_introductions_between(std::uint64_t one, std::uint64_t other) {
  for (const auto& [mine, theirs] : {std::pair{one, other}, std::pair{other, one}}) {
    const auto asker = interfaces_.find(mine);
    if (asker == interfaces_.end()) continue;
    far(theirs) ? take_up_far(asker->second, theirs) : try_introduction({asker->second, theirs});
  }
}

// Events that have happened, and are dealt with in turns.

void Node::happened(std::uint64_t user, Due due) {
  if (!due_.insert({due.what, due.of, due.name}).second) return;  // it is looked at already
  const std::uint64_t serial = next_due_++;
  dues_.emplace(serial, std::move(due));
  due_turns_.add(user, serial);
}

void Node::go_on() { go_on(1); }

void Node::go_on(int steps) {
  if (std::exchange(in_steps_, true)) return;
  for (; steps > 0; --steps) {
    const auto turn = due_turns_.next();
    if (!turn) break;
    due_turns_.charge(*turn, 1);
    const auto found = dues_.find(turn->what);
    Due due = std::move(found->second);
    dues_.erase(found);
    due_.erase({due.what, due.of, due.name});
    if (!step(due)) continue;
    // An event may have happened once more meanwhile: then the later one looks at everything again.
    if (!due_.insert({due.what, due.of, due.name}).second) continue;
    dues_.emplace(turn->what, std::move(due));
    due_turns_.add(turn->user, turn->what);
  }
  in_steps_ = false;
}

// One request, or so. Whether there is more.
bool Node::step(Due& due) {
  switch (due.what) {
    case Due::What::reading: {
      const auto key = introductions_.next(due.of);
      if (!key) return false;
      try_introduction(*key);
      const auto reader = connections_.find(due.of);
      return introductions_.waits(due.of) && (reader == connections_.end() || !environment_.behind(due.of));
    }
    case Due::What::peer: {
      const auto key = introductions_.next_for(due.of, due.after.first);
      if (!key) return false;
      due.after = {key->first, kFirst};
      try_introduction(*key);
      return true;
    }
    case Due::What::name: {
      const auto awaited = awaited_.find(due.name);
      if (awaited == awaited_.end()) return false;
      const auto next = awaited->second.upper_bound(due.after);
      if (next == awaited->second.end()) return false;
      due.after = *next;
      take_up(due.after);
      return true;
    }
    case Due::What::leaving: {
      Connection& connection = leaving_.at(due.of);
      close_some(due.of, connection);
      if (!connection.links.empty()) return true;
      leaving_.erase(due.of);
      return false;
    }
    case Due::What::search:
      return step_search(due);
    case Due::What::node:
      return step_node(due);
    case Due::What::ends:
      return step_ends(due);
    case Due::What::grace:
      return step_grace(due);
    case Due::What::arrivals:
      return step_arrivals(due);
    case Due::What::far_name:
      return step_far_name(due);
    case Due::What::room:
      return step_room(due);
  }
  return false;
}

void Node::close_some(std::uint64_t id, Connection& connection) {
  for (std::size_t i = 0; i < kLinksOfAStep && !connection.links.empty(); ++i) {
    auto& [link, side] = *connection.links.begin();
    if (far(side.peer) && connection.leaves != LinkReason::none) {
      tell_far_end(connection, link, connection.leaves);
    } else if (far(side.peer) && !side.gone) {
      Undecided& undecided = undecided_[id];
      undecided.uid = connection.who.uid;
      undecided.links.push_back({link, connection.interface, side.peer});
    }
    if (side.unproven) adoptions_.erase({*side.unproven, {id, link}});
    side.unproven.reset();
    close_side(connection, std::uint64_t{link});
  }
}

// Some of the ends of links of a process, now that it is known why they have ended. Whether there is more.
bool Node::step_ends(const Due& due) {
  const auto found = undecided_.find(due.of);
  auto& [uid, links, reason] = found->second;
  for (std::size_t i = 0; i < kLinksOfAStep && !links.empty(); ++i) {
    FarEnded ended = links.back();
    links.pop_back();
    ended.reason = reason;
    tell(node_of(ended.yours), ended);
  }
  if (!links.empty()) return true;
  undecided_.erase(found);
  return false;
}

// A name has been given to somebody, or is kept for nobody any more.
void Node::name_happened(std::uint32_t uid, std::string_view name) {
  if (awaited_.contains(name)) happened(uid, {.what = Due::What::name, .name = std::string(name)});
}

void Node::caught_up(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (const auto watched = watches_.find(id); watched != watches_.end())
    return tell_watcher(id, watched->second);
  const std::uint64_t number = found->second.interface;
  const std::uint32_t uid = found->second.who.uid;
  if (introductions_.waits(id)) happened(uid, {.what = Due::What::reading, .of = id});
  arrivals_happened(uid, number);
  go_on(kAtOnce);
}

// The peer is there, or will not come.
void Node::peer_happened(std::uint32_t uid, std::uint64_t interface) {
  if (introductions_.next_for(interface, kFirst)) happened(uid, {.what = Due::What::peer, .of = interface});
  go_on(kAtOnce);
}

// Nobody of the run before comes back any more.
void Node::end_grace() {
  grace_ = false;
  happened(options_.uid, {.what = Due::What::grace});
}

// The next peer or name that somebody waits for. Whether there is more.
bool Node::step_grace(Due& due) {
  enum Kind : std::uint64_t { peers, names, far_peers, far_names, all };
  auto& [kind, none] = due.after;
  for (; kind < all; ++kind, due.of = kFirst, due.name.clear()) {
    if (kind == peers) {
      const auto peer = introductions_.next_peer(due.of);
      if (!peer) continue;
      due.of = *peer;
      happened(options_.uid, {.what = Due::What::peer, .of = due.of});
      return true;
    }
    if (kind == far_peers) {
      const auto peer = arrivals_at_.upper_bound(due.of);
      if (peer == arrivals_at_.end()) continue;
      due.of = peer->first;
      arrivals_happened(options_.uid, due.of);
      return true;
    }
    const bool far = kind == far_names;
    const auto next = [&](const auto& awaited) {
      const auto name = awaited.upper_bound(due.name);
      if (name == awaited.end()) return false;
      due.name = name->first;
      return true;
    };
    if (!(far ? next(far_awaited_) : next(awaited_))) continue;
    far ? far_name_happened(options_.uid, due.name) : name_happened(options_.uid, due.name);
    return true;
  }
  return false;
}

void Node::tick_held() {
  each_over(introduction_deadlines_, [this](const Waiting& waiting) {
    refuse_waiting(waiting,
                   {ErrorCode::timed_out,
                    "that process has not read its introductions, or ended an earlier link, within 10 s"});
  });
  each_over(adoptions_, [this](const auto& end) {
    const auto [id, link] = end;
    const auto found = connections_.find(id);
    if (found == connections_.end()) {  // it is leaving
      adoptions_.erase(adoptions_.begin());
      return;
    }
    Connection& connection = found->second;
    const std::uint64_t peer = connection.links.at(link).peer;
    close_side(connection, link);
    try_introductions_between(connection.interface, peer);
  });
  go_on(kAtOnce);
}

std::optional<Time> Node::held_deadline() const {
  if (has_more()) return now_;
  Time out = Time::max();
  if (!introduction_deadlines_.empty()) out = introduction_deadlines_.begin()->first;
  if (!adoptions_.empty()) out = std::min(out, adoptions_.begin()->first);
  return out == Time::max() ? std::nullopt : std::optional{out};
}

}  // namespace hamlyn::node
