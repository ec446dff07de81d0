#include "library/kernel.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "hamlyn/error.h"
#include "library/setting.h"

namespace hamlyn::library {

void check_kernel() {
  if (simulation != nullptr) return;
  // Without words to wait for it fails in its own way; an unknown or forbidden one in another.
  if (syscall(SYS_futex_waitv, nullptr, 0u, 0u, nullptr, 0) != 0 && errno == EINVAL) return;
  throw Error(
      ErrorCode::system,
      "futex_waitv is missing: it takes Linux 5.16 or newer, and no filter of system calls that forbids it");
}

}  // namespace hamlyn::library
