#include "tool/perf/logp/survey.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "tool/perf/statistics.h"

namespace hamlyn::tool::perf::logp {
namespace {

constexpr int kPilot = 25;  // measurements that only say how long computations are to be
constexpr std::array kDelays = {1.1, 1.5,
                                2.0};  // of the gap: longer ones would drown what is left beside them

// Rounds are fewer where requests are so far apart that all would take longer.
constexpr double kLongestTime = 20e9;
constexpr int kLeastRounds = 30;

// How many rounds there are to be, if a request takes so long in the mean, with what keeps it from its
// processor.
int rounds_for(const Plan& plan, double mean) {
  double requests = 2 * plan.longest;
  for (const double delay : kDelays) requests += (1 + delay) * 2 * kLongest;
  const double most = kLongestTime / std::max(mean * requests, 1.0);
  return std::min(plan.rounds, std::max(kLeastRounds, static_cast<int>(std::min(most, 1e6))));
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
  std::vector<double> pilots;
  for (int i = 0; i != kPilot; ++i) pilots.push_back(machine.burst(plan.longest, 0) / plan.longest);
  const int rounds = rounds_for(plan, std::accumulate(pilots.begin(), pilots.end(), 0.0) / kPilot);
  const double gap = median(std::move(pilots));
  std::vector<Samples> curves{{0, plan.longest}};
  for (const double delay : kDelays) curves.emplace_back(delay * gap, kLongest);
  std::vector<double> round_trips;
  for (int round = 0; round != rounds; ++round) {
    round_trips.push_back(machine.round_trip());
    for (Samples& samples : curves) samples.take(machine);
  }
  Signature out{.round_trip = median(round_trips), .curves = {}};
  for (const Samples& samples : curves) out.curves.push_back(samples.curve());
  return out;
}

}  // namespace hamlyn::tool::perf::logp
