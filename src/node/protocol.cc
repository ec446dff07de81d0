#include "node/protocol.h"

#include <algorithm>
#include <cstring>

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
      out.number = request.number;
      break;
    case RequestKind::link_bytes:
    case RequestKind::report:
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
      out.flags = request.flags & Request::kWait;
      break;
    case RequestKind::cancel:
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
         kind != RequestKind::report;
}

const char* invalid(const Request& request) noexcept {
  if (request.kind < RequestKind::introduce || request.kind > RequestKind::area_bytes)
    return "an unknown kind of request";
  const Request expected = only_its_fields(request);
  if (std::memcmp(&expected, &request, sizeof request) != 0)
    return "a field that this kind of request does not use";
  if (request.name_length > kMaxName + 1) return "the length of a name";
  if (waits_for_reply(request.kind) && request.request == 0) return "a request without a number";
  return nullptr;
}

}  // namespace hamlyn::node
