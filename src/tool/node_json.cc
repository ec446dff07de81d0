// `hamlyn node --json`.
#include "tool/node_view.h"
#include "tool/rows_json.h"

namespace hamlyn::tool {
namespace {

using nlohmann::ordered_json;

ordered_json details_json(const Details& details) {
  return {
      {"slots", details.slots},
      {"queues", details.queues},
      {"area_bytes", details.area_bytes},
      {"links_ended", details.links_ended},
      {"consent",
       {{"everyone", details.everyone}, {"users", details.users_named}, {"groups", details.groups_named}}},
      {"wakeups", details.wakeups},
      {"empty_wakeups", details.empty_wakeups},
      {"events_lost", details.events_lost},
      {"unread", details.unread},
      {"left_pieces", details.left_pieces},
      {"left_bytes", details.left_bytes},
      {"links_held_up", details.links_held_up},
      {"refused", refusals_json(details.refused)},
      {"no_link", refusals_json(details.no_link)},
      {"packets_in", details.packets_in},
      {"packets_out", details.packets_out},
      {"links", rows_json(details.links)},
      {"slot_rows", rows_json(details.slot_rows)},
      {"queue_rows", rows_json(details.queue_rows)},
      {"terminus_rows", rows_json(details.terminus_rows)},
      {"call_rows", rows_json(details.call_rows)}};
}

ordered_json process_json(const ProcessView& process) {
  return {{"interface", process.interface},
          {"uid", process.uid},
          {"pid", process.pid},
          {"program", process.program},
          {"seconds", process.seconds},
          {"links", process.links},
          {"link_bytes", process.link_bytes},
          {"area_bytes", process.area_bytes},
          {"refused", process.refused},
          {"details", process.details ? details_json(*process.details) : ordered_json()}};
}

}  // namespace

std::string to_json(const NodeView& node) {
  ordered_json processes = ordered_json::array();
  for (const ProcessView& process : node.processes) processes.push_back(process_json(process));
  ordered_json nodes = ordered_json::array();
  for (const MemberView& member : node.nodes) {
    nodes.push_back({{"id", member.id},
                     {"state", member.state},
                     {"boot", member.boot},
                     {"incarnation", member.incarnation},
                     {"seconds", member.seconds},
                     {"address", member.address}});
  }
  const ordered_json object{{"version", node.version},
                            {"uid", node.uid},
                            {"pid", node.pid},
                            {"seconds", node.seconds},
                            {"socket", node.socket},
                            {"constraints", node.constraints},
                            {"names", node.names},
                            {"cut", node.cut},
                            {"bytes_used", node.bytes_used},
                            {"bytes_quota", node.bytes_quota},
                            {"nodes", std::move(nodes)},
                            {"packets_refused", node.packets_refused},
                            {"kept_out", node.kept_out},
                            {"attached", std::move(processes)}};
  return object.dump();
}

}  // namespace hamlyn::tool
