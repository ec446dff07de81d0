// Tables 1, 3 and 4 of paper 2 (sections 3.3 and 7.3), with what was measured beside what they say.
#include <fmt/format.h>

#include <array>

#include "tool/perf/clock.h"
#include "tool/perf/our_vi.h"

namespace hamlyn::tool::perf {

namespace {

// A row of tables 3 and 4, which have the same calls: per cent of the time that the hosts spend on a request
// and its reply. (The text has lost a row of table 3 and one place of table 4: with 3.5 and 2.4 in them the
// columns are 100.)
struct Row {
  const char* category;
  const char* operation;
  const char* figure;
  double request_reply;  // table 3, Active Messages
  double get;            // table 4, Split-C
};
constexpr std::array<Row, 13> kRows = {{
    {"base VI", "VipSendDone", "vi.call.send_done.cost", 7.0, 7.1},
    {"base VI", "VipPostSend", "vi.call.post_send.cost", 6.1, 9.4},
    {"base VI", "VipRecvDone", "vi.call.receive_done.cost", 7.4, 8.0},
    {"base VI", "VipPostRecv", "vi.call.post_receive.cost", 4.8, 5.6},
    {"base VI", "recycle send descriptor", "vi.call.recycle_send.cost", 1.7, 1.8},
    {"base VI", "recycle receive descriptor", "vi.call.recycle_receive.cost", 2.0, 1.8},
    {"base VI", "build send descriptor", "vi.call.build_send.cost", 3.5, 2.4},
    {"event notification", "VipCQDone (send)", "vi.call.queue_done_send.cost", 22.1, 24.4},
    {"event notification", "VipCQDone (receive)", "vi.call.queue_done.cost", 22.1, 22.5},
    {"flow control", "send bookkeeping", "vi.call.credit.cost", 5.7, 4.9},
    {"flow control", "process received message", "vi.call.match.cost", 8.7, 6.7},
    {"semantics", "read data from message", "vi.call.read.cost", 6.3, 3.6},
    {"semantics", "act on message", "vi.call.act.cost", 2.6, 1.8},
}};

struct Base {
  const char* what;
  double microseconds, megabytes_per_second;
};
constexpr std::array<Base, 4> kBases = {{{"Myricom LANai 4 VI", 33.1, 62.8},
                                         {"Myricom LANai 7 VI", 30.2, 68.3},
                                         {"Giganet cLan", 24, 70},
                                         {"Compaq ServerNet II (simulated)", 7.4, 180}}};

std::string base_table(const std::vector<Figure>& figures) {
  const Figure* const half = find(figures, "shm.vi.send.16.oneway");
  const Figure* const bandwidth = find(figures, "shm.vi.touched.65536.bandwidth");
  if (half == nullptr || bandwidth == nullptr) return {};
  std::string text = fmt::format("\n{:<34} {:>10} {:>12}\n", "paper 2, table 1", "RTT/2 us", "MB/s");
  for (const Base& base : kBases)
    text +=
        fmt::format("{:<34} {:>10.1f} {:>12.1f}\n", base.what, base.microseconds, base.megabytes_per_second);
  return text + fmt::format("{:<34} {:>10.3f} {:>12.0f}\n", "here, within a host",
                            half->summary.median / 1000, bandwidth->summary.median * 1000);
}

// A line of the table: of one call, or of several together.
struct Line {
  double ns = 0, third = 0, fourth = 0;
  void add(const Line& other) noexcept {
    ns += other.ns;
    third += other.third;
    fourth += other.fourth;
  }
};

// Cycles are those of the processor's clock.
std::string written(const std::string& category, const char* operation, const Line& line, double all) {
  return fmt::format("{:<19} {:<27} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", category, operation,
                     line.ns, line.ns / ns_per_tick(), 100 * line.ns / all, line.third, line.fourth);
}

std::string call_table(const std::vector<Figure>& figures) {
  std::array<Line, kRows.size()> lines;
  Line sum;
  for (std::size_t i = 0; i != kRows.size(); ++i) {
    const Figure* const found = find(figures, kRows[i].figure);
    if (found == nullptr) return {};
    lines[i] = {found->summary.median, kRows[i].request_reply, kRows[i].get};
    sum.add(lines[i]);
  }
  std::string text =
      fmt::format("\n{:<19} {:<27} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "paper 2, 7.3",
                  "a message and its answer", "here ns", "cycles", "here %", "table 3", "table 4");
  for (std::size_t i = 0; i != kRows.size();) {
    const std::string category = kRows[i].category;
    Line together;
    for (; i != kRows.size() && category == kRows[i].category; ++i) {
      text += written(category, kRows[i].operation, lines[i], sum.ns);
      together.add(lines[i]);
    }
    text += written(category, "together", together, sum.ns);
  }
  return text + written("all", "", sum, sum.ns);
}

}  // namespace

std::string vi_tables(const std::vector<Figure>& figures) {
  return base_table(figures) + call_table(figures);
}

}  // namespace hamlyn::tool::perf
