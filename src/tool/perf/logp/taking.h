#pragma once
// Signatures on their way from the process that measures to the one that waits for it.
#include <span>
#include <vector>

#include "tool/perf/logp/bursts.h"
#include "tool/perf/logp/layers.h"
#include "tool/perf/pair.h"

namespace hamlyn::tool::perf::logp {

// More than the values of any signature.
inline constexpr std::size_t kMostValues = 256;

std::vector<double> packed(const Signature& signature);
// Throws std::runtime_error if these are no whole signature.
Signature unpacked(std::span<const double> values);

template <Asker A>
void survey_and_report(A& asker, const Manner& manner, Room& room) {
  Bursts<A> bursts(asker);
  room.report(packed(survey(bursts, plan_for(manner.under_way, manner.rounds))));
}

}  // namespace hamlyn::tool::perf::logp
