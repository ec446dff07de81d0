#pragma once
// Where a path leads in a tree. The path is the caller's; each step is made with the caller's rights.
#include <cstddef>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "files/store.h"

namespace hamlyn::internal_::files {

inline constexpr std::size_t kMostPath = 4096;  // bytes
inline constexpr int kMostLinks = 40;           // symbolic links on one way

// A name in a folder, of a file that may be there or not.
struct Place {
  Handle folder;
  std::string name;
};

// The file of a path from the root on; "" and "/" are the root. `follow`: also a symbolic link at its end.
// cross_device: the path, or a link on it, leads out of the tree. too_many_symlinks, name_too_long,
// not_a_directory, and what look_up says.
Done<Found> find(Store& store, const Caller& caller, std::string_view path, bool follow);
// Where its last name stands. invalid: it has none, or that is "." or "..". A link at the end is not
// followed.
Done<Place> place_of(Store& store, const Caller& caller, std::string_view path);

}  // namespace hamlyn::internal_::files
