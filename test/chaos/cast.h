#pragma once
// Who plays what: the roles in turn, until there are as many as were asked for.
#include <cstdint>
#include <vector>

#include "test/chaos/stage.h"

namespace hamlyn::chaos {

struct Part {
  const char* role = "";
  int (*play)(Stage&) = nullptr;
  std::vector<std::uint32_t> partners;  // seats that it sends to; of a receiver none
  bool sends = false;                   // comes to rest when it is told to
  bool may_die = true;  // otherwise it is stopped at most, and compared with what it was before
  bool may_stop = true;
  int user = -1;  // -1: the driver's own
};

// The two bystanders are the first. `users`: of three users, in turn.
std::vector<Part> make_cast(std::uint32_t processes, bool users);

}  // namespace hamlyn::chaos
