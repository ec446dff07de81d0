#pragma once
// Shared memory that is no program: where the kernel can say so (Linux 6.3), nobody makes it one, and hosts
// that allow no other (vm.memfd_noexec) allow it.
#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// memfd_create with these flags. Empty, with errno, as that fails.
FileDescriptor make_memfd(const char* name, unsigned flags) noexcept;

}  // namespace hamlyn::internal_::base
