// The node's mind, as far as consent goes: which users may open links with a process, by its own word and by
// the node's rule.
#include <array>
#include <cstring>

#include "node/mind/node.h"
#include "node/mind/replies.h"

namespace hamlyn::node {

static_assert(kMaxConsent == Consent::kMost);

// Links that the process has already stay.
void Node::take_consent(std::uint64_t id, Connection& connection, const Request& request) {
  std::array<std::uint32_t, kMaxConsent> ids{};
  std::memcpy(ids.data(), request.name, request.name_length);
  const auto groups = ids.begin() + static_cast<std::ptrdiff_t>(request.number);
  connection.consent.everyone = (request.flags & Request::kNamed) == 0;
  connection.consent.users.assign(ids.begin(), groups);
  connection.consent.groups.assign(groups, groups + static_cast<std::ptrdiff_t>(request.bytes));
  answer(id, make_reply(ReplyKind::granted, request.request));
}

// Throws Refused. `clerk`: a process of that user and group is the clerk of another node; clerks have links
// with each other and with nobody else.
void Node::check_consent(const Connection& peer, std::uint32_t uid, std::uint32_t gid, bool clerk) const {
  if (is_clerk(peer.who) != clerk)
    throw Refused{ErrorCode::not_permitted, "clerks of names have links with each other alone"};
  if (uid == peer.who.uid || clerk) return;
  if (!lets(options_.links, uid, gid)) {
    throw Refused{ErrorCode::not_permitted, "the node daemon's [links] do not let user " +
                                                std::to_string(uid) +
                                                " open links with processes of other users"};
  }
  if (!lets(peer.consent, uid, gid)) {
    throw Refused{ErrorCode::not_permitted, "the process of interface " + std::to_string(peer.interface) +
                                                " lets user " + std::to_string(uid) +
                                                " open no links with it"};
  }
}

}  // namespace hamlyn::node
