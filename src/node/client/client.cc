#include "node/client/client.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>

#include "base/link_reasons.h"
#include "base/socket.h"
#include "node/client/greet.h"

namespace hamlyn::node {
namespace {

// More unsent requests than this mean that the daemon has stopped reading for good.
constexpr std::size_t kMaxUnsent = 4096;
// Names that are registered again at a time: the daemon keeps few answers for who does not read them.
constexpr std::size_t kMaxRenewing = 64;
constexpr std::uint64_t kOwn = std::uint64_t{1} << 63;  // requests that the client itself makes

Request make(RequestKind kind, std::uint64_t request, std::uint64_t number = 0) {
  Request out;
  out.kind = kind;
  out.request = request;
  out.number = number;
  return out;
}

Request make(RequestKind kind, std::uint64_t request, std::string_view name) {
  Request out = make(kind, request);
  // A name that is too long is sent cut, with its length: the daemon refuses it as name_invalid.
  out.name_length = static_cast<std::uint32_t>(std::min(name.size(), kMaxName + 1));
  std::memcpy(out.name, name.data(), std::min(name.size(), kMaxName));
  return out;
}

Request make_publish(std::uint64_t request, std::string_view name, const Standing::Name& entry) {
  Request out = make(RequestKind::publish, request, name);
  out.flags = (entry.rights.group ? Request::kGroup : 0u) | (entry.rights.everyone ? Request::kEveryone : 0u);
  out.ticket = entry.ticket;
  out.token = entry.token;
  return out;
}

Event::Kind kind_of(ReplyKind kind) noexcept {
  switch (kind) {
    case ReplyKind::refused:
      return Event::Kind::refused;
    case ReplyKind::introduced:
      return Event::Kind::introduced;
    case ReplyKind::linked:
      return Event::Kind::linked;
    case ReplyKind::granted:
      return Event::Kind::granted;
    case ReplyKind::published:
      return Event::Kind::published;
    case ReplyKind::withdrawn:
      return Event::Kind::withdrawn;
    case ReplyKind::found:
      return Event::Kind::found;
    case ReplyKind::cancelled:
      return Event::Kind::cancelled;
    case ReplyKind::cut:
      return Event::Kind::cut;
    case ReplyKind::introduced_remote:
      return Event::Kind::introduced_remote;
    case ReplyKind::open_fabric:
      return Event::Kind::open_fabric;
    case ReplyKind::far_gone:
      return Event::Kind::far_gone;
    case ReplyKind::attached:
    case ReplyKind::node:
    case ReplyKind::member:
      break;
  }
  return Event::Kind::lost;
}

// Whether what came has the size of its kind. An introduction to a far process is another structure: what a
// Reply has, too, is moved to where it stands there, the rest to `far`.
bool take_far(std::span<const std::byte> message, Reply& reply, Far& far) {
  if (message.size() < sizeof reply.kind || reply.kind != ReplyKind::introduced_remote)
    return message.size() == sizeof reply;
  FarReply got;
  if (message.size() != sizeof got) return false;
  std::memcpy(&got, message.data(), sizeof got);
  if (invalid(got) != nullptr) return false;
  reply = {};
  reply.kind = got.kind;
  reply.request = got.request;
  reply.peer = got.peer;
  reply.link = got.link;
  reply.uid = got.uid;
  reply.gid = got.gid;
  reply.pid = got.pid;
  reply.initiator = got.initiator;
  far.peer_incarnation = got.peer_incarnation;
  far.own_incarnation = got.own_incarnation;
  far.engine = engine_of(got.engine);
  far.address.assign(got.address.begin(), got.address.begin() + got.address_length);
  far.key = got.key;
  return true;
}

}  // namespace

Client Client::attach(const ClientOptions& options, int counters, const Standing* previous) {
  Hello hello;
  if (previous != nullptr) {
    hello.interface = previous->interface;
    hello.token = previous->token;
  }
  Client out;
  out.keep_spares();  // first: their numbers are to be low
  Greeted greeted = greet(options, hello, counters);
  out.socket_ = std::move(greeted.socket);
  out.path_ = std::move(greeted.path);
  if (previous != nullptr) out.standing_ = *previous;
  out.standing_.interface = greeted.welcome.interface;
  out.standing_.token = greeted.welcome.token;
  out.most_unsent_ = kMaxUnsent + out.standing_.links.size();
  if (!options.consent.everyone)
    out.say_consent(options.consent);  // before anybody is introduced, if it can be
  for (const auto& [link, side] : out.standing_.links) {
    Request adopt = make(RequestKind::adopt_link, 0, link);
    adopt.peer = side.peer;
    adopt.bytes = side.bytes;
    out.send(adopt);
  }
  if (out.standing_.area_bytes != 0) out.area_bytes(++out.own_requests_, out.standing_.area_bytes);
  for (const auto& [name, entry] : out.standing_.names) out.to_renew_.insert(out.to_renew_.end(), name);
  out.renew_names();
  // A daemon before Linux 6.5 knows who speaks by the first message after its answer: there is always one.
  // Nothing of that number waits, so this one changes nothing and has no answer.
  const Standing& standing = out.standing_;
  if (options.consent.everyone && standing.links.empty() && standing.area_bytes == 0 &&
      standing.names.empty())
    out.cancel(++out.own_requests_);
  return out;
}

// The answer is nobody's: where the daemon knows no consent, whoever is introduced is looked at all the same.
void Client::say_consent(const Consent& consent) {
  const std::uint64_t request = ++own_requests_;
  Request out = make(RequestKind::consent, request);
  out.flags = Request::kNamed;
  out.number = consent.users.size();
  out.bytes = consent.groups.size();
  for (const auto* ids : {&consent.users, &consent.groups}) {
    const std::size_t bytes = ids->size() * sizeof(std::uint32_t);
    if (bytes != 0) std::memcpy(out.name + out.name_length, ids->data(), bytes);
    out.name_length += static_cast<std::uint32_t>(bytes);
  }
  asked_[request] = {RequestKind::consent, {}, {}, 0, 0};
  send(out);
}

void Client::renew_names() {
  while (!to_renew_.empty() && renewing_ < kMaxRenewing && !lost_) renew_name(*to_renew_.begin());
}

// If it is still to be done: what is asked about that name afterwards is to come afterwards.
void Client::renew_name(std::string_view name) {
  const auto next = to_renew_.find(name);
  if (next == to_renew_.end()) return;
  const std::string renewed = std::move(to_renew_.extract(next).value());
  const Standing::Name& entry = standing_.names.at(renewed);
  const std::uint64_t request = ++own_requests_;
  asked_[request] = {RequestKind::publish, renewed, entry, 0, 0};
  ++renewing_;
  send(make_publish(request, renewed, entry));
}

bool Client::send(const Request& request) {
  flush();
  if (lost_) return false;
  if (outbox_.empty()) {
    const auto state =
        base::send_message(socket_.get(), std::as_bytes(std::span{&request, 1}), {}, MSG_DONTWAIT);
    if (state == base::SocketState::ok) return true;
    if (state != base::SocketState::again) lost_ = true;
  }
  if (!lost_ && outbox_.size() < most_unsent_) {
    outbox_.push_back(request);
    return true;
  }
  lost_ = true;
  return false;
}

void Client::flush() {
  while (!lost_ && !outbox_.empty()) {
    const auto state =
        base::send_message(socket_.get(), std::as_bytes(std::span{&outbox_.front(), 1}), {}, MSG_DONTWAIT);
    if (state == base::SocketState::again) return;
    if (state != base::SocketState::ok) lost_ = true;
    outbox_.pop_front();
  }
}

bool Client::introduce(std::uint64_t request, std::uint64_t peer) {
  return send(make(RequestKind::introduce, request, peer));
}

bool Client::publish(std::uint64_t request, std::string_view name, Rights rights, const Ticket& ticket) {
  renew_name(name);
  const Standing::Name entry{rights, ticket, {}};
  asked_[request] = {RequestKind::publish, std::string(name), entry, 0, 0};
  return send(make_publish(request, name, entry));
}

bool Client::withdraw(std::uint64_t request, std::string_view name) {
  renew_name(name);
  asked_[request] = {RequestKind::withdraw, std::string(name), {}, 0, 0};
  return send(make(RequestKind::withdraw, request, name));
}

bool Client::lookup(std::uint64_t request, std::string_view name, bool wait, std::uint16_t node,
                    bool cached) {
  Request out = make(RequestKind::lookup, request, name);
  out.flags = (wait ? Request::kWait : 0u) | (cached ? Request::kCached : 0u);
  out.number = node;
  return send(out);
}

bool Client::cancel(std::uint64_t request) { return send(make(RequestKind::cancel, request)); }

bool Client::link_ended(std::uint64_t link) {
  standing_.links.erase(link);
  return send(make(RequestKind::link_ended, 0, link));
}

bool Client::end_reason(std::uint64_t link, LinkReason reason) {
  Request out = make(RequestKind::end_reason, 0, link);
  out.bytes = static_cast<std::uint64_t>(reason);
  return send(out);
}

bool Client::link_bytes(std::uint64_t request, std::uint64_t link, std::uint64_t bytes) {
  asked_[request] = {RequestKind::link_bytes, {}, {}, link, bytes};
  Request out = make(RequestKind::link_bytes, request, link);
  out.bytes = bytes;
  return send(out);
}

bool Client::area_bytes(std::uint64_t request, std::uint64_t bytes) {
  asked_[request] = {RequestKind::area_bytes, {}, {}, 0, bytes};
  Request out = make(RequestKind::area_bytes, request);
  out.bytes = bytes;
  return send(out);
}

bool Client::report(std::uint64_t link, std::uint64_t refused) {
  Request out = make(RequestKind::report, 0, link);
  out.bytes = refused;
  return send(out);
}

bool Client::fabric_address(std::string_view engine, std::span<const std::byte> address) {
  Request out = make(RequestKind::fabric_address, 0);
  out.name_length = static_cast<std::uint32_t>(std::min(address.size(), kMaxFabricAddress));
  if (out.name_length != 0) std::memcpy(out.name, address.data(), out.name_length);
  engine.copy(out.engine, kMaxEngine - 1);
  return send(out);
}

void Client::say_farewell() noexcept {
  flush();
  if (lost_ || !outbox_.empty()) return;
  const Request farewell = make(RequestKind::farewell, 0);
  lost_ = base::send_message(socket_.get(), std::as_bytes(std::span{&farewell, 1}), {}, MSG_DONTWAIT) !=
          base::SocketState::ok;
}

// Keeps the standing up to date. False if the event is the answer to something that only the client had
// asked.
bool Client::remember(const Reply& reply, Event& event) {
  if (reply.kind == ReplyKind::introduced || reply.kind == ReplyKind::introduced_remote)
    standing_.links[reply.link] = {reply.peer, kLinkBytes};
  const auto asked = asked_.find(reply.request);
  if (asked == asked_.end()) return true;
  auto& [kind, name, entry, link, bytes] = asked->second;
  const bool own = reply.request > kOwn;
  if (reply.kind == ReplyKind::published) {
    entry.token = reply.token;
    standing_.names[name] = entry;
  } else if (reply.kind == ReplyKind::withdrawn || (own && reply.kind == ReplyKind::refused)) {
    standing_.names.erase(name);
  } else if (reply.kind == ReplyKind::granted) {
    if (kind == RequestKind::area_bytes) {
      standing_.area_bytes = bytes;
    } else if (const auto side = standing_.links.find(link); side != standing_.links.end()) {
      side->second.bytes = bytes;
    }
  }
  const bool renewed = own && kind == RequestKind::publish;
  const RequestKind kind_asked = kind;
  asked_.erase(asked);
  if (own) event.request = 0;
  if (renewed) {
    --renewing_;
    renew_names();
  }
  return !own || (reply.kind == ReplyKind::refused && kind_asked != RequestKind::consent);
}

void Client::keep_spares() {
  for (base::FileDescriptor& spare : spares_) {
    if (!spare) spare.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
}

std::optional<Event> Client::next() {
  flush();
  keep_spares();
  for (;;) {
    Reply reply;
    const auto bytes = std::as_writable_bytes(std::span{&reply, 1});
    // Looked at first: what the table has no room for would be closed in our name, and what the peer has sent
    // into it could keep us from going on.
    base::Received got = base::peek_message(socket_.get(), bytes);
    const bool no_room = got.state == base::SocketState::starved && reply.kind == ReplyKind::introduced &&
                         got.bytes == sizeof reply && spares_[0] && spares_[1];
    if (no_room) {
      spares_ = {};
      got = base::Received{};
      got = base::peek_message(socket_.get(), bytes);
    }
    std::byte rest{};
    if (got.state == base::SocketState::ok) ::recv(socket_.get(), &rest, sizeof rest, MSG_DONTWAIT);
    if (got.state == base::SocketState::again && !lost_) return std::nullopt;
    Event event;
    if (got.state != base::SocketState::ok || !take_far(bytes.first(got.bytes), reply, event.far) ||
        kind_of(reply.kind) == Event::Kind::lost ||
        (reply.kind == ReplyKind::introduced && got.fd_count != 2)) {
      lost_ = true;
      if (std::exchange(told_lost_, true)) return std::nullopt;
      return event;
    }
    event.kind = no_room ? Event::Kind::no_room : kind_of(reply.kind);
    event.request = reply.request;
    event.error = static_cast<ErrorCode>(reply.error);
    const bool over = reply.kind == ReplyKind::refused || reply.kind == ReplyKind::far_gone;
    if (over) event.reason = base::link_reason(reply.initiator);
    if (over && event.reason == LinkReason::none) event.reason = base::reason_of(event.error);
    event.text.assign(reply.text, ::strnlen(reply.text, kMaxText));
    event.peer = reply.peer;
    event.peer_uid = reply.uid;
    event.peer_gid = reply.gid;
    event.peer_pid = reply.pid;
    event.link = reply.link;
    event.initiator = !over && reply.initiator != 0;
    event.socket = std::move(got.fds[0]);
    event.pidfd = std::move(got.fds[1]);
    event.ticket = reply.ticket;
    if (remember(reply, event)) return event;
  }
}

}  // namespace hamlyn::node
