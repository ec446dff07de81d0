// `hamlyn node`, and who the other side of a transfer is: what the daemon tells.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/standard_output.h"
#include "node/client/constraints.h"
#include "node/client/list.h"
#include "tool/node_view.h"
#include "tool/options.h"
#include "tool/report.h"

namespace hamlyn::tool {
namespace {

constexpr std::array<const char*, 5> kStates{"self", "alive", "suspect", "dead", "left"};

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

ProcessView view_of(const node::AttachedProcess& process) {
  ProcessView view{.interface = process.interface,
                   .uid = process.uid,
                   .pid = process.pid,
                   .program = printable(process.program.data(), process.program.size()),
                   .seconds = seconds(process.age),
                   .links = process.links,
                   .link_bytes = process.link_bytes,
                   .area_bytes = process.area_bytes,
                   .refused = process.refused};
  if (process.counters) read_details(process.counters.get(), view);
  return view;
}

// Looks for the peer among the links of this process. Of a process on another host the node knows nothing,
// but the link with it was introduced with its name.
void find_among_own_links(const node::AttachedProcess& self, Peer& peer) {
  const ProcessView view = view_of(self);
  if (!view.details) return;
  for (const LinkView& link : view.details->links) {
    if (link.peer != peer.interface) continue;
    peer.uid = link.peer_uid;
    peer.pid = link.peer_pid;
  }
}

}  // namespace

std::string node_asked(const std::string& socket) {
  const std::string path = node::list({.socket = socket}).socket;
  return printable(path.data(), path.size());
}

std::string where_asked(const std::string& socket) {
  try {
    return " (asked at " + node_asked(socket) + ")";
  } catch (const Error&) {
    return {};
  }
}

NodeView look_at_node(const std::string& socket) {
  const node::NodeList list = node::list({.socket = socket});
  NodeView view{.version = printable(list.version.data(), list.version.size()),
                .uid = list.uid,
                .pid = list.pid,
                .seconds = seconds(list.uptime),
                .socket = printable(list.socket.data(), list.socket.size()),
                .constraints = node::constraints_of(list.pid),
                .names = list.names,
                .cut = list.cut,
                .bytes_used = list.used.bytes,
                .bytes_quota = list.quota.bytes,
                .processes = {}};
  for (const node::AttachedProcess& process : list.attached) view.processes.push_back(view_of(process));
  for (const node::ClusterMember& member : list.nodes) {
    view.nodes.push_back({member.id, kStates.at(static_cast<std::size_t>(member.state)), member.boot,
                          member.incarnation, seconds(member.since),
                          printable(member.address.data(), member.address.size())});
    if (member.state != node::ClusterMember::State::self) continue;
    view.packets_refused = member.refused;
    view.kept_out = member.kept_out;
  }
  return view;
}

void run_node(const NodeOptions& options) {
  const NodeView view = look_at_node(options.node);
  base::print(options.json ? to_json(view) + "\n" : to_text(view));
}

Peer find_peer(std::uint64_t interface, const std::string& socket) noexcept {
  Peer peer{.interface = interface, .uid = {}, .pid = {}};
  try {
    for (const node::AttachedProcess& process : node::list({.socket = socket}).attached) {
      if (process.interface == interface) {
        peer.uid = process.uid;
        peer.pid = process.pid;
      } else if (process.pid == static_cast<std::uint32_t>(::getpid()) && process.counters) {
        find_among_own_links(process, peer);
      }
    }
  } catch (const std::exception&) {  // it is a detail of the report, and the transfer goes on without it
  }
  return peer;
}

}  // namespace hamlyn::tool
