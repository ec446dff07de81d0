#pragma once
// How a polling thread rests between two looks. Looking at a line that is about to change slows its arrival,
// on some processors more than on others (docs/performance.md): the rest is found at run time.
#include <cstdint>

#include "base/fence.h"

namespace hamlyn::library {

class PollRest {
 public:
  void rest() noexcept {
    for (std::uint32_t i = 0; i < pauses_; ++i) base::pause();
  }

 private:
  std::uint32_t pauses_ = 0;
};

}  // namespace hamlyn::library
