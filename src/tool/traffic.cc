#include "tool/traffic.h"

#include <algorithm>

#include "tool/rows_json.h"

namespace hamlyn::tool {
namespace {

using nlohmann::ordered_json;

const ProcessView* earlier_of(const NodeView& node, std::uint64_t interface) {
  const auto found = std::ranges::find(node.processes, interface, &ProcessView::interface);
  return found == node.processes.end() ? nullptr : &*found;
}

Rates rates_of(const Details* before, const Details& now, double seconds) {
  Rates rates;
  rates.packets_in = rate(before ? before->packets_in : 0, now.packets_in, seconds);
  rates.packets_out = rate(before ? before->packets_out : 0, now.packets_out, seconds);
  for (const LinkView& link : now.links) {
    const LinkView* const then = find_link(before, link.peer);
    rates.bytes_in += rate(then ? then->bytes_in : 0, link.bytes_in, seconds);
    rates.bytes_out += rate(then ? then->bytes_out : 0, link.bytes_out, seconds);
  }
  return rates;
}

const Details* details_of(const ProcessView* process) {
  return process != nullptr && process->details ? &*process->details : nullptr;
}

std::uint64_t refused_by(const ProcessView& process) {
  return process.details ? sum(process.details->refused) : process.refused;
}

}  // namespace

const LinkView* find_link(const Details* details, std::uint64_t peer) noexcept {
  if (details == nullptr) return nullptr;
  const auto found = std::ranges::find(details->links, peer, &LinkView::peer);
  return found == details->links.end() ? nullptr : &*found;
}

double rate(std::uint64_t before, std::uint64_t now, double seconds) noexcept {
  return now <= before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

std::vector<ProcessTraffic> traffic(const NodeView& before, const NodeView& now, double seconds) {
  std::vector<ProcessTraffic> all;
  for (const ProcessView& process : now.processes) {
    ProcessTraffic each{.process = &process, .before = earlier_of(before, process.interface), .rates = {}};
    const Details* const then = details_of(each.before);
    if (process.details) {
      each.rates = rates_of(then, *process.details, seconds);
      each.wakeups = rate(then ? then->wakeups : 0, process.details->wakeups, seconds);
    }
    const std::uint64_t refused = each.before ? refused_by(*each.before) : 0;
    each.refused = refused_by(process) - std::min(refused, refused_by(process));
    all.push_back(each);
  }
  const auto busy = [](const ProcessTraffic& each) { return each.rates.packets_in + each.rates.packets_out; };
  std::ranges::stable_sort(all, std::ranges::greater{}, busy);
  return all;
}

std::string traffic_json(const NodeView& before, const NodeView& now, double seconds,
                         std::optional<std::uint32_t> pid) {
  ordered_json processes = ordered_json::array();
  for (const ProcessTraffic& each : traffic(before, now, seconds)) {
    if (pid && each.process->pid != *pid) continue;
    processes.push_back({{"interface", each.process->interface},
                         {"uid", each.process->uid},
                         {"pid", each.process->pid},
                         {"program", each.process->program},
                         {"links", each.process->links},
                         {"shared_bytes", each.process->link_bytes + each.process->area_bytes},
                         {"details", each.process->details.has_value()},
                         {"packets_in_per_second", each.rates.packets_in},
                         {"packets_out_per_second", each.rates.packets_out},
                         {"bytes_in_per_second", each.rates.bytes_in},
                         {"bytes_out_per_second", each.rates.bytes_out},
                         {"wakeups_per_second", each.wakeups},
                         {"refused", each.refused}});
    if (!pid || !each.process->details) continue;
    const Details& details = *each.process->details;
    ordered_json& process = processes.back();
    process["link_rows"] = rows_json(details.links);
    process["slot_rows"] = rows_json(details.slot_rows);
    process["queue_rows"] = rows_json(details.queue_rows);
    process["terminus_rows"] = rows_json(details.terminus_rows);
    process["call_rows"] = rows_json(details.call_rows);
  }
  return ordered_json{{"seconds", seconds}, {"processes", std::move(processes)}}.dump();
}

}  // namespace hamlyn::tool
