#pragma once
// Limits of the control groups that this process is in, in either version of them.
#include <cstdint>
#include <optional>
#include <string>

namespace hamlyn::tool {

struct ControlGroup {
  std::optional<double> processors;     // worth of time; none: no quota
  std::optional<std::uint64_t> memory;  // bytes; none: no limit
};

// The least of what its own group and all groups above it allow. `root` stands before every path.
ControlGroup look_at_control_group(const std::string& root);

}  // namespace hamlyn::tool
