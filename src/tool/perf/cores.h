#pragma once
// The two processors that the two processes of a measurement are pinned to.
#include <string>
#include <utility>
#include <vector>

namespace hamlyn::tool::perf {

using Cores = std::pair<int, int>;

// The processors that this process may run on.
std::vector<int> allowed_processors();

// Two processors of `allowed` on different physical cores, of one package if there are such; if there are
// none, the first two. Throws std::runtime_error when there are not two. `root` has the kernel's description.
Cores choose_cores(const std::vector<int>& allowed, const std::string& root = "/sys/devices/system/cpu");

// Throws std::invalid_argument if these cannot be used.
void check_cores(Cores cores, const std::vector<int>& allowed);

// Cores that somebody has asked for, or, if those are negative, chosen ones. Throws as both of those.
Cores cores_for(Cores asked);

// Pins the calling thread. Throws std::runtime_error.
void pin(int processor);

}  // namespace hamlyn::tool::perf
