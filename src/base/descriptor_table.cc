#include "base/descriptor_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace hamlyn::internal_::base {

bool keep_only(std::vector<unsigned> keep) noexcept {
  std::sort(keep.begin(), keep.end());
  unsigned from = 0;
  for (const unsigned fd : keep) {
    if (fd > from && ::close_range(from, fd - 1, CLOSE_RANGE_UNSHARE) != 0) return false;
    from = fd + 1;
  }
  return ::close_range(from, ~0u, CLOSE_RANGE_UNSHARE) == 0;
}

bool fill_standard_descriptors() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return false;
  }
  return true;
}

}  // namespace hamlyn::internal_::base
