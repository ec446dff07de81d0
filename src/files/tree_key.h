#pragma once
// The key by which a server seals its handles: the same after each start, or nobody's handles would be good
// any more.
#include <string>

#include "base/namespaces.h"
#include "base/siphash.h"

namespace hamlyn::internal_::files {

// Where a server of this user keeps its state, if nothing else is said. Throws Error(system): the user has no
// home.
std::string state_folder(std::string_view name);
// The key of that folder, which is made if there is none, for this user alone. Throws Error: not_permitted
// (the folder, or the key, is another user's, or others may read it), system, disk_full.
base::SipHash::Key tree_key(const std::string& folder);

}  // namespace hamlyn::internal_::files
