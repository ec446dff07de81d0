// What `hamlyn node` and `hamlyn top` make of counter pages, which belong to other processes: two looks at a
// node, of whose processes each has written what it likes, and something else in between. A page is copied
// while its owner may write, so that any bytes are what one may have found.
//
// Besides not crashing: there are details of a page if it is one, and otherwise a reason; there are as many
// rows as the page has; what is shown is printable and no longer than its rows; JSON is JSON; nothing goes
// backwards.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"
#include "tool/node_view.h"
#include "tool/traffic.h"

namespace hamlyn::fuzz {
namespace {

using interface::CounterPage;
using tool::NodeView;
using tool::ProcessView;

constexpr std::uint64_t kFirst = 100;  // the number of the first process's interface
constexpr std::uint32_t kPid = 1;      // of the same
constexpr std::size_t kLongestLine = 4096;

Goal goals[] = {{"pages that were read", 150},
                {"pages that are none", 20},
                {"rows of links", 200},
                {"rows of slots, queues, termini and calls", 200},
                {"processes that have done something", 40}};
Goal &sound = goals[0], &unsound = goals[1], &links = goals[2], &rows = goals[3], &moved = goals[4];

class Looks {
 public:
  explicit Looks(Input& input) : input_(input) {}

  void look() {
    const std::uint64_t count = 1 + pick(3);
    for (std::uint64_t i = 0; i < count; ++i) pages_.push_back(start(kFirst + i));
    const NodeView before = look_at_all();
    show(before);
    const NodeView now = look_at_all();
    show(now);
    compare(before, now);
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }

  std::unique_ptr<CounterPage> start(std::uint64_t interface) {
    auto page = std::make_unique<CounterPage>();
    page->magic = interface::kCounterMagic;
    page->version = interface::kCounterVersion;
    page->interface = interface;
    return page;
  }

  NodeView look_at_all() {
    NodeView view{.version = "1", .uid = 0, .pid = 9, .seconds = 1, .names = 0, .processes = {}};
    for (std::size_t i = 0; i < pages_.size() && !testing::Test::HasFatalFailure(); ++i) {
      if (pick(16) == 0) continue;  // it is not attached now
      ProcessView process{.interface = kFirst + i, .uid = 0, .pid = kPid + static_cast<std::uint32_t>(i)};
      for (std::uint64_t changes = pick(12); changes != 0; --changes) change(*pages_[i]);
      read(*pages_[i], process);
      view.processes.push_back(std::move(process));
    }
    return view;
  }

  // What its owner has written since.
  void change(CounterPage& page) {
    const auto small = [&] { return static_cast<std::uint32_t>(input_.number()); };
    switch (pick(8)) {
      case 0: {
        interface::LinkCounters& row = page.link[pick(4) == 0 ? pick(interface::kCounterLinks) : pick(3)];
        row.peer = pick(4) == 0 ? input_.number() : kFirst + pick(4);
        row.packets_in += pick(2) == 0 ? input_.number() : pick(100);
        row.bytes_out += pick(2) == 0 ? input_.number() : pick(100);
        row.refused[pick(interface::kCounterCauses)] = small();
        return;
      }
      case 1: {
        const std::uint64_t at = pick(interface::kCounterSlots);
        page.slot[at].generation = small();
        page.slot[at].bytes = input_.number();
        page.slot_refused[at].by_cause[pick(interface::kCounterCauses)] = small();
        return;
      }
      case 2: {
        interface::QueueCounters& row = page.queue[pick(interface::kCounterQueues)];
        row.places = input_.number();
        row.most_standing = input_.number();
        return;
      }
      case 3: {
        interface::TerminusCounters& row = page.terminus[pick(interface::kCounterTermini)];
        row.entries = small();
        row.bytes = input_.number();
        return;
      }
      case 4:
        for (char& each : page.program) {
          each = static_cast<char>(input_.byte());
          if (each == 0) break;
        }
        return;
      case 5: {  // any word of it, its head mostly
        const std::size_t words = pick(2) == 0 ? 8 : sizeof page / 8;
        const std::uint64_t word = input_.number();
        std::memcpy(reinterpret_cast<std::byte*>(&page) + 8 * pick(words), &word, sizeof word);
        return;
      }
      case 6:
        if (pick(2) == 0) return change(page.call[pick(interface::kCounterCalls)]);
        page.refused[pick(interface::kCounterCauses)] = input_.number();
        return;
      default:  // all of it is noise
        if (pick(16) == 0) std::memset(page.link, static_cast<int>(pick(256)), sizeof page - 1024);
        return;
    }
  }

  void change(interface::CallCounters& row) {
    row.side = static_cast<interface::CallSide>(pick(6));
    row.calls = input_.number();
    row.name[pick(sizeof row.name)] = static_cast<char>(input_.byte());
    row.times[pick(interface::kCounterTimes)] = static_cast<std::uint32_t>(input_.number());
    row.failed[pick(interface::kCounterCallCauses)] = static_cast<std::uint32_t>(input_.number());
  }

  void read(const CounterPage& page, ProcessView& process) {
    std::size_t bytes = sizeof page;
    if (pick(16) == 0) bytes = pick(2) == 0 ? pick(sizeof page) : bytes + pick(9);
    const base::FileDescriptor file(::memfd_create("page", MFD_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), &page, std::min(bytes, sizeof page), 0),
              static_cast<ssize_t>(std::min(bytes, sizeof page)));
    ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
    tool::read_details(file.get(), process);
    const bool good = bytes == sizeof page && page.magic == interface::kCounterMagic &&
                      page.version == interface::kCounterVersion && page.interface == process.interface;
    ASSERT_EQ(process.details.has_value(), good);
    ASSERT_EQ(process.why_no_details.empty(), good);
    (good ? sound : unsound).times += 1;
    if (good) count_rows(page, *process.details);
  }

  void count_rows(const CounterPage& page, const tool::Details& details) {
    using std::ranges::count_if;
    const auto of_links = count_if(page.link, [](const auto& row) { return row.peer != 0; });
    const auto of_slots = count_if(page.slot, [](const auto& row) { return row.generation != 0; });
    const auto of_queues = count_if(page.queue, [](const auto& row) { return row.places != 0; });
    const auto of_termini = count_if(page.terminus, [](const auto& row) { return row.entries != 0; });
    ASSERT_EQ(details.links.size(), static_cast<std::size_t>(of_links));
    ASSERT_EQ(details.slot_rows.size(), static_cast<std::size_t>(of_slots));
    ASSERT_EQ(details.queue_rows.size(), static_cast<std::size_t>(of_queues));
    ASSERT_EQ(details.terminus_rows.size(), static_cast<std::size_t>(of_termini));
    const auto of_calls =
        count_if(page.call, [](const auto& row) { return row.side != interface::CallSide::none; });
    ASSERT_EQ(details.call_rows.size(), static_cast<std::size_t>(of_calls));
    for (const tool::CallView& row : details.call_rows)
      ASSERT_TRUE(row.median <= row.one_in_100 && row.one_in_100 <= row.one_in_1000);
    links.times += details.links.size();
    rows.times += details.slot_rows.size() + details.queue_rows.size() + details.terminus_rows.size() +
                  details.call_rows.size();
  }

  static std::size_t rows_of(const NodeView& node) {
    std::size_t count = node.processes.size();
    for (const ProcessView& process : node.processes) {
      if (!process.details) continue;
      const tool::Details& details = *process.details;
      count += details.links.size() + details.slot_rows.size() + details.queue_rows.size() +
               details.terminus_rows.size() + details.call_rows.size();
    }
    return count;
  }

  // A terminal would obey control characters, and takes only what it can show in a screen or so.
  static void see_text(const std::string& text, std::size_t lines) {
    std::size_t length = 0, ends = 0;
    for (const char each : text) {
      ++length;
      if (each == '\n') {
        ++ends;
        length = 0;
        continue;
      }
      ASSERT_TRUE(each >= 0x20 && each <= 0x7E) << "not printable: " << static_cast<int>(each);
      ASSERT_LE(length, kLongestLine);
    }
    ASSERT_LE(ends, lines);
  }
  static void see_json(const std::string& text) {
    see_text(text.substr(0, std::min(text.size(), kLongestLine)), 0);
    ASSERT_EQ(text.find('\n'), std::string::npos);
    ASSERT_TRUE(nlohmann::json::accept(text));
  }

  static void show(const NodeView& node) {
    see_text(tool::to_text(node), 4 + rows_of(node) + 2 * node.processes.size());
    see_json(tool::to_json(node));
  }

  void compare(const NodeView& before, const NodeView& now) {
    const double seconds = 0.1 * static_cast<double>(1 + pick(20));
    const std::vector<tool::ProcessTraffic> all = tool::traffic(before, now, seconds);
    ASSERT_EQ(all.size(), now.processes.size());
    for (const tool::ProcessTraffic& each : all) {
      for (const double rate : {each.rates.packets_in, each.rates.packets_out, each.rates.bytes_in,
                                each.rates.bytes_out, each.wakeups}) {
        ASSERT_TRUE(std::isfinite(rate) && rate >= 0) << rate;
        moved.times += rate > 0 ? 1 : 0;
      }
    }
    const std::optional<std::uint32_t> some[] = {std::nullopt, kPid, kPid + 7};
    for (const auto& pid : some) {
      see_text(tool::traffic_text(before, now, seconds, pid), 9 + rows_of(now));
      see_json(tool::traffic_json(before, now, seconds, pid));
    }
  }

  Input& input_;
  std::vector<std::unique_ptr<CounterPage>> pages_;
};

}  // namespace

const RandomRuns random_runs{.runs = 150, .bytes = 400, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  Looks{input}.look();
}

}  // namespace hamlyn::fuzz
