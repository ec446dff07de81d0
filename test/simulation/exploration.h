#pragma once
// All orders of a small case: every state that two nodes with tiny links can reach, whatever runs, sends,
// reads or arrives next. A state is reached again by making the same moves from the start, so the system
// under test needs no copying; states that look the same are looked at once.
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hamlyn::test {

struct Explored {
  std::size_t states = 0;
  std::size_t ends = 0;   // states from which nothing moves
  std::size_t stuck = 0;  // whether of one of those something is still to be done
};

// `make()` makes a system at its start. A system has moves() of them, of which any may change nothing;
// move(n); state(), a number for all that matters; and done().
template <class Make>
Explored explore(Make make, std::size_t most_states) {
  using Moves = std::vector<std::size_t>;
  const auto reach = [&](const Moves& moves) {
    auto system = make();
    for (const std::size_t move : moves) system->move(move);
    return system;
  };
  Explored explored;
  std::unordered_set<std::uint64_t> seen{reach({})->state()};
  std::vector<Moves> left{{}};
  while (!left.empty() && explored.states < most_states) {
    Moves moves = std::move(left.back());
    left.pop_back();
    ++explored.states;
    const auto here = reach(moves);
    const std::uint64_t state = here->state();
    bool moved = false;
    moves.push_back(0);
    for (std::size_t next = 0; next < here->moves(); ++next) {
      moves.back() = next;
      const std::uint64_t then = reach(moves)->state();
      moved |= then != state;
      if (then != state && seen.insert(then).second) left.push_back(moves);
    }
    if (moved) continue;
    ++explored.ends;
    if (here->done()) continue;
    ++explored.stuck;  // one is enough to know
    break;
  }
  return explored;
}

}  // namespace hamlyn::test
