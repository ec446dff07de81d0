// `hamlyn node --json`.
#include <nlohmann/json.hpp>

#include "tool/node_view.h"

namespace hamlyn::tool {
namespace {

using nlohmann::ordered_json;

ordered_json refusals_json(const Refusals& refusals) {
  ordered_json object = ordered_json::object();
  for (const auto& [cause, count] : refusals) object[cause] = count;
  return object;
}

ordered_json link_json(const LinkView& link) {
  return {{"peer", link.peer},
          {"peer_uid", link.peer_uid},
          {"peer_pid", link.peer_pid},
          {"memory_out", link.memory_out},
          {"memory_in", link.memory_in},
          {"packets_out", link.packets_out},
          {"packets_in", link.packets_in},
          {"bytes_out", link.bytes_out},
          {"bytes_in", link.bytes_in},
          {"doorbells", link.doorbells},
          {"refused", refusals_json(link.refused)}};
}

ordered_json details_json(const Details& details) {
  ordered_json links = ordered_json::array();
  for (const LinkView& link : details.links) links.push_back(link_json(link));
  return {{"slots", details.slots},
          {"queues", details.queues},
          {"area_bytes", details.area_bytes},
          {"links_ended", details.links_ended},
          {"wakeups", details.wakeups},
          {"empty_wakeups", details.empty_wakeups},
          {"events_lost", details.events_lost},
          {"refused", refusals_json(details.refused)},
          {"links", std::move(links)}};
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
  const ordered_json object{{"version", node.version},
                            {"uid", node.uid},
                            {"pid", node.pid},
                            {"seconds", node.seconds},
                            {"names", node.names},
                            {"cut", node.cut},
                            {"bytes_used", node.bytes_used},
                            {"bytes_quota", node.bytes_quota},
                            {"attached", std::move(processes)}};
  return object.dump();
}

}  // namespace hamlyn::tool
