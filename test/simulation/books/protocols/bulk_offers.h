#pragma once
// What the two kinds of bulk in a run share: which offer is taken, and what may be lost.
#include <algorithm>
#include <deque>

#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

inline constexpr std::size_t kMostBulk = 4096;  // bytes of a space, or a ring
inline constexpr std::uint64_t kBulkContent = std::uint64_t{5} << 60;

// Another's that nobody has asked for, mostly a new one; null: there is none.
template <class Offered>
Offered* any_offered(Stage& stage, std::deque<Offered>& all) {
  if (all.empty()) return nullptr;
  Offered& found = all[all.size() - 1 - stage.chance().below(std::min<std::size_t>(all.size(), 6))];
  return found.owner == stage.me() || found.sender != 0 ? nullptr : &found;
}

// Whether what one has sent the other may never come there.
inline bool may_never_come(Stage& stage, std::uint64_t one, std::uint64_t other) {
  return stage.may_be_lost(one, other) || !stage.host.inhabitant(one).alive ||
         !stage.host.inhabitant(other).alive;
}

}  // namespace hamlyn::simulation
