#pragma once
// What a run is made of. Each has only some of the operations, often just one or two, and only some of the
// faults, each of them often or rarely: what hides among everything else comes out where it is nearly alone
// (swarm testing, Groce and others).
#include <array>
#include <cstddef>
#include <vector>

#include "test/simulation/books/operation.h"
#include "test/simulation/books/run.h"

namespace hamlyn::simulation {

class Mix {
 public:
  Mix(World& world, sim::Generator& chance);

  // What a step is that threw this, of 1000.
  Step::Kind kind_of(std::uint64_t dice, sim::Generator& chance) const;
  Operation& any_operation(sim::Generator& chance) const {
    return *operations_[chance.below(operations_.size())];
  }

 private:
  std::vector<Operation*> operations_;
  std::array<std::uint64_t, kStepKinds> one_in_{};  // faults that strike; 0: none does
};

}  // namespace hamlyn::simulation
