#include "node/client/protocol.h"

#include <algorithm>
#include <cstring>

#include "node/client/reason.h"

namespace hamlyn::node {

namespace {

constexpr std::uint32_t kSomeRights = Request::kGroup | Request::kEveryone;

// The request with nothing but the fields of its kind: one that differs is malformed.
Request only_its_fields(const Request& request) noexcept {
  Request out;
  out.kind = request.kind;
  out.request = request.request;
  const auto take_name = [&] {
    out.name_length = request.name_length;
    std::memcpy(out.name, request.name, name_of(request).size());
  };
  switch (request.kind) {
    case RequestKind::introduce:
    case RequestKind::link_ended:
    case RequestKind::list:
    case RequestKind::nodes:
      out.number = request.number;
      break;
    case RequestKind::link_bytes:
    case RequestKind::report:
    case RequestKind::end_reason:
      out.number = request.number;
      out.bytes = request.bytes;
      break;
    case RequestKind::adopt_link:
      out.number = request.number;
      out.peer = request.peer;
      out.bytes = request.bytes;
      break;
    case RequestKind::area_bytes:
      out.bytes = request.bytes;
      break;
    case RequestKind::publish:
      take_name();
      out.flags = request.flags & kSomeRights;
      out.ticket = request.ticket;
      out.token = request.token;
      break;
    case RequestKind::withdraw:
      take_name();
      break;
    case RequestKind::lookup:
      take_name();
      out.flags = request.flags & (Request::kWait | Request::kCached);
      out.number = request.number;
      break;
    case RequestKind::fabric_address:
      take_name();
      std::memcpy(out.engine, request.engine, sizeof out.engine);
      break;
    case RequestKind::consent:
      take_name();
      out.flags = request.flags & Request::kNamed;
      out.number = request.number;
      out.bytes = request.bytes;
      break;
    case RequestKind::cancel:
    case RequestKind::watch:
    case RequestKind::farewell:
      break;
  }
  return out;
}

}  // namespace

bool valid_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kMaxName) return false;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '.' || c == '_' || c == '-';
    if (!allowed) return false;
  }
  return true;
}

std::string_view name_of(const Request& request) noexcept {
  return {request.name, std::min<std::size_t>(request.name_length, kMaxName)};
}

bool waits_for_reply(RequestKind kind) noexcept {
  return kind != RequestKind::link_ended && kind != RequestKind::adopt_link && kind != RequestKind::cancel &&
         kind != RequestKind::report && kind != RequestKind::fabric_address &&
         kind != RequestKind::farewell && kind != RequestKind::end_reason;
}

bool valid_engine(const char (&engine)[kMaxEngine]) noexcept {
  const std::string_view text = engine_of(engine);
  if (text.empty() || text.size() == kMaxEngine) return false;
  for (std::size_t i = 0; i < kMaxEngine; ++i) {
    const char c = engine[i];
    if (i < text.size() ? c <= ' ' || c > '~' : c != 0) return false;
  }
  return true;
}

std::string_view engine_of(const char (&engine)[kMaxEngine]) noexcept {
  return {engine, ::strnlen(engine, kMaxEngine)};
}

bool later(RequestKind kind) noexcept { return kind > RequestKind::end_reason; }

const char* invalid(const Request& request) noexcept {
  if (request.kind < RequestKind::introduce || later(request.kind)) return "an unknown kind of request";
  const Request expected = only_its_fields(request);
  if (std::memcmp(&expected, &request, sizeof request) != 0)
    return "a field that this kind of request does not use";
  if (request.name_length > kMaxName + 1) return "the length of a name";
  if (waits_for_reply(request.kind) && request.request == 0) return "a request without a number";
  if (request.kind == RequestKind::lookup && request.number > 0xFFFF) return "the number of a node";
  if (request.kind == RequestKind::fabric_address) {
    const bool none = engine_of(request.engine).empty();
    if (request.name_length > kMaxFabricAddress) return "the length of an address";
    if (!none && request.name_length == 0) return "an engine without an address";
    constexpr char kNone[kMaxEngine]{};
    const bool engine =
        none ? std::memcmp(request.engine, kNone, kMaxEngine) == 0 : valid_engine(request.engine);
    if (!engine) return "the name of an engine";
  }
  if (request.kind == RequestKind::consent) {
    const std::uint64_t most = request.flags == 0 ? 0 : kMaxConsent;
    if (request.number > most || request.bytes > most - request.number ||
        request.name_length != (request.number + request.bytes) * sizeof(std::uint32_t))
      return "the numbers of users and groups";
  }
  return nullptr;
}

const char* invalid(const FarReply& reply) noexcept {
  if (reply.initiator > 1) return "an end of a link that is neither";
  if (reply.link == 0 || node_of(reply.peer) == 0) return "a link with nobody";
  if (reply.address_length == 0 || reply.address_length > kMaxFabricAddress)
    return "the length of an address";
  if (!valid_engine(reply.engine)) return "the name of an engine";
  return nullptr;
}

const char* reason_text(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      break;
    case Reason::version:
      return "it speaks another version";
    case Reason::id_alive:
      return "another node with this id is alive";
    case Reason::old_incarnation:
      return "it knows a newer incarnation of this id";
    case Reason::not_boot:
      return "it does not know this node, and is no boot server";
    case Reason::unanswered:
      return "nobody with this cluster's secret answers at the addresses of join";
  }
  return "no reason";
}

}  // namespace hamlyn::node
