#pragma once
// What processes have, as the kernel tells: descriptors (also those of threads with a table of their own),
// threads, and memory.
#include <sys/types.h>

#include <cstdint>

namespace hamlyn::chaos {

struct Belongings {
  std::uint64_t descriptors = 0;
  std::uint64_t threads = 0;
  std::uint64_t kib = 0;         // proportional: what is shared counts in parts
  std::uint64_t shared_kib = 0;  // of it in shared memory

  Belongings& operator+=(const Belongings& more) noexcept {
    descriptors += more.descriptors;
    threads += more.threads;
    kib += more.kib;
    shared_kib += more.shared_kib;
    return *this;
  }
};

Belongings belongings_of(pid_t pid);
// Shared memory of the whole machine: others use it, too.
std::uint64_t machine_shared_kib();

}  // namespace hamlyn::chaos
