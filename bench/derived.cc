#include "bench/derived.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>

#include "hamlyn/core/interface.h"

namespace hamlyn::tool::perf {
namespace {

const double kTwoPackets = 2 * static_cast<double>(Interface::Options{}.mtu);
constexpr double kColdNanoseconds = 3000;
constexpr double kNotifyWakes = 1.2;
constexpr double kFirstNanoseconds = 5e6;
constexpr double kDeathNanoseconds = 1e7;
constexpr double kNameReads = 1.3;
constexpr double kRefusalNanoseconds = 3000;  // the paper's

using Medians = std::span<const double>;

// A figure that is computed from others' medians: of all rounds, and at each distance at which all were
// measured.
class Bound {
 public:
  Bound(const std::vector<Figure>& figures, std::initializer_list<const char*> names) {
    for (const char* name : names) from_.push_back(find(figures, name));
  }

  bool known() const { return std::find(from_.begin(), from_.end(), nullptr) == from_.end(); }

  template <class Compute>
  Figure compute(const char* name, Compute value_of) const {
    const double value =
        *of([](const Figure& figure) { return std::optional{figure.summary.median}; }, value_of);
    Figure bound{name, from_.front()->unit, {value, value, value, value, value}, false, from_.front()->runs};
    for (const Distance distance : kDistances)
      bound.median_at(distance) = of([&](const Figure& f) { return f.median_at(distance); }, value_of);
    return bound;
  }

 private:
  template <class Median, class Compute>
  std::optional<double> of(Median median_of, Compute value_of) const {
    std::vector<double> medians;
    for (const Figure* figure : from_) {
      const std::optional<double> one = median_of(*figure);
      if (!one) return {};
      medians.push_back(*one);
    }
    return value_of(Medians{medians});
  }

  std::vector<const Figure*> from_;
};

}  // namespace

void add_derived(std::vector<Figure>& figures) {
  std::vector<Figure> derived;
  const auto add = [&](const char* name, std::initializer_list<const char*> from, auto value_of) {
    const Bound bound{figures, from};
    if (bound.known()) derived.push_back(bound.compute(name, value_of));
  };
  // GB/s are bytes per nanosecond.
  add("limit.urgent.16.oneway", {"shm.fast.16.oneway", "shm.message.65536.bandwidth"},
      [](Medians m) { return m[0] + kTwoPackets / m[1]; });
  add("limit.links1000.cold.16.oneway", {"shm.links1000.16.oneway"},
      [](Medians m) { return m[0] + kColdNanoseconds; });
  add("limit.first.16.oneway", {"ofi.first.16.oneway"}, [](Medians) { return kFirstNanoseconds; });
  add("limit.death.oneway", {"shm.death.oneway"}, [](Medians) { return kDeathNanoseconds; });
  add("limit.refusal.16.cost", {"shm.refusal.key.16.cost"}, [](Medians) { return kRefusalNanoseconds; });
  add("limit.segment.notify.40.oneway", {"shm.segment.write.40.oneway", "limit.wake.oneway"},
      [](Medians m) { return m[0] + kNotifyWakes * m[1]; });
  add("limit.names.import.uncached", {"ofi.names.import.cached", "ofi.segment.read.40.roundtrip"},
      [](Medians m) { return m[0] + kNameReads * m[1]; });
  for (Figure& figure : derived) figures.push_back(std::move(figure));
}

}  // namespace hamlyn::tool::perf
