#pragma once
// How a machine's VIs are connected and part (vi/machine.h), and what comes by a connection.
//
// Each side of a connection chooses a session, a number that nobody else knows. Every message bears its
// receiver's, and comes from the interface that the connection is with, as the node attests it. Any other is
// passed over.
#include "vi/machine.h"

namespace hamlyn::internal_::vi {

template <class Port>
Result Machine<Port>::accept(std::uint32_t number, std::uint32_t with) {
  Request* const request = requests_.find(number);
  Vi* const vi = vis_.find(with);
  if (request == nullptr || vi == nullptr) return Result::invalid_parameter;
  if (vi->state != State::idle) return Result::invalid_state;
  if (const Result wrong = compare(vi->attributes, attributes_of(request->asks)); wrong != Result::success)
    return wrong;
  if (vi->inbox == nullptr && !reopen_inbox(*vi)) return Result::error_resource;
  const Request taken = *request;
  requests_.erase(number);
  if (taken.gone) return Result::timeout;
  begin(*vi, taken.peer);
  say(*vi, taken.asks, Say::accept);
  connect(*vi, taken.peer, taken.asks);
  return Result::success;
}

template <class Port>
Result Machine<Port>::reject(std::uint32_t number) {
  const Request* const request = requests_.find(number);
  if (request == nullptr) return Result::invalid_parameter;
  if (!request->gone) answer(request->peer, request->asks, Say::reject);
  requests_.erase(number);
  return Result::success;
}

template <class Port>
Result Machine<Port>::ask_for(std::uint32_t number, const Address& own, const Address& asked,
                              const Ticket& door) {
  Vi* const vi = vis_.find(number);
  if (vi == nullptr) return Result::invalid_parameter;
  if (vi->state != State::idle) return Result::invalid_state;
  if (vi->inbox == nullptr && !reopen_inbox(*vi)) return Result::error_resource;
  begin(*vi, door.interface);
  vi->own = own;
  vi->asked = asked;
  vi->other.door = door;
  say(*vi, {}, Say::request);
  return Result::success;
}

template <class Port>
Result Machine<Port>::peer_request(std::uint32_t number, const Address& own, const Address& asked,
                                   std::chrono::steady_clock::time_point until) {
  Vi* const vi = vis_.find(number);
  if (vi == nullptr) return Result::invalid_parameter;
  if (vi->state != State::idle) return Result::invalid_state;
  if (vi->inbox == nullptr && !reopen_inbox(*vi)) return Result::error_resource;
  begin(*vi, 0);
  vi->own = own;
  vi->asked = asked;
  vi->peering = true;
  vi->until = until;
  return Result::success;
}

template <class Port>
Result Machine<Port>::check(const ViAttributes& attributes) const noexcept {
  switch (attributes.reliability) {
    case Reliability::unreliable:
    case Reliability::delivery:
    case Reliability::reception:
      break;
    default:
      return Result::invalid_reliability_level;
  }
  if (attributes.max_transfer > kMostTransfer) return Result::invalid_mtu;
  return regions_.has_tag(attributes.tag) ? Result::success : Result::invalid_ptag;
}

template <class Port>
Result Machine<Port>::compare(const ViAttributes& own, const ViAttributes& other) noexcept {
  if (own.reliability != other.reliability) return Result::invalid_reliability_level;
  if (own.max_transfer != other.max_transfer) return Result::invalid_mtu;
  return own.qos == other.qos ? Result::success : Result::invalid_qos;
}

template <class Port>
ViAttributes Machine<Port>::attributes_of(const Message& message) noexcept {
  ViAttributes out;
  out.reliability = static_cast<Reliability>(message.reliability);
  out.max_transfer = message.max_transfer;
  out.qos = message.qos;
  out.rdma_write = (message.enables & kMayWrite) != 0;
  out.rdma_read = (message.enables & kMayRead) != 0;
  return out;
}

template <class Port>
Ticket Machine<Port>::ticket_of(const WireTicket& ticket, std::uint64_t peer, std::uint32_t entry) noexcept {
  Ticket out;
  out.interface = peer;
  out.slot = ticket.slot;
  out.generation = ticket.generation;
  out.key = ticket.key;
  out.entry = entry;
  out.bound = ticket.bound;
  return out;
}

template <class Port>
Message Machine<Port>::to_other(const Vi& vi, Say what) noexcept {
  Message out;
  out.say = what;
  out.from = vi.number;
  out.to = vi.other.vi;
  out.from_session = vi.other.own_session;
  out.to_session = vi.other.session;
  return out;
}

// --- what is said

template <class Port>
void Machine<Port>::say(Vi& vi, const Message& to, Say what) {
  Message out = to_other(vi, what);
  if (to.from != 0) {
    out.to = to.from;
    out.to_session = to.from_session;
    vi.other.door = ticket_of(to.door, vi.other.peer, Ticket::kPosted);
  }
  const ViAttributes& own = vi.attributes;
  out.reliability = static_cast<std::uint16_t>(own.reliability);
  out.max_transfer = own.max_transfer;
  out.qos = own.qos;
  out.enables = (own.rdma_write ? kMayWrite : 0u) | (own.rdma_read ? kMayRead : 0u);
  out.door = on_wire(door_->ticket());
  out.slot = on_wire(vi.inbox->ticket());
  out.own_host = vi.own.host;
  out.own_length = vi.own.length;
  out.own = vi.own.bytes;
  out.asked_host = vi.asked.host;
  out.asked_length = vi.asked.length;
  out.asked = vi.asked.bytes;
  outbox_.add(vi.other.door, out);
}

template <class Port>
void Machine<Port>::answer(std::uint64_t peer, const Message& to, Say what) {
  Message out;
  out.say = what;
  out.to = to.from;
  out.to_session = to.from_session;
  outbox_.add(ticket_of(to.door, peer, Ticket::kPosted), out);
}

// A message that nobody will ever hear. The NIC of a connection's other side has closed then, or its link has
// ended: what it had sent before may still be on its way, for answers come first.
template <class Port>
void Machine<Port>::never(const Ticket& to, const Message& lost) {
  Vi* const vi = vis_.find(lost.from);
  if (vi == nullptr || vi->other.own_session != lost.from_session) return;
  if (vi->state == State::connected && to.interface == vi->other.peer) {
    vi->other.forsaken = true;
    empty_looks_left_ = kEmptyLooks;
    return;
  }
  if (vi->state != State::connect_pending || vi->outcome != Result::not_done || vi->peering) return;
  vi->outcome = port_.used_up(to.interface) ? Result::error_resource : Result::not_reachable;
  changed_ = true;
}

template <class Port>
bool Machine<Port>::end_forsaken() {
  if (empty_looks_left_ == 0 || --empty_looks_left_ != 0) return empty_looks_left_ != 0;
  vis_.each([&](std::uint32_t, Vi& vi) {
    if (vi.state == State::connected && vi.other.forsaken) lose(vi, Reason::broken);
  });
  return false;
}

// --- begin and end

template <class Port>
void Machine<Port>::begin(Vi& vi, std::uint64_t peer) {
  vi.state = State::connect_pending;
  vi.outcome = Result::not_done;
  vi.peering = false;
  vi.own = vi.asked = {};
  vi.other = {};
  vi.other.peer = peer;
  vi.other.own_session = port_.random();
}

template <class Port>
void Machine<Port>::connect(Vi& vi, std::uint64_t peer, const Message& other) {
  vi.state = State::connected;
  vi.outcome = Result::success;
  vi.peering = false;
  vi.other.peer = peer;
  vi.other.link = port_.link_with(peer);
  vi.other.vi = other.from;
  vi.other.session = other.from_session;
  vi.other.inbox = ticket_of(other.slot, peer, Ticket::kPosted);
  vi.other.door = ticket_of(other.door, peer, Ticket::kPosted);
  vi.other.attributes = attributes_of(other);
  vi.started = vi.send.posted();
  changed_ = true;
  if (vi.other.halted != Refusal::none) return halt(vi, vi.other.halted);
  if (!vi.attributes.rdma_write && !vi.attributes.rdma_read) return;
  regions_.each([&](MemoryHandle handle, Memory&) { offer(vi, handle); });
}

// Ends a connection here by `end`, and tells the other side. Without memory for that, too, it has ended.
template <class Port>
template <class End>
void Machine<Port>::part(Vi& vi, Reason reason, End end) {
  Message out = to_other(vi, Say::disconnect);
  out.detail = static_cast<std::uint16_t>(reason);
  const Ticket door = vi.other.door;
  end();
  outbox_.add(door, out);
}

// Nothing lands any more, and all work comes back.
template <class Port>
void Machine<Port>::leave(Vi& vi) {
  changed_ = true;
  close_inbox(vi);
  vi.other.windows.clear();
  vi.other.landings.clear();
  vi.other.grants.clear();
  flush(vi, Side::send);
  flush(vi, Side::receive);
}

template <class Port>
void Machine<Port>::break_off(Vi& vi, Reason reason) {
  part(vi, reason, [&] {
    vi.state = State::error;
    vi.parted = Reason::broken;
    leave(vi);
  });
  fault({.fault = Fault::connection_lost, .vi = vi.number});
}

// As break_off, by the other side's doing.
template <class Port>
void Machine<Port>::lose(Vi& vi, Reason reason) {
  vi.state = State::error;
  vi.parted = reason;
  const std::uint64_t oldest = vi.send.completed();
  if (vi.attributes.reliability == Reliability::reception && vi.send.goes_on(oldest)) {
    if (reason == Reason::no_descriptor) vi.send.at(oldest).status |= kRemoteDescriptorError;
    if (reason == Reason::too_long) vi.send.at(oldest).status |= kLengthError;
    if (reason == Reason::no_right) vi.send.at(oldest).status |= kRdmaProtectionError;
  }
  leave(vi);
  fault({.fault = Fault::connection_lost, .vi = vi.number});
}

template <class Port>
void Machine<Port>::to_idle(Vi& vi) {
  vi.state = State::idle;  // no error of what comes back ends the connection once more
  leave(vi);
  reset(vi);
}

// Receives that are posted stay, in an inbox that nobody who was asked knows.
template <class Port>
void Machine<Port>::reset(Vi& vi) {
  changed_ = true;
  vi.state = State::idle;
  vi.peering = false;
  vi.other = {};
  static_cast<void>(reopen_inbox(vi));  // otherwise who connects is told
}

// --- what comes by a connection

template <class Port>
void Machine<Port>::hear_message(const Notification& next) {
  Vi* const vi = of_inbox(next.slot);
  if (vi == nullptr || !vi->receive.goes_on(next.offset)) return;
  Work& work = vi->receive.at(next.offset);
  const SendWord word = send_word(next.word);
  const bool failed = next.kind == Notification::Kind::failed;
  if (next.peer != vi->other.peer || (!failed && !good(word))) [[unlikely]] {
    finish(*vi, Side::receive, next.offset, kTransportError, 0);
    if (vi->state == State::connected) break_off(*vi, Reason::broken);
    return;
  }
  if (failed) return finish(*vi, Side::receive, next.offset, kTransportError | kPartialError, 0);
  const auto length = static_cast<std::uint32_t>(next.length);
  if (work.segments.size() > Port::kMostPieces) scatter(work, length);
  if (word.has_immediate) {
    work.status |= kHasImmediate;
    work.immediate = word.immediate;
  }
  work.status |= word.write ? kOfRemoteWrite : kOfReceive;
  finish_here(*vi, Side::receive, work, 0, word.write ? word.length : length);
}

// A message found no descriptor, or too short a one, on a reliable VI, or a write that takes one had no
// right. Whoever sent it, what the other side
// sends behind it is turned away too.
template <class Port>
void Machine<Port>::hear_halted(const Notification& next) {
  Vi* const vi = of_inbox(next.slot);
  if (vi == nullptr) return;
  switch (vi->state) {
    case State::connected:
      return next.peer == vi->other.peer ? halt(*vi, next.cause) : break_off(*vi, Reason::broken);
    case State::connect_pending:  // the answer may be behind it
      vi->other.halted = next.cause;
      return;
    default:
      vi->inbox->resume();  // somebody who has its ticket from somewhere
  }
}

template <class Port>
void Machine<Port>::halt(Vi& vi, Refusal cause) {
  if (cause == Refusal::too_long) {
    const std::uint64_t oldest = vi.receive.completed();
    if (vi.receive.goes_on(oldest)) vi.receive.at(oldest).status |= kLengthError;
    return break_off(vi, Reason::too_long);
  }
  if (cause != Refusal::no_buffer) return break_off(vi, Reason::no_right);
  fault({.fault = Fault::no_descriptor, .vi = vi.number, .operation = kOfReceive});
  break_off(vi, Reason::no_descriptor);
}

// Ends of many links may be told as one, of peer 0: then each link is looked for.
template <class Port>
void Machine<Port>::hear_link(std::uint64_t peer) {
  const auto has_gone = [&](std::uint64_t of, std::uint64_t link) {
    return peer != 0 ? of == peer : link == 0 || port_.link_with(of) != link;
  };
  requests_.each([&](std::uint32_t, Request& request) {
    if (has_gone(request.peer, request.link)) request.gone = true;
  });
  vis_.each([&](std::uint32_t, Vi& vi) {
    if (vi.other.peer == 0) return;
    if (vi.state == State::connected && has_gone(vi.other.peer, vi.other.link))
      return lose(vi, Reason::broken);
    // A VI that asks may have had no link when the call began.
    const bool asks = vi.state == State::connect_pending && vi.outcome == Result::not_done;
    if (!asks || !has_gone(vi.other.peer, port_.link_with(vi.other.peer))) return;
    vi.outcome = Result::not_reachable;
    changed_ = true;
  });
}

// --- the door

template <class Port>
void Machine<Port>::open_door(std::uint32_t buffer) noexcept {
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span{&heard_[buffer], 1});
  static_cast<void>(door_->post({&bytes, 1}, buffer));  // there is room: so many are posted
}

template <class Port>
void Machine<Port>::hear_door(const Notification& next) {
  if (next.offset >= kDoorBuffers) return;
  const auto buffer = static_cast<std::uint32_t>(next.offset);
  std::optional<Message> message;
  if (next.kind == Notification::Kind::message)
    message = protocols::copy_of<Message>(std::as_bytes(std::span{&heard_[buffer], 1})
                                              .first(std::min<std::size_t>(next.length, sizeof(Message))));
  open_door(buffer);
  if (!message || message->version != kWireVersion) return;
  if (message->own_length > Address::kMost || message->asked_length > Address::kMost) return;
  take_message(next.peer, *message);
}

template <class Port>
void Machine<Port>::take_message(std::uint64_t peer, const Message& message) {
  switch (message.say) {
    case Say::request:
      return take_request(peer, message);
    case Say::withdraw:
      return take_withdrawal(peer, message);
    case Say::peer_request:
      return take_peer_request(peer, message);
    default:
      break;
  }
  Vi* const vi = vis_.find(message.to);
  const bool meant = vi != nullptr && vi->other.own_session == message.to_session &&
                     vi->other.own_session != 0 &&
                     (vi->other.peer == peer || (vi->peering && vi->other.peer == 0));
  if (meant) return take_answer(*vi, peer, message);
  // Somebody who accepts what was withdrawn is told so.
  if (message.say != Say::accept) return;
  Message out;
  out.say = Say::disconnect;
  out.from = message.to;
  out.from_session = message.to_session;
  out.to = message.from;
  out.to_session = message.from_session;
  outbox_.add(ticket_of(message.door, peer, Ticket::kPosted), out);
}

template <class Port>
void Machine<Port>::take_answer(Vi& vi, std::uint64_t peer, const Message& message) {
  if (vi.state == State::connect_pending && vi.outcome == Result::not_done) {
    changed_ = true;
    if (message.say == Say::accept) {
      const Result wrong = compare(vi.attributes, attributes_of(message));
      if (wrong == Result::success) return connect(vi, peer, message);
      vi.outcome = wrong;
    } else if (!vi.peering && message.say == Say::no_match) {
      vi.outcome = Result::no_match;
    } else if (!vi.peering && message.say == Say::reject) {
      vi.outcome = Result::reject;
    } else if (!vi.peering && message.say == Say::disconnect) {
      vi.outcome = Result::not_reachable;  // that NIC has closed
    }
    return;
  }
  if (vi.state == State::connected && message.from == vi.other.vi && message.from_session == vi.other.session)
    take_connected(vi, peer, message);
}

template <class Port>
void Machine<Port>::take_connected(Vi& vi, std::uint64_t peer, const Message& message) {
  switch (message.say) {
    case Say::disconnect:
      return lose(vi, static_cast<Reason>(message.detail));
    case Say::ask: {
      if (give_right(vi, message.handle, false)) return;
      Message out = to_other(vi, Say::deny);
      out.handle = message.handle;
      return outbox_.add(vi.other.door, out);
    }
    case Say::grant: {
      if (vi.other.grants.size() >= kMostGrants && !vi.other.grants.contains(message.handle)) {
        if (vi.other.asked == message.handle) vi.other.denied = message.handle;
        break;
      }
      Grant grant;
      grant.write = (message.detail & kMayWrite) != 0;
      grant.read = (message.detail & kMayRead) != 0;
      grant.ticket = ticket_of(message.slot, peer, grant.write ? Ticket::kFast : Ticket::kRemote);
      grant.address = message.address;
      grant.length = message.length;
      vi.other.grants.set(message.handle, grant);
      break;
    }
    case Say::deny:
      if (vi.other.asked != message.handle) return;
      vi.other.denied = message.handle;
      break;
    case Say::revoke:
      vi.other.grants.erase(message.handle);
      break;
    default:
      return;
  }
  if (vi.other.asked == message.handle) vi.other.asked = 0;
  wait_for_room(vi);
}

template <class Port>
void Machine<Port>::take_request(std::uint64_t peer, const Message& message) {
  const Address asked = Address::of(message.asked_host, std::span(message.asked).first(message.asked_length));
  Waiter* found = nullptr;
  waiters_.each([&](std::uint32_t, Waiter& waiter) {
    if (found == nullptr && waiter.request == 0 && waiter.local.matches(asked)) found = &waiter;
  });
  const std::uint32_t number =
      found != nullptr ? requests_.make(Request{peer, port_.link_with(peer), message}) : 0;
  if (number == 0) return answer(peer, message, Say::no_match);
  found->request = number;
  changed_ = true;
}

template <class Port>
void Machine<Port>::take_withdrawal(std::uint64_t peer, const Message& message) {
  requests_.each([&](std::uint32_t, Request& request) {
    if (request.peer == peer && request.asks.from == message.from &&
        request.asks.from_session == message.from_session)
      request.gone = true;
  });
}

template <class Port>
void Machine<Port>::take_peer_request(std::uint64_t peer, const Message& message) {
  const Address own = Address::of(0, std::span(message.own).first(message.own_length));
  const Address asked = Address::of(0, std::span(message.asked).first(message.asked_length));
  Vi* found = nullptr;
  vis_.each([&](std::uint32_t, Vi& vi) {
    if (found == nullptr && vi.state == State::connect_pending && vi.peering &&
        vi.outcome == Result::not_done && vi.own.matches(asked) && vi.asked.matches(own) &&
        vi.other.own_session != message.from_session && (vi.other.peer == 0 || vi.other.peer == peer))
      found = &vi;
  });
  if (found == nullptr) return;  // who asks goes on waiting
  Vi& vi = *found;
  const Result wrong = compare(vi.attributes, attributes_of(message));
  if (wrong != Result::success) {
    vi.outcome = wrong;
    changed_ = true;
    return;
  }
  vi.other.peer = peer;
  say(vi, message, Say::accept);
  connect(vi, peer, message);
}

}  // namespace hamlyn::internal_::vi
