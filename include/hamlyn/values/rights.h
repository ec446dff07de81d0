#pragma once
// Rights to look a name up.

namespace hamlyn {

// Its owner and root always may. A value.
struct Rights {
  bool group = false;     // processes whose primary group is the owner's
  bool everyone = false;  // all users of this host (through the service)
};

}  // namespace hamlyn
