// The node's mind, as far as names go: who has registered which, who looks for one, whom one is kept for.
#include <sodium.h>

#include <cstring>

#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {

namespace {
constexpr std::uint32_t kRoot = 0;
}  // namespace

void Node::publish(std::uint64_t id, Connection& connection, const Request& request) {
  const std::string_view name = name_of(request);
  const std::uint32_t uid = connection.who.uid;
  if (request.name_length > kMaxName || !valid_name(name)) {
    throw Refused{ErrorCode::name_invalid, "a name has 1 to 64 characters out of [A-Za-z0-9._-]"};
  }
  if (const char* why = hamlyn::invalid(request.ticket)) throw Refused{ErrorCode::invalid_argument, why};
  const Token token = sign(uid, connection.interface, name);
  const bool proven = proves(request.token, uid, connection.interface, name);
  if (!proven && request.token != Token{}) {
    throw Refused{ErrorCode::not_permitted,
                  "this node had not given the name " + std::string(name) + " to this process"};
  }
  const auto taken = names_.find(name);
  if (taken != names_.end() && taken->second.connection != id) {
    const Connection& owner = connections_.at(taken->second.connection);
    const std::string interface = "interface " + std::to_string(owner.interface);
    const std::string who = owner.who.pid == connection.who.pid
                                ? "this process, by its " + interface + ","
                                : "process " + std::to_string(owner.who.pid) + ", " + interface + ",";
    throw Refused{ErrorCode::name_taken, who + " has registered the name " + std::string(name)};
  }
  // After a restart, or when its connection broke, whoever had a name gets it back before others may take it.
  const auto kept = kept_.find(name);
  if (names_unknown() && !proven) return wait_for_name(id, connection, request);
  // A token is good for ever, also for who had the name before the one that it is kept for. That one needs
  // none: a daemon may have ended before it could give it.
  const bool became = kept != kept_.end() && proven && kept->second.uid == kRoot;
  if (kept != kept_.end() &&
      (kept->second.interface != connection.interface || (kept->second.uid != uid && !became)))
    return wait_for_name(id, connection, request);
  enter_name(id, connection, request);
  Reply reply = make_reply(ReplyKind::published, request.request);
  reply.token = token;
  answer(id, reply);
  expect_far(id, connection);
  far_name_happened(uid, name);
  name_happened(uid, name);
  go_on(kAtOnce);
}

void Node::wait_for_name(std::uint64_t id, Connection& connection, const Request& request) {
  hold(id, connection, request);
  awaited_[std::string(name_of(request))].emplace(id, request.request);
}

// Its owner may have had it before, or until a daemon ended: then it counts already.
void Node::enter_name(std::uint64_t id, Connection& connection, const Request& request) {
  const std::string_view name = name_of(request);
  const std::uint32_t uid = connection.who.uid;
  if (const auto kept = kept_.find(name); kept != kept_.end()) {
    if (const std::uint32_t before = kept->second.uid; before != uid) {
      accounts_.take(uid, Resource::names, 1);
      accounts_.give(before, Resource::names, 1);
    }
    drop_kept(kept);
  } else if (!names_.contains(name)) {
    accounts_.take(uid, Resource::names, 1);
  }
  connection.names.emplace(name);
  names_[std::string(name)] = {
      id,
      {(request.flags & Request::kGroup) != 0, (request.flags & Request::kEveryone) != 0},
      request.ticket,
      next_generation_++};
  changed(name);
  environment_.name_given({std::string(name), connection.interface, uid, connection.who.pid});
}

void Node::withdraw(std::uint64_t id, Connection& connection, const Request& request) {
  const auto found = connection.names.find(name_of(request));
  if (found == connection.names.end()) {
    throw Refused{ErrorCode::name_unknown,
                  "this process has not registered the name " + std::string(name_of(request))};
  }
  names_.erase(*found);
  changed(*found);
  environment_.name_freed(*found);
  connection.names.erase(found);
  accounts_.give(connection.who.uid, Resource::names, 1);
  answer(id, make_reply(ReplyKind::withdrawn, request.request));
}

bool Node::may_look_up(std::uint32_t uid, std::uint32_t gid, const RegisteredName& name) {
  return uid == name.uid || uid == 0 || name.rights.everyone || (name.rights.group && gid == name.gid);
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
    if (!names_unknown() && !kept_.contains(name) && !wait && !others) {
      throw Refused{ErrorCode::name_unknown, "nobody has registered the name " + std::string(name)};
    }
    wait_for_name(id, connection, request);
    return search(id, request, names_unknown() || kept_.contains(name));
  }
  const RegisteredName what = registered(found->second);
  if (!may_look_up(connection.who.uid, connection.who.gid, what)) {
    throw Refused{ErrorCode::not_permitted, "whoever registered the name " + std::string(name) +
                                                " does not let user " + std::to_string(connection.who.uid) +
                                                " look it up"};
  }
  answer_found(id, request.request, what);
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

void Node::keep_name(const std::string& name, const Kept& kept) {
  kept_[name] = kept;
  kept_until_.insert({kept.until, name});
  kept_of_.insert({kept.connection, name});
  kept_at_.insert({kept.interface, name});
}

// Keeps the name for nobody any more. A process that has asked for it meanwhile has it now.
void Node::give_up_name(const std::string& name) {
  const auto kept = kept_.find(name);
  const std::uint32_t uid = kept->second.uid;
  drop_kept(kept);
  accounts_.give(uid, Resource::names, 1);
  changed(name);
  environment_.name_freed(name);
  name_happened(uid, name);
  far_name_happened(uid, name);
}

std::vector<std::string> Node::names_in(const std::set<std::pair<std::uint64_t, std::string>>& names,
                                        std::uint64_t of) {
  std::vector<std::string> out;
  for (auto at = names.lower_bound({of, {}}); at != names.end() && at->first == of; ++at)
    out.push_back(at->second);
  return out;
}

void Node::drop_kept(std::map<std::string, Kept, std::less<>>::iterator kept) {
  kept_until_.erase({kept->second.until, kept->first});
  kept_of_.erase({kept->second.connection, kept->first});
  kept_at_.erase({kept->second.interface, kept->first});
  kept_.erase(kept);
}

// A process that begins with root's rights and drops them (setuid) is attested as another user from then on.
bool Node::proves(const Token& token, std::uint32_t uid, std::uint64_t interface,
                  std::string_view name) const {
  return token == sign(uid, interface, name) || token == sign(kRoot, interface, name);
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
