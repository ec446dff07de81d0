#pragma once
// Threads that wait for packets of one port: one of them looks at it, the others sleep until they are told
// that something has changed. A thread that leaves tells them, so that another looks.
//
// There is no interface here, whose threads would be woken by what arrives: the descriptor of the port is.
#include <atomic>
#include <cstdint>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "base/run_lock.h"
#include "fabric/datagram_port.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::rpc::blast {

class Watch {
 public:
  // `lock` guards the port, and this. Throws Error(system).
  Watch(base::RunLock& lock, fabric::DatagramPort& port);

  // Under the lock. What `wait` is told: a change after that ends it.
  std::uint32_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }
  // Under the lock. Has all others look again.
  void changed() noexcept;
  // Not under the lock. Returns when there may be something to look at, or at that time. False: nobody can
  // wait here, or this is a forked child.
  bool wait(std::uint32_t changes, library::Deadline until) noexcept;

 private:
  base::RunLock& lock_;
  fabric::DatagramPort& port_;
  const base::FileDescriptor bell_;  // of whoever looks at the port
  // Changed under the lock. Relaxed: the lock orders what it stands for, and the sleep looks again.
  std::atomic<std::uint32_t> changes_{0};
  std::uint32_t sleepers_ = 0;
  bool watched_ = false;
};

}  // namespace hamlyn::internal_::rpc::blast
