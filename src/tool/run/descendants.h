#pragma once
// All that a process has started, and what that has started in its turn: seen to its end, and at last gone.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace hamlyn::tool {

// A child that has ended.
struct Ended {
  pid_t pid = 0;
  std::uint32_t status = 0;  // as a shell has it
};
// Takes note of a child that has ended, if there is any.
std::optional<Ended> take_ended();

// Has this process become the parent of whatever its descendants leave behind.
void adopt_orphans();

// Children of this process, of whatever thread.
std::vector<pid_t> children();
// Kills every child but these, and the orphans that become children by it, until there are none. Those of
// another user, which this one may not kill, are left and named on standard error.
void kill_all(const std::vector<pid_t>& spared = {});

}  // namespace hamlyn::tool
