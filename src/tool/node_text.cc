// `hamlyn node` for people.
#include <fmt/core.h>
#include <pwd.h>

#include <algorithm>

#include "tool/node_view.h"
#include "tool/progress.h"

namespace hamlyn::tool {

std::string user_name(std::uint32_t uid) {
  const passwd* user = ::getpwuid(uid);
  return user ? user->pw_name : fmt::format("{}", uid);
}

std::uint64_t sum(const Refusals& refusals) {
  std::uint64_t sum = 0;
  for (const auto& each : refusals) sum += each.second;
  return sum;
}

std::string refusals_text(const Refusals& refusals) {
  std::string text;
  for (const auto& [cause, count] : refusals)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, count);
  return text.empty() ? "none" : text;
}

namespace {

const ProcessView* find(const NodeView& node, std::uint64_t interface) {
  const auto is = [interface](const ProcessView& process) { return process.interface == interface; };
  const auto found = std::find_if(node.processes.begin(), node.processes.end(), is);
  return found == node.processes.end() ? nullptr : &*found;
}

// Names the peer: by the daemon if it is still attached, otherwise as the link's owner remembers it.
std::string peer_text(const NodeView& node, const LinkView& link) {
  const ProcessView* peer = find(node, link.peer);
  const std::uint32_t uid = peer ? peer->uid : link.peer_uid, pid = peer ? peer->pid : link.peer_pid;
  return fmt::format("{} ({}, pid {}{}{})", link.peer, user_name(uid), pid, peer ? ", " : "",
                     peer ? peer->program : "");
}

std::string link_text(const NodeView& node, const LinkView& link) {
  return fmt::format(
      "    link to {}: memory {} B out + {} B in; packets {} out, {} in; data {} out, {} in; refused: {}\n",
      peer_text(node, link), link.memory_out, link.memory_in, link.packets_out, link.packets_in,
      format_bytes(static_cast<double>(link.bytes_out)), format_bytes(static_cast<double>(link.bytes_in)),
      refusals_text(link.refused));
}

std::string process_text(const NodeView& node, const ProcessView& process) {
  const Details* details = process.details ? &*process.details : nullptr;
  std::string text =
      fmt::format("{:>19}  {:<12} {:>8} {:>9} {:>6} {:>6} {:>10} {:>8}  {}\n", process.interface,
                  user_name(process.uid), process.pid, format_seconds(process.seconds), process.links,
                  details ? fmt::format("{}", details->slots) : "-",
                  format_bytes(static_cast<double>(process.link_bytes + process.area_bytes)),
                  details ? sum(details->refused) : process.refused, process.program);
  if (!process.why_no_details.empty()) text += fmt::format("    no details: {}\n", process.why_no_details);
  if (!details) return text;
  if (!details->everyone)
    text += fmt::format("    links are opened by its own user, {} other users and {} groups alone\n",
                        details->users_named, details->groups_named);
  for (const LinkView& link : details->links) text += link_text(node, link);
  if (details->unread + details->left_pieces + details->links_held_up != 0)
    text += fmt::format(
        "    other users: {} descriptors unread, {} pieces of memory held that are of no use any more ({}); "
        "{} links not made for that\n",
        details->unread, details->left_pieces, format_bytes(static_cast<double>(details->left_bytes)),
        details->links_held_up);
  if (!details->refused.empty())
    text += fmt::format("    refused in all: {}\n", refusals_text(details->refused));
  if (!details->no_link.empty())
    text += fmt::format("    links refused or ended: {}\n", refusals_text(details->no_link));
  return text;
}

std::string cluster_text(const NodeView& node) {
  std::string text = fmt::format("{} packets of the network refused{}{}\n", node.packets_refused,
                                 node.kept_out.empty() ? "" : "; not let in: ", node.kept_out);
  text += " NODE  STATE       SINCE  BOOT       INCARNATION  ADDRESS\n";
  for (const MemberView& member : node.nodes) {
    text += fmt::format("{:>5}  {:<8} {:>8}  {:<4} {:>17}  {}\n", member.id, member.state,
                        member.state == "self" ? "" : format_seconds(member.seconds),
                        member.boot ? "yes" : "", member.incarnation, member.address);
  }
  return text;
}

}  // namespace

std::string to_text(const NodeView& node) {
  std::string text = fmt::format(
      "hamlynd {} of {}, pid {}, up {}; {} attached, {} names, {} links cut\n"
      "asked at {}\n",
      node.version, user_name(node.uid), node.pid, format_seconds(node.seconds), node.processes.size(),
      node.names, node.cut, node.socket);
  for (const std::string& constraint : node.constraints)
    text += constraint + ", which its starter has left it\n";
  text +=
      fmt::format("your links and areas hold {} of {}\n", format_bytes(static_cast<double>(node.bytes_used)),
                  format_bytes(static_cast<double>(node.bytes_quota)));
  if (!node.nodes.empty()) text += cluster_text(node);
  if (node.processes.empty()) return text;
  text += "          INTERFACE  USER              PID     SINCE  LINKS  SLOTS     SHARED  REFUSED  PROGRAM\n";
  for (const ProcessView& process : node.processes) text += process_text(node, process);
  return text;
}

}  // namespace hamlyn::tool
