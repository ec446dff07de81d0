#pragma once
// Takes a layer's signature: which bursts, how often, with how long computations. Pure: the machine has the
// clock.
#include <cstdint>

#include "tool/perf/logp/signature.h"

namespace hamlyn::tool::perf::logp {

// A layer between two processes, which can be asked how long things take. All in nanoseconds.
class Machine {
 public:
  virtual ~Machine() = default;
  // A request, until its reply has been taken; on average over a few in turn.
  virtual double round_trip() = 0;
  // So many requests, each followed by a computation of `delay` and, from the kUnlooked-th on, by a look for
  // a reply; until the last has been sent. The replies have been taken when it returns.
  virtual double burst(std::uint32_t length, double delay) = 0;
  // How long one such computation is in truth: taken of many, without requests.
  virtual double computation(double delay) = 0;
};

struct Plan {
  std::uint32_t longest = 256;  // burst without computations, a power of two; of those with it: kLongest
  int rounds = 1;  // each of which has everything once; medians count. At most: all of it takes some 20 s
};
// The paper's bursts end at 64 messages. Here dozens leave before the first reply is back.
inline constexpr std::uint32_t kLongest = 256;

// A burst is bounded by the network once as many requests are under way as may be. The plan for so many: the
// longest burst has many times as many.
Plan plan_for(std::uint32_t under_way, int rounds);

Signature survey(Machine& machine, const Plan& plan);

}  // namespace hamlyn::tool::perf::logp
