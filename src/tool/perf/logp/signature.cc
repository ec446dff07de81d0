#include "tool/perf/logp/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace hamlyn::tool::perf::logp {
namespace {

constexpr std::size_t kFitted = 4;  // of the longest bursts
constexpr double kBent = 0.15;      // a burst so far off the line is not on it
constexpr double kTurning = 0.3;    // nor is the last step of the curve, if it differs so much

// Least squares of the interval over the inverse length: a burst of M requests takes c + s M, so its interval
// is s + c / M, and where the line meets 0 is s.
struct Line {
  double plateau = 0;
  double slope = 0;
  double at(const Burst& burst) const noexcept { return plateau + slope / burst.length; }
};
Line line_through(std::span<const Burst> bursts) {
  const auto count = static_cast<double>(bursts.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Burst& burst : bursts) {
    const double inverse = 1.0 / burst.length;
    x += inverse / count;
    y += burst.interval / count;
    xx += inverse * inverse / count;
    xy += inverse * burst.interval / count;
  }
  const double slope = (xy - x * y) / (xx - x * x);
  return {y - slope * x, slope};
}

bool off(double value, double wanted, double by) { return std::abs(value - wanted) > by * std::abs(wanted); }

// The last step of the curve: what each request costs that the longest burst has more than the one before.
double last_step(std::span<const Burst> bursts) {
  const Burst &longest = bursts.back(), &before = bursts[bursts.size() - 2];
  return (longest.interval * longest.length - before.interval * before.length) /
         (longest.length - before.length);
}

double sending(const Curve& curve) {
  double least = curve.bursts.front().interval;
  for (const Burst& burst : curve.bursts)
    if (burst.length <= kUnlooked) least = std::min(least, burst.interval);
  return least;
}

}  // namespace

double plateau(const Curve& curve) {
  if (curve.bursts.size() < kFitted) throw NoParameters("a curve needs bursts of four lengths and more");
  const auto longest = std::span(curve.bursts).last(kFitted);
  const Line line = line_through(longest);
  const bool bent = std::any_of(longest.begin(), longest.end(), [&](const Burst& burst) {
    return off(burst.interval, line.at(burst), kBent);
  });
  if (bent || !(line.plateau > 0) || off(last_step(longest), line.plateau, kTurning))
    throw NoParameters(fmt::format(
        "no plateau: with {:.0f} ns of computation, requests of bursts of {} and of {} are {:.1f} "
        "and {:.1f} ns apart",
        curve.delay, longest.front().length, longest.back().length, longest.front().interval,
        longest.back().interval));
  return line.plateau;
}

Parameters parameters_of(const Signature& signature) {
  if (signature.curves.size() < 2) throw NoParameters("a signature needs a curve with a delay");
  const Curve& bare = signature.curves.front();
  Parameters found{.send = sending(bare), .gap = plateau(bare), .half_round_trip = signature.round_trip / 2};
  const double longest = signature.curves.back().delay;
  if (longest < found.gap)
    throw NoParameters(fmt::format("the longest computation, {:.0f} ns, does not fill the gap, {:.0f} ns",
                                   longest, found.gap));
  // A curve that the network bounds shows more than both cost.
  double both = plateau(signature.curves.back()) - longest;
  for (std::size_t i = 1; i != signature.curves.size(); ++i)
    both = std::min(both, plateau(signature.curves[i]) - signature.curves[i].delay);
  found.receive = both - found.send;
  found.latency = found.half_round_trip - both;
  if (!(found.send > 0) || !(found.receive > 0))
    throw NoParameters(
        fmt::format("a request costs {:.1f} ns alone, and {:.1f} ns with the reply of another: "
                    "the machine was disturbed",
                    found.send, both));
  return found;
}

}  // namespace hamlyn::tool::perf::logp
