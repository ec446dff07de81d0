#pragma once
// Rights to read and write a slot, whatever ticket a process holds. The node attests the user when a link is
// made (paper 4, section 3.4.2). Users have the same numbers on all hosts of a cluster.
#include <cstdint>
#include <vector>

namespace hamlyn {

// A value.
struct Protection {
  // Rights of one user, in the place of the group's and the others'.
  struct Grant {
    std::uint32_t uid = 0;  // the user
    bool read = false;      // may get, and map for reading
    bool write = false;     // may put, and, with `read`, fetch
  };

  // Bits as of a file: read (4) and write (2), of the owner, its group and the others: 0640. Fetches need
  // both. The superuser may always.
  std::uint32_t mode = 0600;
  std::vector<Grant> users = {};  // grants, before what `mode` says
};

}  // namespace hamlyn
