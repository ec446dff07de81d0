#include "files/rights.h"

#include <algorithm>

namespace hamlyn::internal_::files {

// One class of the mode counts: an owner without a right that its group has has not got it.
bool may(const Caller& caller, const Attributes& file, Right right) noexcept {
  if (caller.user == 0) return true;
  std::uint32_t shift = 0;
  if (caller.user == file.owner)
    shift = 6;
  else if (caller.group == file.group || std::ranges::find(caller.groups, file.group) != caller.groups.end())
    shift = 3;
  return (file.mode >> shift & static_cast<std::uint32_t>(right)) != 0;
}

}  // namespace hamlyn::internal_::files
