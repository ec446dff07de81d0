#pragma once
// Memory as a process shows its counters in to the daemon.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/file_descriptor.h"

namespace hamlyn::test {

inline base::FileDescriptor sealed_memory(off_t bytes) {
  base::FileDescriptor out{::memfd_create("counters", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  EXPECT_EQ(::ftruncate(out.get(), bytes), 0);
  EXPECT_EQ(::fcntl(out.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  return out;
}

inline base::FileDescriptor sealed_page(const char* text) {
  auto out = sealed_memory(4096);
  EXPECT_EQ(::pwrite(out.get(), text, std::strlen(text), 0), static_cast<ssize_t>(std::strlen(text)));
  return out;
}

}  // namespace hamlyn::test
