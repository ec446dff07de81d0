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
          {"full", link.full},
          {"refused", refusals_json(link.refused)}};
}

ordered_json slot_json(const SlotView& row) {
  return {{"slot", row.slot},
          {"queue", row.queue},
          {"bound", row.counts.bound},
          {"entries", row.counts.entries},
          {"places", row.counts.places},
          {"messages", row.counts.messages},
          {"bytes", row.counts.bytes},
          {"failed", row.counts.failed},
          {"most_entries", row.counts.most_entries},
          {"most_places", row.counts.most_places},
          {"refused", refusals_json(row.refused)}};
}

ordered_json queue_json(const QueueView& row) {
  return {{"queue", row.queue},
          {"places", row.counts.places},
          {"notifications", row.counts.notifications},
          {"most_standing", row.counts.most_standing}};
}

ordered_json terminus_json(const TerminusView& row) {
  return {{"terminus", row.terminus},        {"entries", row.counts.entries},
          {"level", row.counts.level},       {"messages", row.counts.messages},
          {"bytes", row.counts.bytes},       {"most_pending", row.counts.most_pending},
          {"no_link", row.counts.no_link},   {"no_room", row.counts.no_room},
          {"no_place", row.counts.no_place}, {"no_acknowledgement", row.counts.no_acknowledgement},
          {"no_entry", row.counts.no_entry}};
}

ordered_json details_json(const Details& details) {
  ordered_json links = ordered_json::array();
  for (const LinkView& link : details.links) links.push_back(link_json(link));
  ordered_json slots = ordered_json::array(), queues = slots, termini = slots;
  for (const SlotView& row : details.slot_rows) slots.push_back(slot_json(row));
  for (const QueueView& row : details.queue_rows) queues.push_back(queue_json(row));
  for (const TerminusView& row : details.terminus_rows) termini.push_back(terminus_json(row));
  return {{"slots", details.slots},
          {"queues", details.queues},
          {"area_bytes", details.area_bytes},
          {"links_ended", details.links_ended},
          {"wakeups", details.wakeups},
          {"empty_wakeups", details.empty_wakeups},
          {"events_lost", details.events_lost},
          {"refused", refusals_json(details.refused)},
          {"packets_in", details.packets_in},
          {"packets_out", details.packets_out},
          {"links", std::move(links)},
          {"slot_rows", std::move(slots)},
          {"queue_rows", std::move(queues)},
          {"terminus_rows", std::move(termini)}};
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
