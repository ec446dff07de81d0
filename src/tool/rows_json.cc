#include "tool/rows_json.h"

namespace hamlyn::tool {
namespace {

using nlohmann::ordered_json;

ordered_json row_json(const LinkView& link) {
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

ordered_json row_json(const SlotView& row) {
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

ordered_json row_json(const QueueView& row) {
  return {{"queue", row.queue},
          {"places", row.counts.places},
          {"notifications", row.counts.notifications},
          {"most_standing", row.counts.most_standing}};
}

ordered_json row_json(const TerminusView& row) {
  return {{"terminus", row.terminus},        {"entries", row.counts.entries},
          {"level", row.counts.level},       {"messages", row.counts.messages},
          {"bytes", row.counts.bytes},       {"most_pending", row.counts.most_pending},
          {"no_link", row.counts.no_link},   {"no_room", row.counts.no_room},
          {"no_place", row.counts.no_place}, {"no_acknowledgement", row.counts.no_acknowledgement},
          {"no_entry", row.counts.no_entry}};
}

const char* side_of(interface::CallSide side) {
  switch (side) {
    case interface::CallSide::caller:
      return "caller";
    case interface::CallSide::procedure:
      return "procedure";
    case interface::CallSide::client:
      return "client";
    default:
      return "unknown";
  }
}

ordered_json row_json(const CallView& row) {
  return {{"row", row.row},
          {"side", side_of(row.counts.side)},
          {"name", row.name},
          {"peer", row.counts.peer},
          {"calls", row.counts.calls},
          {"retries", row.counts.retries},
          {"failed", refusals_json(row.failed)},
          {"timed", row.timed},
          {"p50_nanoseconds", row.median},
          {"p99_nanoseconds", row.one_in_100},
          {"p999_nanoseconds", row.one_in_1000}};
}

template <class Row>
ordered_json array_of(const std::vector<Row>& rows) {
  ordered_json array = ordered_json::array();
  for (const Row& row : rows) array.push_back(row_json(row));
  return array;
}

}  // namespace

ordered_json refusals_json(const Refusals& refusals) {
  ordered_json object = ordered_json::object();
  for (const auto& [cause, count] : refusals) object[cause] = count;
  return object;
}

ordered_json rows_json(const std::vector<LinkView>& rows) { return array_of(rows); }
ordered_json rows_json(const std::vector<SlotView>& rows) { return array_of(rows); }
ordered_json rows_json(const std::vector<QueueView>& rows) { return array_of(rows); }
ordered_json rows_json(const std::vector<TerminusView>& rows) { return array_of(rows); }
ordered_json rows_json(const std::vector<CallView>& rows) { return array_of(rows); }

}  // namespace hamlyn::tool
