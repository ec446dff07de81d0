#pragma once
// Which users may open links with an interface. A link is the way to all of its slots; what may be done there
// is decided by tickets.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hamlyn {

// The interface's own user and root always may. Users have the same numbers on all hosts of a cluster.
// A value.
struct Consent {
  static constexpr std::size_t kMost = 16;  // users and groups together

  bool everyone = true;                    // all whom the node introduces; the lists mean nothing then
  std::vector<std::uint32_t> users = {};   // otherwise these,
  std::vector<std::uint32_t> groups = {};  // and processes whose primary group is one of these
};

}  // namespace hamlyn
