#include "node/client/list.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/socket.h"
#include "node/client/greet.h"
#include "node/client/reason.h"

namespace hamlyn::node {
namespace {

template <std::size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, ::strnlen(text, size)};
}

void add(NodeList& out, const AttachedReply& reply, base::FileDescriptor counters) {
  out.attached.push_back({reply.interface, reply.uid, reply.gid, reply.pid, text_of(reply.program),
                          std::chrono::milliseconds{reply.age_ms}, reply.links, reply.link_bytes,
                          reply.area_bytes, reply.refused, std::move(counters)});
}

void finish(NodeList& out, const NodeReply& reply) {
  out.version = text_of(reply.version);
  out.uid = reply.uid;
  out.pid = reply.pid;
  out.uptime = std::chrono::milliseconds{reply.uptime_ms};
  out.interfaces = reply.interfaces;
  out.links = reply.links;
  out.names = reply.names;
  out.malformed = reply.malformed;
  out.dropped = reply.dropped;
  out.refused = reply.refused;
  out.cut = reply.cut;
  out.used = reply.used;
  out.quota = reply.quota;
}

void add(NodeList& out, const MemberReply& reply) {
  ClusterMember member;
  member.id = reply.id;
  member.state = static_cast<ClusterMember::State>(std::min(reply.state, 4u));
  member.boot = reply.boot != 0;
  member.incarnation = reply.incarnation;
  member.since = std::chrono::milliseconds{reply.since_ms};
  member.address = text_of(reply.address);
  member.refused = reply.refused;
  if (reply.kept_out != 0) member.kept_out = reason_text(static_cast<Reason>(reply.kept_out));
  out.nodes.push_back(std::move(member));
}

// Takes one page of a list; whether there is another.
bool take_page(int socket, Deadline deadline, bool processes, NodeList& out) {
  for (;;) {
    if (!wait_readable(socket, deadline))
      throw Error(ErrorCode::timed_out, "the node daemon does not answer");
    std::array<std::byte, sizeof(Reply)> buffer{};
    base::Received got = base::receive_message(socket, buffer, MSG_DONTWAIT);
    if (got.state == base::SocketState::again) continue;
    if (got.state == base::SocketState::starved)
      throw Error(ErrorCode::out_of_memory, "this process has no descriptor left for a counter page");
    if (got.state != base::SocketState::ok)
      throw Error(ErrorCode::node_unreachable, "the node daemon has gone");
    ReplyKind kind{};
    std::memcpy(&kind, buffer.data(), sizeof kind);
    if (kind == ReplyKind::attached && got.bytes == sizeof(AttachedReply)) {
      AttachedReply reply;
      std::memcpy(&reply, buffer.data(), sizeof reply);
      add(out, reply, std::move(got.fds[0]));
    } else if (kind == ReplyKind::member && got.bytes == sizeof(MemberReply)) {
      MemberReply reply;
      std::memcpy(&reply, buffer.data(), sizeof reply);
      add(out, reply);
    } else if (kind == ReplyKind::node && got.bytes == sizeof(NodeReply)) {
      NodeReply reply;
      std::memcpy(&reply, buffer.data(), sizeof reply);
      if (processes) finish(out, reply);
      return reply.more != 0;
    } else {
      throw Error(ErrorCode::version_mismatch, "the node daemon answers something else than a list");
    }
  }
}

}  // namespace

NodeList list(const ClientOptions& options) {
  const Deadline deadline = std::chrono::steady_clock::now() + options.timeout;
  ClientOptions where = options;
  where.start_node = false;
  Hello hello;
  hello.flags = Hello::kObserver;
  const Greeted greeted = greet(where, hello, -1);
  NodeList out;
  out.socket = greeted.path;
  for (const RequestKind kind : {RequestKind::list, RequestKind::nodes}) {
    const bool processes = kind == RequestKind::list;
    Request request;
    request.kind = kind;
    do {
      ++request.request;
      if (processes)
        request.number = out.attached.empty() ? 0 : out.attached.back().interface;
      else
        request.number = out.nodes.empty() ? 0 : out.nodes.back().id;
      if (base::send_message(greeted.socket.get(), std::as_bytes(std::span{&request, 1})) !=
          base::SocketState::ok) {
        throw Error(ErrorCode::node_unreachable, "the node daemon has gone");
      }
    } while (take_page(greeted.socket.get(), deadline, processes, out));
  }
  return out;
}

}  // namespace hamlyn::node
