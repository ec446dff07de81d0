#include "library/control/member_events.h"

#include <algorithm>
#include <cstring>

namespace hamlyn::internal_::library {

namespace {

using State = Membership::State;
using Change = Membership::Change;

bool there(State state) noexcept { return state == State::alive || state == State::suspect; }

Membership::Node node_of(const node::MemberReply& reply) {
  Membership::Node out;
  out.id = reply.id;
  out.state = static_cast<State>(std::min(reply.state, static_cast<std::uint32_t>(State::left)));
  out.boot = reply.boot != 0;
  out.incarnation = reply.incarnation;
  out.address.assign(reply.address, ::strnlen(reply.address, sizeof reply.address));
  return out;
}

// Says how a node has changed; nothing: nothing worth telling. `told`: the incarnation last told of, 0 for
// none.
std::optional<Change> change_of(const Membership::Node* before, const Membership::Node& now,
                                std::uint64_t told, std::uint32_t changes) {
  const bool was = before != nullptr && there(before->state);
  if (now.state == State::self) {
    if (told != now.incarnation) return Change::renewed;
    if (before == nullptr) return Change::came;
  } else if (there(now.state)) {
    if (told != 0 && told != now.incarnation) return Change::returned;
    if (!was) return Change::came;
    if (before->state != now.state) return now.state == State::suspect ? Change::suspected : Change::cleared;
  } else if (before != nullptr && before->state != now.state) {
    if (now.state == State::left) return Change::left;
    if (was) return Change::died;
  }
  if (changes > 1) return Change::missed;
  return std::nullopt;
}

}  // namespace

Membership::Node* MemberEvents::row(std::uint16_t id) noexcept {
  const auto found = std::ranges::find(nodes_, id, &Membership::Node::id);
  return found == nodes_.end() ? nullptr : &*found;
}

std::optional<Membership::Event> MemberEvents::take(const node::MemberReply& reply) {
  Membership::Event event;
  event.node = node_of(reply);
  event.changes = std::max(reply.changes, 1u);
  std::uint64_t& former = told_[reply.id];
  event.former = former;
  Membership::Node* const before = row(reply.id);
  const std::optional<Change> change = change_of(before, event.node, former, event.changes);
  if (before != nullptr) {
    *before = event.node;
  } else {
    nodes_.insert(std::ranges::upper_bound(nodes_, reply.id, {}, &Membership::Node::id), event.node);
  }
  if (change || former == 0) former = reply.incarnation;
  if (!change) return std::nullopt;
  event.change = *change;
  return event;
}

Membership::Event MemberEvents::lose() {
  nodes_.clear();
  Membership::Event event;
  event.change = Change::daemon_gone;
  return event;
}

}  // namespace hamlyn::internal_::library
