#pragma once
// A run found something that must not be.
#include <stdexcept>

namespace hamlyn::simulation {

class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Memory was written over that nothing had been granted in.
class Overwritten final : public Violation {
 public:
  using Violation::Violation;
};

inline void demand(bool as_it_should_be, const char* what) {
  if (!as_it_should_be) throw Violation(what);
}

}  // namespace hamlyn::simulation
