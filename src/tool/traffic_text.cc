// `hamlyn top` for people.
#include <fmt/core.h>

#include <algorithm>

#include "tool/progress.h"
#include "tool/traffic.h"

namespace hamlyn::tool {
namespace {

// "0", "950", "12.3 k", "4.56 M": three digits.
std::string count_text(double count) {
  if (count < 999.5) return fmt::format("{:.0f}", count);
  const char* units[] = {"k", "M", "G"};
  std::size_t unit = 0;
  for (count /= 1000; count >= 999.5 && unit < 2; ++unit) count /= 1000;
  return fmt::format("{:.{}f} {}", count, count < 9.995 ? 2 : count < 99.95 ? 1 : 0, units[unit]);
}

std::string rates_text(const Rates& rates) {
  return fmt::format("{:>8} {:>9} {:>8} {:>9}", count_text(rates.packets_in), format_bytes(rates.bytes_in),
                     count_text(rates.packets_out), format_bytes(rates.bytes_out));
}

std::string line(const ProcessTraffic& each) {
  const ProcessView& process = *each.process;
  const std::string rates =
      process.details ? rates_text(each.rates) : fmt::format("{:>8} {:>9} {:>8} {:>9}", "-", "-", "-", "-");
  return fmt::format("{:>8}  {:<12} {:>5} {:>9}  {}  {:>6} {:>7}  {}\n", process.pid, user_name(process.uid),
                     process.links,
                     format_bytes(static_cast<double>(process.link_bytes + process.area_bytes)), rates,
                     process.details ? count_text(each.wakeups) : "-", each.refused, process.program);
}

template <class Row>
const Row* same(const std::vector<Row>& rows, std::uint32_t Row::*number, std::uint32_t wanted) {
  const auto found = std::ranges::find(rows, wanted, number);
  return found == rows.end() ? nullptr : &*found;
}

std::string links_text(const Details* before, const Details& now, double seconds) {
  std::string text =
      "  LINK TO                  IN/s      B/s    OUT/s      B/s    MEMORY     FULL  REFUSED\n";
  for (const LinkView& link : now.links) {
    const LinkView* const found = find_link(before, link.peer);
    const LinkView then = found != nullptr ? *found : LinkView{};
    const Rates rates{
        rate(then.packets_in, link.packets_in, seconds), rate(then.packets_out, link.packets_out, seconds),
        rate(then.bytes_in, link.bytes_in, seconds), rate(then.bytes_out, link.bytes_out, seconds)};
    text += fmt::format("  pid {:<16} {} {:>9} {:>8} {:>8}\n", link.peer_pid, rates_text(rates),
                        format_bytes(static_cast<double>(link.memory_out + link.memory_in)), link.full,
                        sum(link.refused));
  }
  return text;
}

std::string slots_text(const Details* before, const Details& now, double seconds) {
  std::string text =
      "  SLOT  QUEUE      BYTES   MESSAGES      NOW/s       DATA   FAILED   MOST UNREAD: ENTRIES       "
      "PLACES  REFUSED\n";
  for (const SlotView& row : now.slot_rows) {
    const SlotView* const then = before ? same(before->slot_rows, &SlotView::slot, row.slot) : nullptr;
    const bool known = then != nullptr && then->counts.generation == row.counts.generation;
    text += fmt::format("  {:>4}  {:>5}  {:>9}  {:>9}  {:>9}  {:>9}  {:>7}  {:>21}  {:>11}  {}\n", row.slot,
                        row.queue, format_bytes(static_cast<double>(row.counts.bound)), row.counts.messages,
                        count_text(rate(known ? then->counts.messages : 0, row.counts.messages, seconds)),
                        format_bytes(static_cast<double>(row.counts.bytes)), row.counts.failed,
                        fmt::format("{} of {}", row.counts.most_entries, row.counts.entries),
                        fmt::format("{} of {}", row.counts.most_places, row.counts.places),
                        refusals_text(row.refused));
  }
  return text;
}

std::string queues_text(const Details& now) {
  std::string text = "  QUEUE   PLACES  MOST STANDING  NOTIFICATIONS\n";
  for (const QueueView& row : now.queue_rows)
    text += fmt::format("  {:>5}  {:>7}  {:>13}  {:>13}\n", row.queue, row.counts.places,
                        row.counts.most_standing, row.counts.notifications);
  return text;
}

std::string termini_text(const Details& now) {
  std::string text =
      "  TERMINUS  ENTRIES  MOST PENDING   MESSAGES       DATA  WAITED FOR: LINK     ROOM    PLACE      ACK  "
      "  "
      "ENTRY\n";
  for (const TerminusView& row : now.terminus_rows) {
    const interface::TerminusCounters& counts = row.counts;
    text += fmt::format("  {:>8}  {:>7}  {:>12}  {:>9}  {:>9}  {:>16} {:>8} {:>8} {:>8} {:>8}\n",
                        row.terminus, counts.entries, counts.most_pending, counts.messages,
                        format_bytes(static_cast<double>(counts.bytes)), counts.no_link, counts.no_room,
                        counts.no_place, counts.no_acknowledgement, counts.no_entry);
  }
  return text;
}

// "-", "850 ns", "1.25 us": three digits at most.
std::string time_text(std::uint64_t nanoseconds) {
  if (nanoseconds == 0) return "-";
  const char* units[] = {"ns", "us", "ms", "s"};
  auto time = static_cast<double>(nanoseconds);
  std::size_t unit = 0;
  for (; time >= 999.5 && unit < 3; ++unit) time /= 1000;
  return fmt::format("{:.{}f} {}", time, unit == 0 || time >= 99.95 ? 0 : time < 9.995 ? 2 : 1, units[unit]);
}

std::string calls_text(const Details* before, const Details& now, double seconds) {
  if (now.call_rows.empty()) return {};
  std::string text =
      "  CALLS                  PEER      CALLS    NOW/s  RETRIES      P50      P99    P99.9  NAME, AND WHY "
      "ANY "
      "FAILED\n";
  for (const CallView& row : now.call_rows) {
    const CallView* const then = before ? same(before->call_rows, &CallView::row, row.row) : nullptr;
    const bool known = then != nullptr && then->counts.side == row.counts.side && then->name == row.name;
    const char* const side = row.counts.side == interface::CallSide::caller      ? "made"
                             : row.counts.side == interface::CallSide::procedure ? "served"
                                                                                 : "client";
    text += fmt::format("  {:<6} {:>19}  {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}  {} {}\n", side,
                        row.counts.peer == 0 ? "-" : fmt::format("{}", row.counts.peer), row.counts.calls,
                        count_text(rate(known ? then->counts.calls : 0, row.counts.calls, seconds)),
                        row.counts.retries, time_text(row.median), time_text(row.one_in_100),
                        time_text(row.one_in_1000), row.name,
                        row.failed.empty() ? "" : refusals_text(row.failed));
  }
  return text;
}

}  // namespace

std::string traffic_text(const NodeView& before, const NodeView& now, double seconds,
                         std::optional<std::uint32_t> pid) {
  std::string text = fmt::format(
      "hamlynd {} of {}: {} attached, {} names; your links and areas hold {} of {}; over {:.2f} s\n",
      now.version, user_name(now.uid), now.processes.size(), now.names,
      format_bytes(static_cast<double>(now.bytes_used)), format_bytes(static_cast<double>(now.bytes_quota)),
      seconds);
  text +=
      "     PID  USER         LINKS    SHARED      IN/s       B/s    OUT/s       B/s  WAKE/s REFUSED  "
      "PROGRAM\n";
  for (const ProcessTraffic& each : traffic(before, now, seconds)) {
    if (pid && each.process->pid != *pid) continue;
    text += line(each);
    if (!pid) continue;
    if (!each.process->details) {
      text += fmt::format("  no details: {}\n", each.process->why_no_details.empty()
                                                    ? "this process is not yours"
                                                    : each.process->why_no_details);
      continue;
    }
    const Details* const then = each.before && each.before->details ? &*each.before->details : nullptr;
    const Details& details = *each.process->details;
    text += links_text(then, details, seconds) + slots_text(then, details, seconds) + queues_text(details) +
            termini_text(details) + calls_text(then, details, seconds);
  }
  return text;
}

}  // namespace hamlyn::tool
