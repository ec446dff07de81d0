#include "tool/perf/logp/survey.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tool/perf/statistics.h"

namespace hamlyn::tool::perf::logp {
namespace {

constexpr int kPilot = 25;  // measurements that only say how long computations are to be
constexpr std::array kDelays = {1.1, 1.5,
                                2.0};  // of the gap: longer ones would drown what is left beside them

template <class Measure>
double median_of(int count, Measure measure) {
  std::vector<double> samples;
  for (int i = 0; i != count; ++i) samples.push_back(measure());
  return median(std::move(samples));
}

// Samples of a curve, by length.
class Samples {
 public:
  Samples(double delay, std::uint32_t longest) : delay_(delay) {
    for (std::uint32_t length = 1; length <= longest; length *= 2) lengths_.push_back(length);
    intervals_.resize(lengths_.size());
  }
  void take(Machine& machine) {
    for (std::size_t i = 0; i != lengths_.size(); ++i)
      intervals_[i].push_back(machine.burst(lengths_[i], delay_) / lengths_[i]);
    if (delay_ > 0) delays_.push_back(machine.computation(delay_));
  }
  Curve curve() const {
    Curve out{.delay = delays_.empty() ? 0 : median(delays_), .bursts = {}};
    for (std::size_t i = 0; i != lengths_.size(); ++i)
      out.bursts.push_back({lengths_[i], median(intervals_[i])});
    return out;
  }

 private:
  double delay_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::vector<double>> intervals_;
  std::vector<double> delays_;
};

}  // namespace

Plan plan_for(std::uint32_t under_way, int rounds) {
  return {.longest = std::bit_ceil(std::max(16 * under_way, kLongest)), .rounds = rounds};
}

Signature survey(Machine& machine, const Plan& plan) {
  const double gap = median_of(kPilot, [&] { return machine.burst(plan.longest, 0) / plan.longest; });
  std::vector<Samples> curves{{0, plan.longest}};
  for (const double delay : kDelays) curves.emplace_back(delay * gap, kLongest);
  std::vector<double> round_trips;
  for (int round = 0; round != plan.rounds; ++round) {
    round_trips.push_back(machine.round_trip());
    for (Samples& samples : curves) samples.take(machine);
  }
  Signature out{.round_trip = median(round_trips), .curves = {}};
  for (const Samples& samples : curves) out.curves.push_back(samples.curve());
  return out;
}

}  // namespace hamlyn::tool::perf::logp
