#pragma once
// The whole address space as a segment: this process's own memory, read and written by calls that report
// addresses where there is none, or none of that kind.
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::am {

class AddressSpace {
 public:
  // Copies `length` bytes. False: not all of them are there, or may be written.
  static bool write(std::uint64_t address, const std::byte* from, std::size_t length) noexcept {
    iovec there{reinterpret_cast<void*>(address), length};
    iovec here{const_cast<std::byte*>(from), length};
    return ::process_vm_writev(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(length);
  }
  static bool read(std::byte* to, std::uint64_t address, std::size_t length) noexcept {
    iovec there{reinterpret_cast<void*>(address), length};
    iovec here{to, length};
    return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(length);
  }

  // Whether others of this user may look into this process already: not if it has been given rights that they
  // have not.
  static bool is_dumpable() noexcept { return ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1; }
  // Whether this system has these calls, and lets them be made.
  static bool works() noexcept {
    std::byte one{1}, other{0};
    return write(reinterpret_cast<std::uintptr_t>(&other), &one, 1) && other == one;
  }
};

}  // namespace hamlyn::internal_::am
