#include "base/descriptor_table.h"

#include <unistd.h>

#include <algorithm>

namespace hamlyn::base {

bool keep_only(std::vector<unsigned> keep) noexcept {
  std::sort(keep.begin(), keep.end());
  unsigned from = 0;
  for (const unsigned fd : keep) {
    if (fd > from && ::close_range(from, fd - 1, CLOSE_RANGE_UNSHARE) != 0) return false;
    from = fd + 1;
  }
  return ::close_range(from, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

}  // namespace hamlyn::base
