#pragma once
// Groups of users, as this host knows them. A client's word counts for nothing.
#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::files {

// All groups of a user, its own first. Empty: this host does not know the user.
std::vector<std::uint32_t> groups_of_user(std::uint32_t user);

}  // namespace hamlyn::internal_::files
