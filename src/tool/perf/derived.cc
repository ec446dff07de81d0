#include "tool/perf/derived.h"

namespace hamlyn::tool::perf {
namespace {

constexpr double kTwoPackets = 2 * 8192;
constexpr double kColdNanoseconds = 3000;
constexpr double kNotifyWakes = 1.2;
constexpr double kFirstNanoseconds = 5e6;
constexpr double kDeathNanoseconds = 1e7;
constexpr double kNameReads = 1.3;

Figure bound(const char* name, const Figure& base, double more) {
  const double value = base.summary.median + more;
  return {name, base.unit, {value, value, value, value, value}, false, base.runs};
}

}  // namespace

void add_derived(std::vector<Figure>& figures) {
  const Figure* fast = find(figures, "shm.fast.16.oneway");
  const Figure* bandwidth = find(figures, "shm.message.65536.bandwidth");
  const Figure* links = find(figures, "shm.links1000.16.oneway");
  std::vector<Figure> derived;
  // GB/s are bytes per nanosecond.
  if (fast != nullptr && bandwidth != nullptr)
    derived.push_back(bound("limit.urgent.16.oneway", *fast, kTwoPackets / bandwidth->summary.median));
  if (links != nullptr) derived.push_back(bound("limit.links1000.cold.16.oneway", *links, kColdNanoseconds));
  if (const Figure* first = find(figures, "ofi.first.16.oneway"))
    derived.push_back(bound("limit.first.16.oneway", *first, kFirstNanoseconds - first->summary.median));
  if (const Figure* death = find(figures, "shm.death.oneway"))
    derived.push_back(bound("limit.death.oneway", *death, kDeathNanoseconds - death->summary.median));
  const Figure* write = find(figures, "shm.segment.write.40.oneway");
  const Figure* wake = find(figures, "limit.wake.oneway");
  if (write != nullptr && wake != nullptr)
    derived.push_back(bound("limit.segment.notify.40.oneway", *write, kNotifyWakes * wake->summary.median));
  const Figure* cached = find(figures, "ofi.names.import.cached");
  const Figure* read = find(figures, "ofi.segment.read.40.roundtrip");
  if (cached != nullptr && read != nullptr)
    derived.push_back(bound("limit.names.import.uncached", *cached, kNameReads * read->summary.median));
  for (Figure& figure : derived) figures.push_back(std::move(figure));
}

}  // namespace hamlyn::tool::perf
