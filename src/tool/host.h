#pragma once
// Facts that `hamlyn doctor` looks at: of this machine, and of what this process may do on it, without a
// judgement.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/control_group.h"

namespace hamlyn::tool {

struct Host {
  std::string kernel;            // release
  bool futex_waitv = false;      // sleeping on many doorbells at once (Linux 5.16)
  bool membarrier = false;       // the private, expedited kind (4.14)
  bool sealed_memory = false;    // memfd_create with seals
  bool peer_pidfd = false;       // a socket tells its peer's process without a race (6.5)
  std::uint32_t processors = 0;  // online
  std::uint32_t allowed = 0;     // of them, for this process
  bool threads_share_cores = false;
  bool virtual_machine = false;
  std::string governor;  // of the frequency; empty: there is none
  ControlGroup group;    // what it allows
  std::string policy;    // by which the kernel schedules this thread; empty: it does not say
  int nice = 0;
  bool short_slices = false;      // a thread gets those that it asks for (6.12)
  std::string huge_pages;         // as the kernel offers transparent ones; empty: it has none
  std::uint64_t lockable = 0;     // bytes of memory; ~0: any
  std::uint64_t descriptors = 0;  // that may be open
  std::uint64_t descriptors_hard = 0;
  bool service = false;  // its socket is there
  std::string node;      // where this user's programs ask a node daemon, and whether one answers: a sentence
  // libfabric's engine for links to other hosts; empty: there is none
  std::string engine;
  std::string libfabric;             // its version; empty: it is not installed
  std::vector<std::string> engines;  // a line for each that was looked at, and why it was taken or not
};

// `root` stands before every path that is read: tests have a machine of their own.
Host look_at_host(const std::string& root = "");

}  // namespace hamlyn::tool
