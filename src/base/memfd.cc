#include "base/memfd.h"

#include <sys/mman.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace hamlyn::internal_::base {

FileDescriptor make_memfd(const char* name, unsigned flags) noexcept {
  FileDescriptor made{::memfd_create(name, flags | MFD_NOEXEC_SEAL)};
  if (!made && errno == EINVAL) made.reset(::memfd_create(name, flags));
  return made;
}

}  // namespace hamlyn::internal_::base
